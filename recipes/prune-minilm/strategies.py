"""Which way to train a super-network gives the best front, by the protocol of Klein et al. (2024, sections 4.1 and 4.1.3).

    python grid.py plan-strategies.txt … --out points.jsonl      # and plan-spaces.txt
    python strategies.py

Each row of the file has the validation errors and parameters of 100 random sub-networks. Per task and metric, both are
normalised to their quantiles over all methods and seeds; the hypervolume is taken up to (2, 2), so 4 is the most there can be.
Prints its mean and standard error over the seeds: of the ways to train in `small`, then of the spaces (section 4.1.1).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import sem

from secateur.pareto.regret import quantile_hypervolumes

HERE = Path(__file__).resolve().parent
#: A task and the metric whose complement is the error.
Task = tuple[str, str]

TITLES = {
    "standard": "standard",
    "random": "random",
    "random-linear": "random-linear",
    "sandwich": "sandwich",
    "kd": "kd, by the equations",
    "kd-authors": "kd, as in the authors' code",
    "kd-linear-authors": "kd, as in the authors' first code",
    "full": "full, by the equations",
    "full-authors": "full, as in the authors' code",
    "small": "`small`",
    "medium": "`medium`",
    "large": "`large`",
    "layer": "`layer`",
}
#: The error of answering with MRPC's majority, by F1.
MAJORITY = 0.19435
#: What was trained in every space.
IN_SPACES = "full-authors"


def read(path: Path) -> list[dict[str, Any]]:
    """The rows that have points; of a task, metric, space, method and seed that was run again, the last."""
    rows = [row for row in map(json.loads, path.read_text().splitlines()) if "points" in row]
    return list({(*_task(row), row["space"], row["method"], row["seed"]): row for row in rows}.values())


def in_small(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every way to train, in `small`."""
    return [row for row in rows if row["space"] == "small"]


def by_space(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One way to train, with the space in the method's place; tasks on which several spaces were tried."""
    found = [{**row, "method": row["space"]} for row in rows if row["method"] == IN_SPACES]
    spaces = {(_task(row), row["method"]) for row in found}
    return [row for row in found if sum(task == _task(row) for task, _ in spaces) > 1]


def at_majority(rows: Iterable[dict[str, Any]]) -> float:
    """The share of the sub-networks drawn on MRPC that answer with the majority."""
    return float(np.mean([abs(error - MAJORITY) < 1e-5 for row in rows if row["task"] == "mrpc" for error, _ in row["points"]]))


def _task(row: dict[str, Any]) -> Task:
    return row["task"], row["metric"]


def hypervolumes(rows: Iterable[dict[str, Any]]) -> dict[tuple[Task, str], list[float]]:
    """((task, metric), method) → the hypervolumes of its seeds, in their order."""
    tasks: dict[Task, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["seed"]):
        tasks.setdefault(_task(row), []).append(row)
    out: dict[tuple[Task, str], list[float]] = {}
    for task, several in tasks.items():
        volumes = quantile_hypervolumes([np.array(row["points"]) for row in several])
        for row, volume in zip(several, volumes, strict=True):
            out.setdefault((task, row["method"]), []).append(volume)
    return out


def cell(values: list[float] | None) -> str:
    if not values:
        return ""
    error = f" ± {sem(values):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):.3f}{error}"


def table(rows: list[dict[str, Any]]) -> str:
    """Methods × tasks."""
    found = hypervolumes(rows)
    tasks = sorted(set(map(_task, rows)))
    head = " | ".join(f"{task} ({metric})" for task, metric in tasks)
    lines = [f"| hypervolume | {head} |", "|---|" + "---|" * len(tasks)]
    for method in (*TITLES, *sorted({method for _, method in found} - set(TITLES))):
        cells = [cell(found.get((task, method))) for task in tasks]
        if any(cells):
            lines.append(f"| {TITLES.get(method, method)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def everything(path: Path = HERE / "points.jsonl") -> str:
    rows = read(path)
    return f"{table(in_small(rows))}\n\n{table(by_space(rows))}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("points", type=Path, nargs="?", default=HERE / "points.jsonl")
    print(everything(parser.parse_args().points))


if __name__ == "__main__":
    main()
