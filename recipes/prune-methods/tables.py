"""The tables that come with the package: networks of `small` with validation errors, counts and latencies, to search on.

    python tables.py --fit    # measures what the parts of both models cost on this machine: latency_models.json
    python tables.py          # writes secateur/tables/data/*.parquet from that and ../prune-minilm/errors.csv
    python tables.py --medium FOLDER    # those of `medium`, from prune-medium-*.parquet that evaluate.py wrote, with latencies

Errors were measured once, on trained super-networks. Counts and latencies need no trained weights: they follow from the model's
sizes. Latencies are predicted, by the model that `secateur prune --objective latency` fits, from as many measured networks.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
LATENCIES = HERE / "latency_models.json"
ERRORS = HERE.parent / "prune-minilm" / "errors.csv"
DATA = HERE.parents[1] / "secateur" / "tables" / "data"

MINILM: dict[str, int] = {"num_hidden_layers": 6, "hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536}
GTE = MINILM | {"num_hidden_layers": 12}
LIMITS = {"units": ":128"}
#: Seconds in which a model is fitted, and the threads, texts and tokens of what is timed.
SECONDS, SETUP = 240.0, {"threads": 1, "batch": 1, "length": 128}


class Source(NamedTuple):
    """Where a table comes from: the name in errors.csv, the model's sizes, its outputs, and what was done."""

    network: str
    sizes: dict[str, int]
    labels: int
    about: str


_DEFAULT = "trained by the default preset"
SOURCES = {
    "prune-stsb": Source("MiniLM, STS-B", MINILM, 1, f"MiniLM-L6 on STS-B (1 − Spearman), {_DEFAULT}"),
    "prune-sst2": Source("MiniLM, SST-2", MINILM, 2, f"MiniLM-L6 on 20,000 sentences of SST-2 (1 − accuracy), {_DEFAULT}"),
    "prune-mrpc": Source("MiniLM, MRPC", MINILM, 2, f"MiniLM-L6 on MRPC (1 − accuracy), {_DEFAULT}"),
    "prune-gte-stsb": Source("gte-small, STS-B", GTE, 1, f"gte-small on STS-B (1 − Spearman), {_DEFAULT}"),
    "prune-gte-mrpc": Source("gte-small, MRPC", GTE, 2, f"gte-small on MRPC (1 − accuracy), {_DEFAULT}"),
    "prune-sst2-klein2024": Source(
        "MiniLM, SST-2, trained as in the paper",
        MINILM,
        2,
        "MiniLM-L6 on 20,000 sentences of SST-2 (1 − accuracy), trained as in the pruning papers: no order, `full`",
    ),
    "prune-reviews": Source(
        "MiniLM, reviews (the demo)", MINILM, 2, "MiniLM-L6 on film reviews (1 − accuracy): the demo's super-network"
    ),
}


def read(path: Path) -> dict[str, list[tuple[dict[str, int], float, float]]]:
    """Network → (heads, units and layers, error, share of the body) of each of its sub-networks."""
    found = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            choices = {name: int(row[name]) for name in ("heads", "units", "layers")}
            found[row["network"]].append((choices, float(row["error"]), float(row["share"])))
    return dict(found)


def untrained(sizes: dict[str, int], labels: int) -> Any:
    """A network of these sizes."""
    from transformers import AutoModelForSequenceClassification, BertConfig

    from secateur.supernet import Supernet

    return Supernet(AutoModelForSequenceClassification.from_config(BertConfig(**sizes, num_labels=labels)).eval())


def fitted() -> dict[str, Any]:
    """Layers of a model → what its parts cost here."""
    from secateur.devices.setup import Setup
    from secateur.estimators.latency_model import LatencyModel
    from secateur.estimators.latency_sample import Fitting
    from secateur.estimators.pruned_latency import PrunedParts
    from secateur.runs.prune.measuring import FITTED, HELD_OUT
    from secateur.spaces.pruning import plan_of

    found = {}
    for sizes in (MINILM, GTE):
        supernet = untrained(sizes, 2)
        model = LatencyModel.fit(
            lambda architecture, network=supernet: network.extract(plan_of(architecture, network.shape)),
            PrunedParts(supernet.shape),
            Setup(**SETUP),
            Fitting(networks=FITTED, held_out=HELD_OUT, seconds=SECONDS),
        )
        print(model.report)
        found[str(sizes["num_hidden_layers"])] = model.to_dict()
    return found


def latencies(supernet: Any) -> Any:
    """What predicts the latency of a model's sub-networks."""
    from secateur.estimators.latency_model import LatencyModel
    from secateur.estimators.pruned_latency import PrunedParts

    kept = json.loads(LATENCIES.read_text(encoding="utf-8"))[str(supernet.shape.layers)]
    return LatencyModel.from_dict(kept, PrunedParts(supernet.shape))


def of_medium(folder: Path, to: Path) -> None:
    """Samples of `medium` of MiniLM: what evaluate.py measured, with latencies."""
    from secateur.tables.parquet import read_parquet
    from secateur.tables.searchable import write_searchable

    latency = latencies(untrained(MINILM, 2))
    for path in sorted(folder.glob("prune-medium-*.parquet")):
        table, said = read_parquet(path)
        counted = {name: table.column(name) for name in table.columns}
        predicted = latency.predict(list(table.architectures))
        rows = [
            {
                "architecture": architecture,
                **{name: values[row].item() for name, values in counted.items()},
                "latency": float(ms),
            }
            for row, (architecture, ms) in enumerate(zip(table.architectures, predicted, strict=True))
        ]
        small = SOURCES[path.stem.replace("-medium", "")].about
        write_searchable(to / path.name, rows, {**said, "about": f"{len(rows):,} networks of `medium`: {small} in `small`"})


def rows(source: Source, networks: list[tuple[dict[str, int], float, float]]) -> Iterator[dict[str, Any]]:
    """The rows of a table."""
    from secateur.estimators.cost import Cost
    from secateur.spaces.pruning import Small

    supernet = untrained(source.sizes, source.labels)
    space = Small(supernet.shape, **LIMITS)
    cost = Cost(supernet, space)
    latency = latencies(supernet)
    for choices, error, _ in networks:
        architecture = space.make(choices)
        counts = {name: int(value) for name, value in cost.count(architecture).items()}
        yield {"architecture": architecture, "error": error, **counts, "latency": float(latency.predict([architecture])[0])}


def main() -> None:
    from secateur.tables.searchable import write_searchable

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=DATA)
    parser.add_argument("--fit", action="store_true", help="measure latencies, and write no tables")
    parser.add_argument("--medium", type=Path, help="where evaluate.py wrote tables of `medium`: only these are written")
    given = parser.parse_args()
    if given.medium:
        of_medium(given.medium, given.to)
        return
    if given.fit:
        LATENCIES.write_text(json.dumps(fitted(), indent=1) + "\n", encoding="utf-8")
        return
    to = given.to
    known = read(ERRORS)
    for name, source in SOURCES.items():
        shape = {"layers": source.sizes["num_hidden_layers"], "heads": 12, "units": 1536}
        said = {"space": "small", "shape": shape, "limits": LIMITS, "objectives": ["error", "body_parameters"]}
        write_searchable(to / f"{name}.parquet", list(rows(source, known[source.network])), {**said, "about": source.about})


if __name__ == "__main__":
    main()
