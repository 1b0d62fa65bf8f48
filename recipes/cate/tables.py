"""The tables of README.md, computed from the CSV files beside it.

python recipes/cate/tables.py    # writes them into README.md, between their marks; a test keeps them equal
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import filled as filled_with  # noqa: E402
from rows import markdown, rows_of  # noqa: E402


def name(text: str) -> str:
    """A searcher or encoding as the page has it: the folder of a trained one by its last two names."""
    return text.replace("runs/", "").replace(":", ", ")


def pretraining() -> str:
    """Sizes, losses and how many masked operations are named."""
    lines = []
    for row in rows_of(HERE / "pretraining.csv"):
        if row["name"].startswith("arch2vec"):
            continue
        size = f"{row['layers']} + {row['cross_layers']} layers, {row['inner']} units"
        named = f"{100 * float(row['named']):.1f} ({100 * float(row['commonest']):.1f})"
        losses = f"{float(row['first_loss']):.3f}, {float(row['loss']):.3f}"
        seen = f"{int(row['learnt_from']):,} × {row['epochs']}"
        lines.append([f"`{row['name']}`", size, row["dependencies"], seen, losses, named])
    header = ["training", "size", "mask", "architectures × epochs", "loss of the first and the last epoch"]
    return markdown([*header, "named, in % (always the commonest)"], lines)


def _searches(file: str, at: str) -> str:
    found = {(row["searcher"], row["queries"]): row for row in rows_of(HERE / file)}
    queries = sorted({q for _, q in found}, key=int)
    lines = []
    for one in sorted({s for s, _ in found}, key=lambda s: float(found[s, queries[-1]]["regret"])):
        told = [found[one, q] for q in queries]
        each = [f"{float(row['regret']):.3f} ± {float(row['regret_error']):.3f}" for row in told]
        lines.append([name(one), *each, f"{100 - float(told[-1]['validation']):.2f}"])
    return markdown(["searcher", *(f"{q} queries" for q in queries), f"validation error {at}"], lines)


def pool() -> str:
    """Regret in the pool of NAS-Bench-101 by encoding."""
    return _searches("search.csv", "after 60")


def outside() -> str:
    """Regret among cells with more edges than those that were trained on."""
    return _searches("outside.csv", "after 30")


def own_predictors() -> str:
    """Spearman's correlation on our own tables, by predictor and encoding."""
    found = rows_of(HERE / "own-predictors.csv")
    lines = []
    for table in dict.fromkeys(row["table"] for row in found):
        here = [row for row in found if row["table"] == table]
        sizes = sorted({int(row["train"]) for row in here})
        for predictor, encoding in dict.fromkeys((row["predictor"], row["encoding"]) for row in here):
            mine = {int(r["train"]): r for r in here if (r["predictor"], r["encoding"]) == (predictor, encoding)}
            told = ", ".join(f"{float(mine[size]['spearman']):.3f}" for size in sizes)
            lines.append([table, predictor, name(encoding), told, f"{sizes}"[1:-1]])
    return markdown(["table", "predictor", "encoding", "Spearman", "after so many networks"], lines)


def own_search() -> str:
    """Regret in hypervolume on our own tables."""
    found = rows_of(HERE / "own-search.csv")
    lines = []
    for table in dict.fromkeys(row["table"] for row in found):
        here = {(row["searcher"], row["queries"]): row for row in found if row["table"] == table}
        queries = sorted({q for _, q in here}, key=int)
        for one in sorted({s for s, _ in here}, key=lambda s: float(here[s, queries[-1]]["regret"])):
            each = [f"{float(here[one, q]['regret']):.4f} ± {float(here[one, q]['regret_error']):.4f}" for q in queries]
            lines.append([table, name(one), *each])
    return markdown(["table", "searcher", "25 queries", "50 queries"], lines)


def speed() -> str:
    """Seconds of a step."""
    found = {(row["what"], row["device"], row["steps"]): row for row in rows_of(HERE / "speed.csv")}
    lines = []
    for what, batch in dict.fromkeys((row["what"], row["batch"]) for row in found.values()):
        told = [found.get((what, *way)) for way in (("cuda", "recorded"), ("cuda", "plain"), ("cpu", "plain"))]
        lines.append([what, batch, *(f"{float(row['seconds']):.2g}" if row else "–" for row in told)])
    return markdown(["", "batch", "recorded and replayed", "plain", "one core"], lines)


TABLES: dict[str, Callable[[], str]] = {
    "pretraining": pretraining,
    "pool": pool,
    "outside": outside,
    "own-predictors": own_predictors,
    "own-search": own_search,
    "speed": speed,
}


def filled(text: str) -> str:
    """The text with the tables between their marks."""
    return filled_with(text, TABLES)


if __name__ == "__main__":
    page = HERE / "README.md"
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
