"""The tables of ../transformers.md, computed from the CSV files beside this one.

python recipes/block-zoo/transformers/tables.py    # writes them into the page, between their marks; a test keeps them equal
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))
from rows import filled as filled_with  # noqa: E402
from rows import markdown, rows_of  # noqa: E402

from secateur.rng import generator  # noqa: E402
from secateur.tables.ranking import kendall, rank  # noqa: E402

PAGE, TASKS, SAMPLES = HERE.parent / "transformers.md", {"stsb": "STS-B", "mrpc": "MRPC"}, 2000
#: Below so many networks there is no line of correlations.
FEWEST = 8
#: Seconds in which no layer is distilled.
READ = 0.5
#: Column → what the page calls it.
PROXIES = {
    "parameters": "parameters",
    "shared": "shared weights",
    "zoo 1": "zoo, 1 batch",
    "zoo 5": "zoo, 5 batches",
    "zoo 20": "zoo, 20 batches",
    "same batches": "zoo, 20 batches, scored on these",
    "squared errors": "squared errors of 20 batches, summed",
}


def scores(rows: list[dict[str, str]], proxy: str) -> np.ndarray:
    """A proxy's scores, higher is better."""
    found = np.array([float(row[proxy]) for row in rows])
    return found if proxy == "parameters" else -found


def networks() -> str:
    """Each network that was fine-tuned, the smallest first."""
    lines = []
    for task, shown in TASKS.items():
        rows = sorted(rows_of(HERE / f"rank-{task}.csv"), key=lambda row: float(row["parameters"]))
        names = ("shared", "zoo 1", "zoo 5", "zoo 20", "truth")
        for row in rows:
            size, seconds = f"{100 * float(row['parameters']):.0f} %", f"{float(row['zoo 20 seconds']):.1f}"
            errors = [f"{float(row[name]):.3f}" for name in names]
            lines.append([shown, row["space"], size, *errors, seconds, f"{float(row['truth seconds']):.1f}"])
    header = ["task", "space", "size", "shared weights", "zoo, 1 batch", "5", "20", "fine-tuned"]
    return markdown([*header, "CPU seconds: zoo, 20", "fine-tuning"], lines)


def ranking() -> str:
    """Rank correlations with the error after fine-tuning, and what a candidate costs."""
    lines = []
    for task, shown in TASKS.items():
        rows = rows_of(HERE / f"rank-{task}.csv")
        if len(rows) < FEWEST:
            continue
        true = np.array([float(row["truth"]) for row in rows])
        for proxy, name in PROXIES.items():
            (found,) = rank(true, scores(rows, proxy), shares=(1.0,), rng=generator(0, task, proxy), samples=SAMPLES)
            seconds = "–" if proxy == "parameters" else f"{np.mean([float(row[f'{proxy} seconds']) for row in rows]):.1f}"
            cells = [f"{found.spearman:.2f} ({found.spearman_interval})", f"{found.kendall:.2f} ({found.kendall_interval})"]
            against = "" if proxy == "shared" else difference(rows, true, proxy)
            lines.append([f"{shown}, {len(rows)} networks", name, *cells, against, seconds])
        seconds = f"{np.mean([float(row['truth seconds']) for row in rows]):.1f}"
        lines.append([f"{shown}, {len(rows)} networks", "fine-tuning itself", "", "", "", seconds])
    header = ["task", "proxy", "Spearman (95 %)", "Kendall's τ (95 %)", "τ − that of shared weights (95 %)", "CPU seconds"]
    return markdown(header, lines) if lines else f"Fewer than {FEWEST} networks of each task: no correlations."


def difference(rows: list[dict[str, str]], true: np.ndarray, proxy: str) -> str:
    """Paired bootstrap over networks: how much better τ is than on shared weights."""
    rng, found = generator(0, "paired"), []
    one, other = scores(rows, proxy), scores(rows, "shared")
    for _ in range(SAMPLES):
        drawn = rng.integers(0, len(true), len(true))
        pair = kendall(true[drawn], one[drawn]), kendall(true[drawn], other[drawn])
        found.append((pair[0] or 0.0) - (pair[1] or 0.0))
    low, high = np.quantile(found, [0.025, 0.975])
    whole = (kendall(true, one) or 0.0) - (kendall(true, other) or 0.0)
    return f"{whole:+.2f} ({low:+.2f}…{high:+.2f})"


def polishing() -> str:
    """Scores on test data by epochs, one a seed; mean seconds, without those of layers that were read from disk."""
    lines = []
    for task, shown in TASKS.items():
        rows = rows_of(HERE / f"polish-{task}.csv")
        for share, start in dict.fromkeys((row["share"], row["start"]) for row in sorted(rows, key=_place)):
            some = [row for row in rows if (row["share"], row["start"]) == (share, start)]
            cells = [
                ", ".join(f"{1 - float(row[f'epoch {epoch}']):.3f}" for row in sorted(some, key=lambda row: row["seed"]))
                for epoch in range(4)
            ]
            made = [row for row in some if start == "slice" or float(row["start seconds"]) > READ]
            seconds = np.mean([[float(row["start seconds"]), float(row["seconds"])] for row in made], axis=0)
            lines.append([shown, f"{100 * float(share):.0f} %", start, *cells, f"{seconds[0]:.1f} of {seconds[1]:.0f}"])
    header = ["task", "size", "from", "0 epochs", "1", "2", "3", "CPU seconds before the first epoch, of all"]
    return markdown(header, lines)


def _place(row: dict[str, str]) -> tuple[float, str]:
    return float(row["share"]), row["start"]


TABLES: dict[str, Callable[[], str]] = {"networks": networks, "ranking": ranking, "polishing": polishing}


def filled(text: str) -> str:
    return filled_with(text, TABLES)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
