"""Every proxy on our own table of trained decoders: the tables of proxies.md.

    secateur bench proxies recipes/design/benchmark.parquet --source random --text wikitext-2 --length 128 --to runs/proxies
    secateur bench proxies recipes/design/benchmark.parquet --source homogeneous --text wikitext-2 --length 128 --to runs/alike
    python recipes/design/proxies.py runs/proxies runs/alike      # keep their figures here, print the tables

Without arguments the tables are printed from what is kept.
"""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

from secateur.report.numbers import MISSING, SPACE, show

HERE = Path(__file__).resolve().parent
#: What is kept of a run of `secateur bench proxies` on random networks, and what of one on homogeneous ones.
KEPT = {"proxies.csv": "proxies-summary.csv", "ranking.csv": "proxies-ranking.csv", "fronts.csv": "proxies-fronts.csv"}
HOMOGENEOUS = "proxies-homogeneous.csv"
SHARES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)

Row = dict[str, str]


def keep(run: Path, homogeneous: Path, folder: Path = HERE) -> None:
    """Copy the figures of both runs beside this script."""
    for theirs, ours in KEPT.items():
        shutil.copyfile(run / theirs, folder / ours)
    shutil.copyfile(homogeneous / "proxies.csv", folder / HOMOGENEOUS)


def read(name: str, folder: Path = HERE) -> list[Row]:
    with (folder / KEPT.get(name, name)).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _figure(value: str, digits: int = 3) -> str:
    return f"{float(value):.{digits}f}" if value else MISSING


def ordered(folder: Path = HERE) -> list[Row]:
    """The proxies, those that rank best first; partial training, which trains, after the others."""
    return sorted(read("proxies.csv", folder), key=lambda r: (r["proxy"].startswith("partial_"), -float(r["spearman"] or -2)))


def overall(folder: Path = HERE) -> str:
    """Per proxy: how well it ranks all networks, its front over latency, and what it costs."""
    fronts = {row["proxy"]: row for row in read("fronts.csv", folder) if row["cost"] == "latency"}
    homogeneous = {row["proxy"]: row["spearman"] for row in read(HOMOGENEOUS, folder)}
    rows = []
    for row in ordered(folder):
        front = fronts.get(row["proxy"])
        interval = f"{_figure(row['spearman_low'])} … {_figure(row['spearman_high'])}"
        cells = [row["proxy"], _figure(row["spearman"]), interval, _figure(row["kendall"])]
        cells.append(_figure(homogeneous.get(row["proxy"], "")))
        if front is None:
            cells += [MISSING, MISSING]
        else:
            members = int(front["members"])
            cells += [f"{round(float(front['found']) * members)} of {members}", f"{float(front['gap']):.1%}"]
        flops, seconds = (float(row[name]) if row[name] else None for name in ("flops", "seconds"))
        rows.append([*cells, *(show(v, kind).replace(SPACE, " ") for v, kind in ((flops, "count"), (seconds, "seconds")))])
    header = ["proxy", "Spearman", "95 %", "Kendall", "homogeneous", "front found", "perplexity gap", "FLOPs", "time"]
    return _table(header, rows)


def by_share(measure: str, folder: Path = HERE) -> str:
    """Per proxy: a measure among the best k % by perplexity."""
    found = {(row["proxy"], round(float(row["share"]), 2)): row[measure] for row in read("ranking.csv", folder)}
    rows = [[row["proxy"], *(_figure(found.get((row["proxy"], share), ""), 2) for share in SHARES)] for row in ordered(folder)]
    return _table(["proxy", *(f"best {share:.0%}" for share in SHARES)], rows)


def everything(folder: Path = HERE) -> str:
    return "\n\n".join([overall(folder), by_share("spearman", folder), by_share("common_ratio", folder)])


if __name__ == "__main__":
    if len(sys.argv) not in (1, 3):
        raise SystemExit("usage: proxies.py [RUN-ON-RANDOM-NETWORKS RUN-ON-HOMOGENEOUS-ONES]")
    if len(sys.argv) > 1:
        keep(*map(Path, sys.argv[1:]))
    print(everything())
