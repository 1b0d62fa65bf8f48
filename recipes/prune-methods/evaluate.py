"""Tables to search on, from one super-network: trained as `secateur prune` trains it, then scored on many sub-networks.

    python evaluate.py --model MINILM --data glue/sst2 --to sst2 --medium 2000 --device cuda

Scores every network of a grid of `small`, and samples of `medium`: half of them drawn over all sizes, half one change away
from the best so far, where searches look. Rows are written as they come (rows.jsonl in the folder), and the same command goes
on where it was stopped. In the end the folder has `prune-small-NAME.parquet` and `prune-medium-NAME.parquet`, which
`secateur bench search --table FILE` searches.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

#: Objectives of a search on the tables.
OBJECTIVES = ["error", "body_parameters"]


def trained(args: argparse.Namespace, changes: dict[str, Any]) -> Any:
    """The run of `secateur prune` in the folder, gone through or gone on with."""
    import secateur

    folder = args.to / "run"
    if (folder / "config.yaml").exists():
        return secateur.resume(folder, progress=False)
    given = {"space": args.space, "seed": args.seed, "device": args.device, "trials": 1, "polish": False}
    return secateur.prune(args.model, args.data, **{**given, "measure": False, **changes}, to=folder, progress=False)


def grid(space: Any, step: int) -> Iterator[Any]:
    """The deepest networks of a grid of `small`: a pass of each also scores the shallower ones."""
    shape = space.shape
    for heads, units in itertools.product(range(shape.heads + 1), range(0, shape.units + 1, step)):
        yield space.make({"heads": heads, "units": units, "layers": shape.layers})


def drawn(space: Any, rng: Any) -> Any:
    """A network of `medium` of any size: every number is a power, the same for all, of a uniform draw."""
    power = 4.0 ** rng.uniform(-1, 1)
    shares = rng.random(space.dimensions) ** power
    return space.from_indices(np.array([int(share * len(d)) for share, d in zip(shares, space.domains, strict=True)]))


def sample(space: Any, rows: list[dict[str, Any]], number: int, seed: int) -> Any:
    """The network to score as the `number`-th: drawn, or every other time a mutation of one of the front, never seen before."""
    from secateur.architecture import Architecture
    from secateur.pareto import non_dominated
    from secateur.rng import generator

    rng, seen = generator(seed, "medium", number), {row["architecture"]["key"] for row in rows}
    front = []
    if number % 2 and rows:
        points = np.array([[row[name] for name in OBJECTIVES] for row in rows])
        front = [rows[i]["architecture"] for i in np.flatnonzero(non_dominated(points))]
    for _ in range(1000):
        found = drawn(space, rng)
        if front:
            found = space.mutate(Architecture.from_dict(front[int(rng.integers(len(front)))]), rng)
        if found.key not in seen:
            return found
    raise SystemExit(f"`{space.name}` has no network left that was not scored.")


class Rows:
    """The rows of a file: what was scored, by space."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, list[dict[str, Any]]] = {"small": [], "medium": []}
        kept = []
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                row = json.loads(line)
            except ValueError:  # cut off by a kill
                continue
            self.known[row["architecture"]["space"]].append(row)
            kept.append(line + "\n")
        path.write_text("".join(kept))

    def add(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            self.known[row["architecture"]["space"]].append(row)
        with self.path.open("a") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows))


def score(run: Any, rows: Rows, args: argparse.Namespace) -> None:
    """Score what the rows lack."""
    from secateur.devices.device import resolve_device
    from secateur.estimators.cost import Cost
    from secateur.estimators.shared_weights import SharedWeightsError
    from secateur.spaces.pruning import Medium, Small

    supernet = run.supernet
    supernet.model.to(resolve_device(args.device))
    data = run.configuration.task_data(run.tokenizer)
    limits = {"units": f":{args.step}"}
    small, medium = Small(supernet.shape, **limits), Medium(supernet.shape, **limits)

    def scored(space: Any, errors: SharedWeightsError, architecture: Any) -> list[dict[str, Any]]:
        (found,) = errors.evaluate([architecture])
        if found.failure is not None:
            raise SystemExit(f"{architecture}: {found.failure}")
        cost = Cost(supernet, space, length=run.configuration.latency_length)
        several = [*found.extra, (architecture, found.values)]  # where a kill cut them short, the last is missing
        return [{"architecture": a.as_dict(), "error": v["error"], **cost.count(a)} for a, v in several]

    errors = SharedWeightsError(supernet, small, data, batch_size=args.batch)
    for architecture in grid(small, args.step):
        seen = {row["architecture"]["key"] for row in rows.known["small"]}
        if architecture.key not in seen:
            rows.add([row for row in scored(small, errors, architecture) if row["architecture"]["key"] not in seen])
    errors = SharedWeightsError(supernet, medium, data, batch_size=args.batch, depths=False)
    for number in range(len(rows.known["medium"]), args.medium):
        rows.add(scored(medium, errors, sample(medium, rows.known["medium"], number, args.seed)))


def write(run: Any, rows: Rows, args: argparse.Namespace) -> list[Path]:
    """Both tables."""
    from secateur.architecture import Architecture
    from secateur.tables.searchable import write_searchable

    written = []
    for space, found in rows.known.items():
        distinct = {row["architecture"]["key"]: row for row in found}
        if distinct:
            about = f"{run.model_name} on {run.task['name']} (1 − {run.metric}), trained in `{args.space}`, seed {args.seed}"
            said = {"space": space, "shape": run.shape, "limits": {"units": f":{args.step}"}, "objectives": OBJECTIVES}
            path = args.to / f"prune-{space}-{run.task['name']}.parquet"
            plain = [{**row, "architecture": Architecture.from_dict(row["architecture"])} for row in distinct.values()]
            write_searchable(path, plain, {**said, "about": about})
            written.append(path)
    return written


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "data"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--to", type=Path, required=True, help="folder for the run, the rows and the tables")
    parser.add_argument("--space", default="small", help="the space that the super-network is trained in")
    parser.add_argument("--medium", type=int, default=2000, help="how many networks of `medium` are scored")
    parser.add_argument("--step", type=int, default=128, help="of the units, in both spaces")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=512, help="examples per batch when scoring")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--change", default="{}", help="JSON of further settings of `secateur prune`")
    args = parser.parse_args(given)
    args.to.mkdir(parents=True, exist_ok=True)
    run = trained(args, json.loads(args.change))
    rows = Rows(args.to / "rows.jsonl")
    score(run, rows, args)
    for path in write(run, rows, args):
        print(path)


if __name__ == "__main__":
    main()
