"""The tables of README.md, computed from the CSV files beside it.

python recipes/arch2vec/tables.py    # writes them into README.md, between their marks; a test keeps them equal
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import filled as filled_with  # noqa: E402
from rows import markdown, mean_ranks, rows_of  # noqa: E402

#: Yan (2022), table 3.1, in percent: accuracy, validity and uniqueness.
PAPER = {
    "nb201-text": ("100", "79.41", "98.72"),
    "nb201-no-kl": ("100", "77.09", "96.57"),
    "nb201-gae": ("99.52", "79.28", "78.42"),
    "nb201-vgae": ("98.32", "79.30", "88.42"),
    "nb101-text": ("100", "44.97", "99.69"),
    "darts-bound": ("99.79", "33.36", "100"),
}
FIGURES = ("operations", "edges", "cells", "validity", "uniqueness", "read_validity", "read_uniqueness", "spelt_uniqueness")
VALIDATION, TEST = "cifar10_validation@200", "cifar10_test@200"


def name(encoding: str) -> str:
    """An encoding as the page has it: `arch2vec (text)` for a folder of that name."""
    if not encoding.startswith("runs/"):
        return encoding
    _, method, trained = encoding.split("/")
    return f"{method} ({trained.removeprefix('nb201-').removeprefix('nb101-')})"


def searcher(text: str) -> str:
    """A searcher as the page has it."""
    first, runs, folder = text.partition(":runs/")
    return f"{first}, {name(f'runs/{folder}')}" if runs else text


def pretraining() -> str:
    """What comes back and what is generated, in percent."""
    lines = []
    for row in rows_of(HERE / "pretraining.csv"):
        told = [f"{100 * float(row[figure]):.1f}" if row[figure] else "" for figure in FIGURES]
        size = f"{int(row['learnt_from']):,} × {row['epochs']}"
        lines.append([f"`{row['name']}`", size, *told, " / ".join(PAPER.get(row["name"], ()))])
    header = ["training", "cells × epochs", *(figure.replace("_", " ") for figure in FIGURES), "paper"]
    return markdown(header, lines)


def search() -> str:
    """Validation / test accuracy on CIFAR-10 and regret, by searcher and queries."""
    found = {(row["searcher"], int(row["queries"])): row for row in rows_of(HERE / "search.csv")}
    at = sorted({queries for _, queries in found})
    lines = []
    for one in sorted({s for s, _ in found}, key=lambda s: float(found[s, 150]["regret"])):
        told = [found.get((one, queries)) for queries in at]
        each = [f"{float(row[VALIDATION]):.2f} / {float(row[TEST]):.2f}" if row else "–" for row in told]
        last = found[one, 150]
        regret = f"{float(last['regret']):.3f} ± {float(last['regret_error']):.3f}"
        lines.append([searcher(one), *each, regret, f"{1000 * float(last['seconds']):.1f} ms"])
    header = ["searcher", *(f"{queries} queries" for queries in at), "regret after 150", "a proposal takes"]
    return markdown(header, lines)


def subroutines() -> str:
    """Regret after 150 queries by encoding and searcher, each of which uses the encoding for one thing."""
    found = {(row["encoding"], row["searcher"]): row for row in rows_of(HERE / "subroutines.csv")}
    searchers = list(dict.fromkeys(searcher for _, searcher in found))
    parts = {row["searcher"]: row["subroutine"] for row in found.values()}
    encodings = dict.fromkeys(encoding for encoding, _ in found)

    def told(encoding: str, searcher: str) -> str:
        row = found.get((encoding, searcher))
        return f"{float(row['regret']):.3f} ± {float(row['regret_error']):.3f}" if row else "–"

    lines = [[name(encoding), *(told(encoding, searcher) for searcher in searchers)] for encoding in encodings]
    return markdown(["encoding", *(f"{parts[searcher]}: {searcher}" for searcher in searchers)], lines)


def tuning() -> str:
    """Encodings by their mean rank under DNGO on the two other data sets."""
    ranks = mean_ranks(rows_of(HERE / "tuning.csv"), lambda row: row["searcher"].partition(":")[2])
    return markdown(["encoding", "mean rank"], [[name(encoding), f"{rank:.2f}"] for encoding, rank in ranks.items()])


def predict() -> str:
    """What a predictor that knows 250 cells of NAS-Bench-101 says of the others."""
    lines = [
        [
            row["predictor"],
            name(row["encoding"]),
            f"{float(row['rmse']):.2f}",
            f"{float(row['pearson']):.2f}",
            f"{float(row['spearman']):.3f} ± {float(row['spearman_error']):.3f}",
        ]
        for row in rows_of(HERE / "predict.csv")
    ]
    return markdown(["predictor", "encoding", "RMSE, in points", "Pearson's r", "Spearman"], lines)


TABLES: dict[str, Callable[[], str]] = {
    "pretraining": pretraining,
    "search": search,
    "subroutines": subroutines,
    "tuning": tuning,
    "predict": predict,
}


def filled(text: str) -> str:
    """The text with the tables between their marks."""
    return filled_with(text, TABLES)


if __name__ == "__main__":
    page = HERE / "README.md"
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
