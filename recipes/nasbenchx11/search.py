"""Twelve algorithms at equal simulated time (Yan 2022, figures 5.4 and 5.5), and when to extrapolate (figure 5.8).

    secateur bench import nb101_20k_multifidelity.csv.gz --surrogate
    python recipes/nasbenchx11/search.py tune runs/x11       # NAS-Bench-101's surrogate → tuning.csv
    python recipes/nasbenchx11/search.py compare runs/x11    # our decoders, and a surrogate of them → search.csv, pairs.csv
    python recipes/nasbenchx11/search.py few runs/x11        # the same two → few.csv
    python recipes/nasbenchx11/search.py tiny runs/x11       # many tiny decoders → search.csv, pairs.csv
    python recipes/nasbenchx11/search.py literal runs/x11    # our decoders, WPM as the text has it → literal.csv

What goes on (`keep`) was chosen on NAS-Bench-101, which is not used later.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kept import HERE, TABLE, TINY, mean_ranks, replace_rows, rows_of

import secateur

#: As tuned in recipes/nasbench, where they have settings.
PLAIN = ("local", "mo-rea:20/10", "bananas")
EARLY = ("wpm", "svr")
#: Beside the paper's: what ranked best of all extrapolators.
ALSO = "local+gp"
ALONE = ("random", "hyperband", "bohb")
SURROGATE = "surrogate"
KEEPS = (0.1, 0.2, 0.3, 0.5, 0.7)
SHARES = (0.05, 0.1, 0.2, 0.4)
SEEDS = 30
#: Whole trainings that a search has time for.
TRAININGS = 100


def tune(folder: Path) -> None:
    """How many go on, on another space: at 12 of 108 epochs."""
    for plain in PLAIN:
        searchers = [f"{plain}+svr:0.11/{keep}" for keep in KEEPS]
        found = secateur.bench_search(
            table=["nb101-surrogate"],
            searcher=[plain, *searchers],
            objective=["validation"],
            seeds=20,
            seconds=100_000,
            at="30000,100000",
            to=folder / "tune",
        )
        kept = ("searcher", "simulated_seconds", "seeds", "regret", "regret_error", "rank")
        replace_rows(HERE / "tuning.csv", [{name: row[name] for name in kept} for row in found.rows()], kept[:2])


def keep() -> float:
    """The share with the lowest mean rank over searchers and times."""
    rows = [row for row in rows_of(HERE / "tuning.csv") if "/" in row["searcher"].partition("+")[2]]
    return float(next(iter(mean_ranks(rows, lambda row: row["searcher"].rpartition("/")[2]))))


def fitted(folder: Path) -> str:
    """The folder of the surrogate of our decoders: with the noise that seeds show."""
    to = folder / SURROGATE
    if not to.exists():
        secateur.bench_surrogate_fit(TABLE, metric=["loss"], noise="seeds", column=["parameters", "latency"], to=to)
    return str(to)


def seconds_of(table: str) -> float:
    """What TRAININGS whole trainings take on average."""
    from secateur.runs.bench.problem import Problem
    from secateur.tables.opening import open_table

    seconds = TRAININGS * Problem.of(open_table(table), ["loss"], None, ()).mean_seconds
    return round(seconds, -3 if seconds > 100_000 else 0)


def searched(
    table: str, searchers: Sequence[str], to: Path, workers: int | None = None
) -> tuple[list[dict[str, Any]], list[Any]]:
    """A row per searcher and time (a quarter, a half and all of it), and the paired differences of regrets in the end."""
    seconds = seconds_of(table)
    at = ",".join(str(int(seconds * share)) for share in (0.25, 0.5, 1.0))
    found = secateur.bench_search(
        table=[table],
        searcher=[*searchers],
        objective=["loss"],
        report=[],
        seeds=SEEDS,
        seconds=seconds,
        at=at,
        to=to,
        workers=workers,
    )
    rows = [{"share": round(row["simulated_seconds"] / seconds, 2), **_told(row)} for row in found.rows()]
    return rows, next(iter(found.pairs.values()))["regret"]


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    loss = next(name for name in row if name.startswith("loss@"))
    kept = ("searcher", "simulated_seconds", "seeds", loss, "regret", "regret_error", "rank", "seconds")
    return {name.partition("@")[0]: row[name] for name in kept}


def compare(folder: Path) -> None:
    """All twelve, and one with a Gaussian process, on the decoders that were trained; most of them on their surrogate."""
    compared(TABLE, "trained", (), folder)
    # on the surrogate every curve is new to wpm, a third of a second each, and bananas takes half a minute for a search
    compared(fitted(folder), SURROGATE, ("+wpm", "bananas"), folder)


def tiny(folder: Path) -> None:
    """All of them on the many tiny decoders."""
    compared(TINY, "tiny", (), folder)


def literal(folder: Path) -> None:
    """WPM with what it is wrong by: what it predicts is compared with how others ended."""
    from secateur.predictors.curves.wpm import Wpm

    Wpm.learns = True  # then nothing is taken off
    plain = PLAIN[:2]
    rows, _ = searched(TABLE, [*plain, *(f"{one}+wpm:0.2/{keep():g}" for one in plain)], folder / "literal", workers=1)
    replace_rows(HERE / "literal.csv", rows, ("searcher", "share"))


def compared(table: str, name: str, left_out: Sequence[str], folder: Path) -> None:
    share = keep()
    early = [f"{one}:0.2/{share:g}" for one in (*(f"{plain}+{way}" for plain in PLAIN for way in EARLY), ALSO)]
    mine = [one for one in (*PLAIN, *early) if not any(part in one for part in left_out)]
    rows, pairs = searched(table, [*ALONE, *mine], folder / f"compare-{name}")
    replace_rows(HERE / "search.csv", [{"table": name, **row} for row in rows], ("table",))
    replace_rows(HERE / "pairs.csv", [{"table": name, **pair.as_dict()} for pair in pairs], ("table",))


def few(folder: Path) -> None:
    """After which share of a training its end is told, by LcSVR: WPM takes a third of a second for each curve and share."""
    share, plainly = keep(), PLAIN[:2]
    for table, name in ((TABLE, "trained"), (fitted(folder), SURROGATE)):
        early = [f"{plain}+svr:{at:g}/{share:g}" for plain in plainly for at in SHARES]
        rows, _ = searched(table, [*plainly, *early], folder / f"few-{name}")
        replace_rows(HERE / "few.csv", [{"table": name, **row} for row in rows], ("table",))


def main(what: str, folder: str) -> None:
    {"tune": tune, "compare": compare, "few": few, "tiny": tiny, "literal": literal}[what](Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
