"""What stopping trainings early saves in `secateur prune --method standard`: MiniLM's sub-networks, each fine-tuned by itself.

    python recipes/nasbenchx11/standard.py train --model MINILM --data glue/sst2 --to runs/standard    # → standard.parquet
    python recipes/nasbenchx11/standard.py replay runs/standard-replay                                 # → standard.csv

`train` is a real run, in which every candidate is measured on its way, and goes on: `--stop-early last:0.4/1`. `replay` lets
searches draw these trainings in many orders, at equal time, and stop them or not.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kept import HERE, replace_rows

import secateur

TABLE = HERE / "standard.parquet"
EPOCHS, CANDIDATES = 4, 48
#: Looked at after 10, 20, 30 and 40 % of a training.
KEEP_ALL = "last:0.4/1"
KEEPS, SHARES = (0.3, 0.5), (0.2, 0.4)
SEEDS = 50
#: Whole trainings that a search has time for.
TRAININGS = 16


def train(model: str, data: str, to: Path, device: str) -> None:
    """Fine-tune random candidates, all to the end, and keep their curves and seconds."""
    from secateur.tables.searchable import write_searchable

    given: dict[str, Any] = {"method": "standard", "searcher": "random", "stop_early": KEEP_ALL, "trial_epochs": EPOCHS}
    given |= {"trials": 2 * CANDIDATES, "aimed": 0.0, "epochs": 2, "polish": False, "measure": False, "max_train": 1500}
    given |= {"max_validation": 600, "max_test": 100, "device": device, "to": to}
    if (to / "config.yaml").exists():
        run = secateur.resume(to, progress=False)
    else:
        run = secateur.prune(model, data, **given, progress=False)
    trials = [trial for trial in run.trials if trial.complete]
    first = {trial.id: trial for trial in trials if trial.continues is None}
    rows = []
    for trial in trials:
        if trial.continues is not None:
            begun = first[trial.continues]
            curve = dict(sorted({**dict(begun.curve), **dict(trial.curve)}.items()))
            rows.append(
                {
                    "architecture": trial.architecture,
                    "body_parameters": trial.values["body_parameters"],
                    "budgets": list(curve),
                    "error": [values["error"] for values in curve.values()],
                    "seconds": (begun.seconds or 0.0) + (trial.seconds or 0.0),
                }
            )
    said = {"space": run.space.name, "shape": run.shape, "objectives": ["error"]}
    about = f"{len(rows)} sub-networks of MiniLM, each fine-tuned by itself for {EPOCHS} epochs on 1,500 sentences of SST-2"
    write_searchable(TABLE, rows, {**said, "about": about})


def replay(folder: Path) -> None:
    """One objective and two, with whole trainings and with several ways to stop them."""
    from secateur.runs.bench.problem import Problem
    from secateur.tables.opening import open_table

    seconds = round(TRAININGS * Problem.of(open_table(str(TABLE)), ["error"], None, ()).mean_seconds)
    ways = [f"random+{one}:{few}/{keep}" for one in ("last", "svr", "gp") for few in SHARES for keep in KEEPS]
    for objectives in (["error"], ["error", "body_parameters"]):
        found = secateur.bench_search(
            table=[str(TABLE)],
            searcher=["random", *ways],
            objective=objectives,
            report=[],
            seeds=SEEDS,
            seconds=seconds,
            at=str(seconds),
            to=folder / "-".join(objectives),
        )
        rows = [{"objectives": " ".join(objectives), **_told(row)} for row in found.rows()]
        replace_rows(HERE / "standard.csv", rows, ("objectives",))


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("searcher", "simulated_seconds", "seeds", "regret", "regret_error", "rank")}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(required=True, dest="verb")
    one = verbs.add_parser("train")
    one.add_argument("--model", required=True)
    one.add_argument("--data", required=True)
    one.add_argument("--to", type=Path, required=True)
    one.add_argument("--device", default="cpu")
    verbs.add_parser("replay").add_argument("folder", type=Path)
    asked = vars(parser.parse_args())
    {"train": train, "replay": replay}[asked.pop("verb")](**asked)
