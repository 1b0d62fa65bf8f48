"""Which searcher finds the front of a trained super-network fastest: every searcher on tables of all errors.

    python searchers.py --add FILE.jsonl  # into errors.csv, what errors.py, or preset.py and experiment.py with --errors, wrote
    python searchers.py search            # what searches.jsonl lacks, from errors.csv
    python searchers.py                   # the tables of README.md, from both

The space is `small` with units in steps of 128, and errors.csv has the validation error of each of its networks, for several
super-networks. With the sweep, a trial also brings the errors of the shallower networks, as in `secateur prune`; without, it is
the paper's. Shares are of the hypervolume of all networks together, up to the empty network's error and the whole body, both
with a margin of 5 %. Klein's hypervolume is taken up to (2, 2) after both objectives were normalised to their quantiles over
all that the searchers saw of a super-network.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import sem

HERE = Path(__file__).resolve().parent
#: What is compared → a searcher, its trials and the share of them that is aimed at the sizes of LEVELS.
SEARCHERS: dict[str, tuple[str, int, float]] = {
    **{name: (name, 100, 0.0) for name in ("random", "local", "mo-rea", "nsga2", "ehvi")},
    **{f"{name}, aimed": (name, 100, 0.5) for name in ("random", "local", "mo-rea", "nsga2")},
}
LEVELS = (0.1, 0.2, 0.3, 0.5, 0.7)
#: With the sweep also local search with the trials that EHVI's time buys, where a trial takes a second.
LONGER: dict[str, tuple[str, int, float]] = {"local, 175 trials": ("local", 175, 0.0)}
#: (method, task) of rows → what their super-network is called.
NAMES = {
    ("preset-1e-4", "stsb"): "MiniLM, STS-B",
    ("preset-5e-5", "sst2"): "MiniLM, SST-2",
    ("preset-1e-4", "mrpc"): "MiniLM, MRPC",
    ("gte-preset-1e-4", "stsb"): "gte-small, STS-B",
    ("gte-preset-1e-4", "mrpc"): "gte-small, MRPC",
    ("full-authors", "sst2"): "MiniLM, SST-2, trained as in the paper",
    ("demo", "secateur-demo-sentiment"): "MiniLM, reviews (the demo)",
}
TRIALS = (30, 60, 100)
SEEDS = 5
MARGIN = 1.05

#: The networks of a table: (heads, units, layers), and (error, share of the body) of each.
Networks = tuple[list[tuple[int, int, int]], np.ndarray]
#: A super-network, whether shallower networks are scored too, and a searcher.
Name = tuple[str, bool, str]


def add(paths: list[Path]) -> None:
    """Take the first seed's errors of the super-networks in `NAMES` into errors.csv."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in (json.loads(line) for path in paths for line in path.read_text().splitlines()):
        if "errors" in row and row["seed"] == 0 and (row["method"], row["task"]) in NAMES:
            found[NAMES[row["method"], row["task"]]] = row["errors"]
    with (HERE / "errors.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["network", "heads", "units", "layers", "error", "share"])
        for name in NAMES.values():
            for e in found[name]:
                writer.writerow([name, e["heads"], e["units"], e["layers"], f"{e['error']:.5f}", f"{e['share']:.5f}"])


@cache
def tables(path: Path = HERE / "errors.csv") -> dict[str, Networks]:
    """The name of each super-network → its networks."""
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["network"]].append(row)
    return {
        name: (
            [(int(row["heads"]), int(row["units"]), int(row["layers"])) for row in rows],
            np.array([(float(row["error"]), float(row["share"])) for row in rows]),
        )
        for name, rows in found.items()
    }


def compared(sweep: bool) -> dict[str, tuple[str, int, float]]:
    """What is compared with or without the sweep."""
    return SEARCHERS | LONGER if sweep else SEARCHERS


def search(networks: Networks, name: str, seed: int, sweep: bool) -> dict[str, Any]:
    """The numbers of the networks that one search saw, how many after each number of trials, and its seconds per proposal."""
    from secateur.catalogue import find
    from secateur.objectives import Objective
    from secateur.search import Aim
    from secateur.spaces.pruning import Shape, Small
    from secateur.spaces.pruning.sizes import aimed
    from secateur.trial import Trial

    (kind_name, trials, share), (choices, points) = compared(sweep)[name], networks
    heads, units, layers = (max(c[i] for c in choices) for i in range(3))
    space = Small(Shape(layers=layers, heads=heads, units=units), units=":128")
    numbers = {space.make({"heads": h, "units": u, "layers": n}).key: i for i, (h, u, n) in enumerate(choices)}
    kind = find("searcher", kind_name, "prune")
    objectives = [Objective("error"), Objective("body_parameters")]
    sizes = {
        space.make({"heads": h, "units": u, "layers": n}).key: p for (h, u, n), p in zip(choices, points[:, 1], strict=True)
    }
    aim = Aim(aimed(space, lambda plan: sizes[plan.key], LEVELS), share) if share else None
    searcher = kind(space, objectives, seed, sweep, aim=aim, **kind.sizes(trials))
    seen: list[int] = []
    counts: list[int] = []
    spent = 0.0

    def tell(trial: int | None, architecture: Any, origin: str) -> None:
        number = numbers[architecture.key]
        seen.append(number)
        values = dict(zip(("error", "body_parameters"), map(float, points[number]), strict=True))
        searcher.tell(Trial(trial, architecture, values=values, origin=origin))

    for done in range(1, trials + 1):
        began = time.thread_time()
        for asked in searcher.ask(1):
            tell(asked.id, asked.architecture, "asked")
            for shallower in space.depths(asked.architecture) if sweep else []:
                if (shallower.key, None) not in searcher.seen:
                    tell(None, shallower, "sweep")
        spent += time.thread_time() - began
        if done in (*TRIALS[:-1], trials):
            counts.append(len(seen))
    return {"seen": seen, "counts": counts, "seconds": round(spent / trials, 4)}


