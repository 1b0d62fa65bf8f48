"""How searchers compare on NAS-Bench-201, each with the settings that did best on other data sets.

    secateur bench import nb201_15625.csv.gz
    python recipes/nasbench/search.py tune runs/nb201     # CIFAR-100 and ImageNet16-120 → tuning.csv
    python recipes/nasbench/search.py compare runs/nb201  # CIFAR-10 → search.csv and pairs.csv

Settings are chosen by the mean rank of the 12-epoch validation accuracy reached on the two other data sets. Both commands go on
where they were stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kept import HERE, mean_ranks, replace_rows

import secateur

ENCODINGS = ("adjacency", "path", "path-truncated", "vector")
#: Family → the settings that are compared.
FAMILIES = {
    "random": ["random"],
    "local": ["local"],
    "mo-rea": [f"mo-rea:{p}/{s}" for p, s in ((10, 3), (10, 5), (10, 10), (20, 5), (20, 10), (20, 20), (50, 10), (50, 25))],
    "reinforce": ["reinforce"],
    "bananas": [f"bananas:{encoding}" for encoding in ENCODINGS],
    "bo-dngo": [f"bo-dngo:{encoding}" for encoding in ENCODINGS if encoding != "vector"],
    "bo-gp": ["bo-gp:adjacency", "bo-gp:path"],
    "bo-gcn": ["bo-gcn"],
}
#: Families whose proposals take so long that they are tuned with fewer seeds, and that end with the best cell if they have 500
#: queries: what is told of the best is the same.
SLOW = ("reinforce", "bananas", "bo-dngo", "bo-gp", "bo-gcn")
ELSEWHERE = ("cifar100_validation", "imagenet16_validation")
DRIVE, VALIDATION, TEST = "cifar10_validation@12", "cifar10_validation@200", "cifar10_test@200"


def tune(folder: Path, families: Iterable[str]) -> None:
    """Compare the settings of each family that has several on the data sets that are not used later."""
    for family in families:
        for objective in ELSEWHERE if len(FAMILIES[family]) > 1 else ():
            slow = family in SLOW
            found = secateur.bench_search(
                table=["nb201"],
                searcher=FAMILIES[family],
                objective=[objective],
                report=[],
                seeds=20 if slow else 50,
                queries=150 if slow else 500,
                at="50,100,150" if slow else "50,100,150,500",
                to=folder / f"{family}-{objective}",
            )
            rows = [{"family": family, "objective": objective, **_chosen(row)} for row in found.rows()]
            replace_rows(HERE / "tuning.csv", rows, ("family", "objective"))


def best_settings() -> dict[str, str]:
    """Family → the setting with the lowest mean rank over the data sets and numbers of queries, of those that have a name."""
    best = {family: next(iter(several)) for family, several in mean_ranks().items()}
    return {family: searcher for family, searcher in best.items() if searcher in FAMILIES[family]}


def compare(folder: Path, families: Iterable[str]) -> None:
    """Let the chosen setting of each family search CIFAR-10, with 150 queries and with 500."""
    tuned = best_settings()
    chosen = {family: tuned.get(family, family) for family in families}
    quick = [searcher for family, searcher in chosen.items() if family not in SLOW]
    slow = [searcher for family, searcher in chosen.items() if family in SLOW]
    for searchers, queries, until_best in ((quick, 500, False), (slow, 500, True), (list(chosen.values()), 150, False)):
        if not searchers:
            continue
        found = secateur.bench_search(
            table=["nb201"],
            searcher=searchers,
            seeds=200,
            queries=queries,
            at="500" if queries == 500 else "50,100,150",
            until_best=until_best,
            to=folder / f"cifar10-{queries}{'-until-best' * until_best}",
        )
        replace_rows(HERE / "search.csv", [_told(row) for row in found.rows()], ("searcher", "queries"))
    several = found.pairs["nb201"]
    replace_rows(
        HERE / "pairs.csv", [{"measure": m, **pair.as_dict()} for m, them in several.items() for pair in them], ("measure",)
    )


def _chosen(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("searcher", "queries", "seeds", "regret", "regret_error", "rank", "seconds")}


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: row[name] for name in ("searcher", "queries", "seeds")}
    for name in (DRIVE, VALIDATION, TEST):
        deviation = row[f"{name}_error"] * row["seeds"] ** 0.5
        found |= {name: row[name], f"{name} deviation": deviation}
    return {**found, **{name: row[name] for name in ("regret", "cumulative_regret", "rank", "seconds")}}


def main(what: str, folder: str, *families: str) -> None:
    {"tune": tune, "compare": compare}[what](Path(folder), families or FAMILIES)


if __name__ == "__main__":
    main(*sys.argv[1:])
