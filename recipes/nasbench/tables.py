"""The tables of README.md, computed from the CSV files beside it.

python recipes/nasbench/tables.py    # writes them into README.md, between their marks; a test keeps them equal
"""

from __future__ import annotations

from collections.abc import Callable

from kept import HERE, markdown, mean_ranks, rows_of
from kept import filled as filled_with

#: Yan (2022), table 3.3: validation and test accuracy on CIFAR-10 after 1.2e4 simulated seconds (about 100 queries), 500 runs.
PAPER = {
    "random": ("90.94 ± 0.38", "93.75 ± 0.37"),
    "mo-rea": ("91.08 ± 0.43", "93.84 ± 0.43"),
    "reinforce": ("91.03 ± 0.33", "93.82 ± 0.31"),
}

#: The order of the tables on the page.
TABLED = ("nb201", "nb101", "prune-stsb", "prune-mrpc", "design-wikitext2")


def rows(name: str) -> list[dict[str, str]]:
    return rows_of(HERE / name)


def family(searcher: str) -> str:
    return searcher.partition(":")[0]


def search() -> str:
    """Validation / test accuracy at 200 epochs of what was found on CIFAR-10, by searcher and queries."""
    found = {(row["searcher"], int(row["queries"])): row for row in rows("search.csv")}
    at = sorted({queries for _, queries in found})
    searchers = sorted({s for s, _ in found}, key=lambda s: float(found[s, 150]["regret"]))

    def told(searcher: str, queries: int) -> str:
        row = found.get((searcher, queries))
        if row is None:
            return "–"
        return f"{float(row['cifar10_validation@200']):.2f} / {float(row['cifar10_test@200']):.2f}"

    lines = []
    for searcher in searchers:
        row = found.get((searcher, 100), {})
        paper = " / ".join(part.split()[0] for part in PAPER[family(searcher)]) if family(searcher) in PAPER else "–"
        spread = f"{float(row['cifar10_test@200 deviation']):.2f}" if row else "–"
        lines.append([searcher, *(told(searcher, q) for q in at), spread, paper])
    return markdown(["searcher", *(f"{q} queries" for q in at), "deviation of test at 100", "paper, about 100"], lines)


def tuning() -> str:
    """The mean rank of every setting of a family on the two other data sets."""
    lines = [
        [family, ", ".join(f"{searcher.partition(':')[2]} {rank:.2f}" for searcher, rank in several.items())]
        for family, several in mean_ranks().items()
    ]
    return markdown(["family", "settings by mean rank, the chosen one first"], lines)


def fidelity() -> str:
    """Regret on the surrogate of NAS-Bench-101 after simulated seconds."""
    return _by_seconds("fidelity.csv")


def fronts() -> str:
    """Regret in hypervolume (accuracy and parameters) on the surrogate after simulated seconds."""
    return _by_seconds("fidelity-fronts.csv")


def _by_seconds(name: str) -> str:
    found = {(row["searcher"], int(row["simulated_seconds"])): row for row in rows(name)}
    at = sorted({seconds for _, seconds in found})
    searchers = sorted({s for s, _ in found}, key=lambda s: float(found[s, at[-1]]["regret"]))
    lines = [
        [s, *(f"{float(found[s, t]['regret']):.3f} ± {float(found[s, t]['regret_error']):.3f}" for t in at)] for s in searchers
    ]
    return markdown(["searcher", *(f"{t:,} s" for t in at)], lines)


def predictors() -> str:
    """Spearman's correlation of the best encoding of each predictor, by table and networks learnt from, and with features."""
    lines = []
    found = rows("predictors.csv")
    for table in sorted({row["table"] for row in found}, key=TABLED.index):
        here = [row for row in found if row["table"] == table]
        sizes = sorted({int(row["train"]) for row in here})
        for features in dict.fromkeys(row["features"] for row in here):
            some = [row for row in here if row["features"] == features]
            for predictor in dict.fromkeys(row["predictor"] for row in some):
                mine = {(row["encoding"], int(row["train"])): row for row in some if row["predictor"] == predictor}
                encoding = max({e for e, _ in mine}, key=lambda e: sum(float(mine[e, n]["spearman"]) for n in sizes))
                told = [f"{float(mine[encoding, n]['spearman']):.3f}" for n in sizes]
                lines.append([table, features, predictor, encoding, ", ".join(told), f"{sizes}"[1:-1]])
    return markdown(["table", "features", "predictor", "best encoding", "Spearman", "after so many networks"], lines)


TABLES: dict[str, Callable[[], str]] = {
    "search": search,
    "tuning": tuning,
    "fidelity": fidelity,
    "fronts": fronts,
    "predictors": predictors,
}


def filled(text: str) -> str:
    """The text with the tables between their marks."""
    return filled_with(text, TABLES)


if __name__ == "__main__":
    page = HERE / "README.md"
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
