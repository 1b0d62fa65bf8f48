"""The tables that come with the package: networks of `small` with their validation errors and counts, to search on.

    python tables.py          # writes secateur/tables/data/*.parquet from ../prune-minilm/errors.csv

Errors were measured once, on trained super-networks. Counts need no trained weights: they follow from the model's sizes.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ERRORS = HERE.parent / "prune-minilm" / "errors.csv"
DATA = HERE.parents[1] / "secateur" / "tables" / "data"

MINILM: dict[str, int] = {"num_hidden_layers": 6, "hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536}
GTE = MINILM | {"num_hidden_layers": 12}
LIMITS = {"units": ":128"}


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


def counted(source: Source) -> tuple[Any, Any]:
    """The space of a model's sub-networks, and what counts them: a network of its sizes, untrained."""
    from transformers import AutoModelForSequenceClassification, BertConfig

    from secateur.estimators.cost import Cost
    from secateur.spaces.pruning import Small
    from secateur.supernet import Supernet

    supernet = Supernet(AutoModelForSequenceClassification.from_config(BertConfig(**source.sizes, num_labels=source.labels)))
    space = Small(supernet.shape, **LIMITS)
    return space, Cost(supernet, space)


def rows(source: Source, networks: list[tuple[dict[str, int], float, float]]) -> Iterator[dict[str, Any]]:
    """The rows of a table."""
    space, cost = counted(source)
    for choices, error, _ in networks:
        architecture = space.make(choices)
        counts = {name: int(value) for name, value in cost.count(architecture).items()}
        yield {"architecture": architecture, "error": error, **counts}


def main() -> None:
    from secateur.tables.searchable import write_searchable

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=DATA)
    to = parser.parse_args().to
    known = read(ERRORS)
    for name, source in SOURCES.items():
        shape = {"layers": source.sizes["num_hidden_layers"], "heads": 12, "units": 1536}
        said = {"space": "small", "shape": shape, "limits": LIMITS, "objectives": ["error", "body_parameters"]}
        write_searchable(to / f"{name}.parquet", list(rows(source, known[source.network])), {**said, "about": source.about})


if __name__ == "__main__":
    main()
