"""What stopping trainings early saves in `secateur prune --method standard`: MiniLM's sub-networks, each fine-tuned by itself.

    python recipes/nasbenchx11/standard.py train --model MINILM --data glue/sst2 --to runs/standard    # → standard.parquet
    python recipes/nasbenchx11/standard.py replay runs/standard-replay                                 # → standard.csv
    python recipes/nasbenchx11/standard.py real --model MINILM --data glue/sst2 --to runs/real         # → real.csv

`train` is a real run, in which every candidate is measured on its way, and goes on: `--stop-early last:0.4/1`. `replay` lets
searches draw these trainings in many orders, at equal time, and stop them or not. `real` has runs of the same candidates,
one of which stops none of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
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
#: Of the real runs: candidates, and which share of the layers' parameters a network may have.
REAL, LEVELS = 24, (0.3, 0.5, 1.0)
#: Enough for all candidates, each of which may go on; by the last value for those, too, that saved epochs pay for.
TRIALS = {"none": REAL, "last": 3 * REAL, "svr": 2 * REAL}


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
    ways = [f"random+{one}:{few}/{keep}" for one in ("last", "wpm", "svr", "gp") for few in SHARES for keep in KEEPS]
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


def real(
    model: str, data: str, to: Path, device: str, examples: int, epochs: int, seed: int, stop_early: Sequence[str]
) -> None:
    """Runs of the same random candidates: one that stops none of them, and one for each way to stop. What each had found when
    the first REAL candidates were done, and what the one that stops by the last value had found in as many epochs as the
    first took. Each part of a training is a trial there."""
    given: dict[str, Any] = {"method": "standard", "searcher": "random", "trial_epochs": epochs, "aimed": 0.0, "seed": seed}
    given |= {"epochs": 2, "polish": False, "measure": False, "max_train": examples, "max_validation": 400, "max_test": 100}
    given |= {"max_length": 64, "device": device}
    which = {"task": Path(data).name, "examples": examples, "epochs of each": epochs, "seed": seed}
    candidates: list[str] = []
    spent = 0.0
    for way in ("none", *stop_early):
        folder = to / f"{Path(data).name}-{examples}-{epochs}-{seed}-{way}"
        if (folder / "config.yaml").exists():
            run = secateur.resume(folder, progress=False)
        else:
            early = {} if way == "none" else {"stop_early": way}
            run = secateur.prune(model, data, **given, **early, trials=TRIALS[way], to=folder, progress=False)
        found = list(done(run.trials, epochs))
        ends = {way: [one for one in found if one["candidate"] < REAL]}
        if way == "none":
            candidates, spent = [one["key"] for one in found], sum(one["epochs"] for one in found)
        assert [one["key"] for one in ends[way] if one["begins"]] == candidates
        if way == "last":
            if found[-1]["epochs so far"] < spent:
                print(f"The run that stops ended after {found[-1]['epochs so far']:g} of {spent:g} epochs.")
            else:
                ends["last, as many epochs"] = [one for one in found if one["epochs so far"] <= spent]
        whole = run.unpruned["body_parameters"]
        rows = [{**which, "stopping": name, **_summary(some, whole)} for name, some in ends.items()]
        replace_rows(HERE / "real.csv", rows, (*which, "stopping"))


def done(trials: Sequence[Any], epochs: float) -> Iterator[dict[str, Any]]:
    """What each trial of a run took and found, in their order: of a candidate that is stopped there is one, without an error;
    of one that goes on a second, which took the rest of its epochs."""
    number: dict[int, int] = {}
    budgets = {trial.id: float(epochs) if trial.budget is None else trial.budget for trial in trials}
    total = 0.0
    for trial in sorted((trial for trial in trials if trial.complete), key=lambda trial: trial.id):
        begins = trial.continues is None
        number[trial.id] = len(set(number.values())) if begins else number[trial.continues]
        took = budgets[trial.id] - (0.0 if begins else budgets[trial.continues])
        total += took
        yield {
            "candidate": number[trial.id],
            "key": trial.architecture.key,
            "begins": begins,
            "epochs": took,
            "epochs so far": total,
            "body_parameters": trial.values["body_parameters"],
            "error": trial.values["error"] if budgets[trial.id] == epochs else None,
        }


def _summary(some: Sequence[Mapping[str, Any]], whole: float) -> dict[str, Any]:
    ended = [one for one in some if one["error"] is not None]
    row: dict[str, Any] = {"candidates": sum(one["begins"] for one in some), "whole trainings": len(ended)}
    row["epochs"] = round(sum(one["epochs"] for one in some), 2)
    for level in LEVELS:
        best = [one["error"] for one in ended if one["body_parameters"] <= level * whole]
        row[f"error, {level:.0%}"] = round(min(best), 4) if best else ""
    return row


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("searcher", "simulated_seconds", "seeds", "regret", "regret_error", "rank")}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(required=True, dest="verb")
    for name in ("train", "real"):
        one = verbs.add_parser(name)
        one.add_argument("--model", required=True)
        one.add_argument("--data", required=True)
        one.add_argument("--to", type=Path, required=True)
        one.add_argument("--device", default="cpu")
        if name == "real":
            one.add_argument("--examples", type=int, default=1500)
            one.add_argument("--epochs", type=int, default=EPOCHS)
            one.add_argument("--seed", type=int, default=0)
            one.add_argument("--stop-early", nargs="+", default=["last", "svr"], choices=["last", "svr"])
    verbs.add_parser("replay").add_argument("folder", type=Path)
    asked = vars(parser.parse_args())
    {"train": train, "replay": replay, "real": real}[asked.pop("verb")](**asked)