@cache
def searches(path: Path = HERE / "searches.jsonl") -> dict[Name, list[dict[str, Any]]]:
    """What was searched, in the order of the seeds."""
    found: dict[Name, list[dict[str, Any]]] = defaultdict(list)
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for row in sorted(rows, key=lambda row: row["seed"]):
        found[row["network"], row["sweep"], row["searcher"]].append(row)
    return dict(found)


def shares(networks: Networks, rows: list[dict[str, Any]]) -> list[list[float]]:
    """Per number of trials, the hypervolume that each search has reached, as a share of the best."""
    from secateur.pareto import hypervolume

    choices, points = networks
    empty = points[min(range(len(choices)), key=lambda i: points[i, 1])]
    reference = MARGIN * np.array([empty[0], 1.0])
    best = hypervolume(points, reference)
    return [
        [hypervolume(points[row["seen"][: row["counts"][i]]], reference) / best for row in rows] for i in range(len(TRIALS))
    ]


def by_quantiles(networks: Networks, rows: dict[str, list[dict[str, Any]]]) -> dict[str, list[float]]:
    """Klein's hypervolume of each search of one super-network, by searcher."""
    from secateur.pareto.regret import quantile_hypervolumes

    found = iter(quantile_hypervolumes([networks[1][row["seen"]] for row in itertools.chain.from_iterable(rows.values())]))
    return {name: [next(found) for _ in searches] for name, searches in rows.items()}


def cell(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {sem(values):.3f}"


@cache
def reached(sweep: bool) -> dict[str, dict[str, list[list[float]]]]:
    """Searcher → super-network → the `shares` of its searches."""
    known, done = tables(), searches()
    return {
        name: {network: shares(networks, done[network, sweep, name]) for network, networks in known.items()}
        for name in compared(sweep)
    }


def means(sweep: bool) -> dict[str, list[float]]:
    """Searcher → the mean share over super-networks and seeds after 30 and 60 trials and at the end."""
    return {name: np.mean(list(found.values()), axis=(0, 2)).tolist() for name, found in reached(sweep).items()}


def seconds(sweep: bool, name: str) -> float:
    """The mean time of a proposal."""
    done = searches()
    return float(np.mean([row["seconds"] for network in tables() for row in done[network, sweep, name]]))


def table(sweep: bool) -> str:
    """Searchers × super-networks: the share of the best hypervolume at the end, then the mean of all along the way."""
    head = " | ".join(tables())
    lines = [
        f"| {'with' if sweep else 'without'} the sweep | {head} | all | after 60 | after 30 | seconds per proposal |",
        "|---|" + "---|" * (len(tables()) + 4),
    ]
    along = means(sweep)
    for name, found in reached(sweep).items():
        cells = [cell(values[-1]) for values in found.values()] + [f"{value:.3f}" for value in reversed(along[name])]
        lines.append(f"| {name} | {' | '.join(cells)} | {seconds(sweep, name):.4f} |")
    return "\n".join(lines)


def quantile_table() -> str:
    """Searchers × super-networks: Klein's hypervolume without the sweep."""
    known, done = tables(), searches()
    lines = [f"| Klein's hypervolume | {' | '.join(known)} |", "|---|" + "---|" * len(known)]
    found = [by_quantiles(table, {s: done[name, False, s] for s in SEARCHERS}) for name, table in known.items()]
    lines += [f"| {name} | {' | '.join(cell(values[name]) for values in found)} |" for name in SEARCHERS]
    return "\n".join(lines)


def everything() -> str:
    return "\n\n".join([table(True), table(False), quantile_table()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("search", "table"), default="table")
    parser.add_argument("--part", default="0/1", help="a part of the searches, K/N: processes side by side take different ones")
    parser.add_argument("--add", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    if args.add:
        add(args.add)
        return
    if args.what == "table":
        print(everything())
        return
    import torch

    torch.set_num_threads(1)  # the time of the one thread is what a proposal costs
    part, parts = map(int, args.part.split("/"))
    known, done = tables(), searches()
    kinds = [(sweep, searcher) for sweep in (True, False) for searcher in compared(sweep)]
    for seed, name, (sweep, searcher) in itertools.product(range(SEEDS), known, kinds):
        mine = (seed + list(known).index(name)) % parts == part
        if mine and all(row["seed"] != seed for row in done.get((name, sweep, searcher), [])):
            row = {"network": name, "sweep": sweep, "searcher": searcher, "seed": seed}
            with (HERE / "searches.jsonl").open("a") as file:
                file.write(json.dumps({**row, **search(known[name], searcher, seed, sweep)}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
