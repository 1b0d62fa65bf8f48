"""Does a pre-trained encoding help to prune and to design? CATE on layers, on tables of sub-networks of MiniLM and of decoders.

python recipes/cate/pretrain.py runs/cate medium decoder
python recipes/cate/own.py predict runs/cate-own    # → own-predictors.csv
python recipes/cate/own.py search runs/cate-own     # → own-search.csv
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import replace_rows  # noqa: E402

import secateur  # noqa: E402

#: Table → its trained encoding, what is predicted, and from how many networks.
TABLES = {
    "prune-medium-stsb": ("runs/cate/medium", "error", "25,50,100,250"),
    "prune-medium-mrpc": ("runs/cate/medium", "error", "25,50,100,250"),
    "design-wikitext2": ("runs/cate/decoder", "perplexity", "25,50,100"),
}
KEPT = ("predictor", "encoding", "train", "seeds", "spearman", "spearman_error", "rmse", "seconds")


def predict(folder: Path) -> None:
    for table, (encoding, metric, train) in TABLES.items():
        found = secateur.bench_predictors(
            table=[table],
            metric=metric,
            predictor=["gp", "dngo", "mlp", "trees", "forest"],
            encoding=["vector", encoding],
            train=train,
            seeds=10,
            to=folder / f"predict-{table}",
        )
        rows = [{"table": table, **{name: row[name] for name in KEPT}} for row in found.rows()]
        replace_rows(HERE / "own-predictors.csv", rows, ("table",))


def search(folder: Path) -> None:
    """Both objectives of each table, with few queries, as where each is expensive."""
    for table in ("prune-medium-stsb", "design-wikitext2"):
        encoding = TABLES[table][0]
        found = secateur.bench_search(
            table=[table],
            searcher=["random", "local", "dngo:vector", f"dngo:{encoding}"],
            seeds=20,
            queries=50,
            at="25,50",
            to=folder / f"search-{table}",
        )
        names = ("searcher", "queries", "seeds", "regret", "regret_error", "rank", "seconds")
        rows = [{"table": table, **{name: row[name] for name in names}} for row in found.rows()]
        replace_rows(HERE / "own-search.csv", rows, ("table",))


def main(what: str, folder: str) -> None:
    {"predict": predict, "search": search}[what](Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
