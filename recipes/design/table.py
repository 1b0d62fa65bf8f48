"""Our trained decoders as a table to search and to predict on: secateur/tables/data/design-wikitext2.parquet.

    secateur bench proxies recipes/design/benchmark.parquet --source random --text wikitext-2 --length 128 --to runs/proxies
    python recipes/design/table.py runs/proxies

Each random network of benchmark.parquet once, means over its trainings, with what the proxies say of it.
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

from protocol import SPACES

from secateur.tables import read_trained
from secateur.tables.searchable import write_searchable

HERE = Path(__file__).resolve().parent
TO = HERE.parents[1] / "secateur" / "tables" / "data" / "design-wikitext2.parquet"
COLUMNS = ("perplexity", "parameters", "decoder_parameters", "latency", "memory")
ABOUT = (
    "150 GPT-2 decoders of 1 to 8 layers, drawn at random and trained on WikiText-2: validation perplexity, latency of a text "
    "of 128 tokens in seconds, and what zero-cost proxies say"
)


def scores(run: Path) -> dict[str, dict[str, float]]:
    """Key → the scores of the proxies that cost no training and gave a number."""
    found: dict[str, dict[str, float]] = {}
    with (run / "scores.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            free = row["proxy"] not in COLUMNS and not row["proxy"].startswith("partial")
            if free and row["score"] and math.isfinite(float(row["score"])):
                found.setdefault(row["key"], {})[row["proxy"]] = float(row["score"])
    return found


def main(run: str) -> None:
    table = read_trained(HERE / "benchmark.parquet").only("random").averaged()
    proxies = scores(Path(run))
    everywhere = sorted(set.intersection(*(set(proxies[key]) for key in table.keys)))
    rows = [
        {"architecture": a, **{n: float(table.columns[n][i]) for n in COLUMNS}, **{n: proxies[a.key][n] for n in everywhere}}
        for i, a in enumerate(table.architectures)
    ]
    write_searchable(
        TO, rows, {"space": "decoder", "options": SPACES["small"], "objectives": ["perplexity", "latency"], "about": ABOUT}
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
