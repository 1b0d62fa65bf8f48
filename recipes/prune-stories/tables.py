"""The tables of README.md, from results.csv, cut.csv and optimizers.csv.

python tables.py           # prints them
python tables.py --write   # writes them into README.md
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from rows import markdown, rows_of, show  # noqa: E402

README, RESULTS, CUT = HERE / "README.md", HERE / "results.csv", HERE / "cut.csv"
OPTIMIZERS = HERE / "optimizers.csv"
LEVELS = ("80%", "60%", "40%")
Row = dict[str, str]
#: What stands in the place of a table without rows.
NONE = "*Not measured yet: no run of `run.py` has ended.*"


def mean_log(rows: list[Row], column: str) -> float:
    """exp of the mean logarithm: what perplexities of several sizes and seeds are summed up by."""
    return math.exp(sum(math.log(float(row[column])) for row in rows) / len(rows))


def pruned() -> dict[tuple[str, str], dict[str, list[Row]]]:
    """(tokens, method) → rate → the rows of pruned networks."""
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows_of(RESULTS):
        if row["level"] in LEVELS:
            found.setdefault((row["tokens"], row["method"]), {}).setdefault(row["rate"], []).append(row)
    return found


def chosen(rates: dict[str, list[Row]]) -> str:
    """The rate of the lowest validation perplexity over all sizes, by the first seed, which all rates have."""
    first = {rate: [row for row in rows if row["seed"] == "0"] for rate, rows in rates.items()}
    return min((rate for rate in rates if first[rate]), key=lambda rate: mean_log(first[rate], "validation"))


def results() -> str:
    """Perplexities at each size, at the rate that validation data chose; means over seeds."""
    lines = []
    for (tokens, method), rates in pruned().items():
        rate = chosen(rates)
        for level in LEVELS:
            rows = [row for row in rates[rate] if row["level"] == level]
            if rows:
                networks = ", ".join(dict.fromkeys(row["network"] for row in rows))
                numbers = [f"{mean_log(rows, column):.2f}" for column in ("cut", "validation", "test")]
                lines.append([f"{int(tokens):,}", method, f"≤ {level[:-1]} %", networks, *numbers, rate, str(len(rows))])
    if not lines:
        return NONE
    header = ["tokens", "method", "layers' parameters", "network", "before healing, valid.", "valid.", "test", "rate", "seeds"]
    return markdown(header, lines)


def rates() -> str:
    """What the rates were chosen by: the validation perplexity of the first seed, the geometric mean over sizes."""
    lines = [
        [f"{int(tokens):,}", method, rate, f"{mean_log(first, 'validation'):.2f}"]
        for (tokens, method), several in pruned().items()
        for rate, rows in several.items()
        if (first := [row for row in rows if row["seed"] == "0"])
    ]
    return markdown(["tokens", "method", "learning rate", "validation perplexity, mean over sizes"], lines) if lines else NONE


def cut() -> str:
    """Test perplexities after one cut of width, not healed, by scores of the most blocks that there are."""
    rows = rows_of(CUT)
    most = max((int(row["blocks"]) for row in rows), default=0)
    found = {(row["scores"], row["level"]): row for row in rows if int(row["blocks"]) == most}
    kinds = list(dict.fromkeys(kind for kind, _ in found if kind != "unpruned"))
    lines = [["100 %", "unpruned", *[f"{float(found['unpruned', '100%']['perplexity']):.2f}"] * len(kinds)]] if kinds else []
    for level in LEVELS:
        here = [found[kind, level] for kind in kinds]
        if here:
            lines.append([f"≤ {level[:-1]} %", here[0]["network"], *(f"{float(row['perplexity']):.2f}" for row in here)])
    return markdown(["layers' parameters", "network", *kinds], lines)


def optimizers() -> str:
    """What each way to save memory costs: healing at its best rate, with what the other rate gave, and the super-network."""
    rows, lines = rows_of(OPTIMIZERS), []
    for by in dict.fromkeys(row["by"] for row in rows):
        healed = sorted(
            (row for row in rows if (row["by"], row["training"]) == (by, "healing")), key=lambda r: float(r["slice"])
        )
        several = [f"{float(row['slice']):.2f} ({row['rate']})" for row in healed]
        trained = [row for row in rows if (row["by"], row["training"]) == (by, "super-network")]
        shared = [f"{float(row[name]):.2f}" for row in trained for name in ("slice", "whole")] or ["–", "–"]
        lines.append([by, f"{int(healed[0]['bytes']) / 1e6:.0f} MB", ", ".join(several), *shared])
    header = ["trained by", "gradients and states, healing", "60 %, healed (learning rate)"]
    return markdown([*header, "super-network: 60 %", "whole"], lines)


TABLES = {"results": results, "rates": rates, "cut": cut, "optimizers": optimizers}


if __name__ == "__main__":
    show(README, TABLES, __doc__)
