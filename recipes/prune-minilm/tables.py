"""The tables of README.md, from scores.csv: means over the seeds with their standard errors.

python tables.py                      # print them
python tables.py --add scores.jsonl   # first take in what experiment.py or preset.py wrote
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from functools import cache
from pathlib import Path

from scipy.stats import sem

HERE = Path(__file__).resolve().parent
SHARES = ("0.1", "0.2", "0.3", "0.5", "0.7")
TITLES = {
    "standard": "standard",
    "random": "random",
    "random-linear": "random-linear",
    "sandwich": "sandwich",
    "kd": "kd",
    "full": "full",
    "klein2024": "the paper's settings: batch 4, 2e-5 (one seed)",
    "ordered": "full + ordering",
    "default-1e-4": "full + ordering, 8 epochs, 1e-4",
    "default-5e-5": "full + ordering, 8 epochs, 5e-5",
    "default-7e-5": "full + ordering, 8 epochs, 7e-5",
    "preset-1e-4": "`secateur prune --learning-rate 1e-4`",
    "preset-5e-5": "`secateur prune --learning-rate 5e-5`",
    "preset-2e-4": "`secateur prune --learning-rate 2e-4` (one seed)",
    "preset": "`secateur prune` as it is now (five seeds)",
}
GTE = {"stsb": "gte-small, STS-B (Spearman)", "mrpc": "gte-small, MRPC (accuracy)"}
TASKS = {"stsb": "STS-B (Spearman)", "sst2": "SST-2, 20,000 sentences (accuracy)", "mrpc": "MRPC (accuracy)"}
#: `secateur prune` as it is now: its rows stand with those of all other methods.
DEFAULT, METHODS = "preset", HERE.parent / "prune-methods" / "methods.csv"
#: The learning rate that it takes on each task: the better of two on validation data (`chosen`), in runs of an earlier version.
CHOSEN = {"stsb": "preset-1e-4", "mrpc": "preset-1e-4", "sst2": "preset-5e-5"}
PRESETS = ("preset-5e-5", "preset-1e-4", "preset-2e-4")
COLUMNS = (
    "task",
    "method",
    "seed",
    "share",
    "polished",
    "metric",
    "test",
    "validation",
    "share_used",
    "heads",
    "units",
    "layers",
)

#: Layer dropping as it was first tried, and with as many epochs as all our stages together, at three learning rates.
DROPPING = ("layer-dropping", "layer-dropping-12-5e-5", "layer-dropping-12-1e-4", "layer-dropping-12-2e-4")
#: What is set side by side: our share of the layers' parameters, and the nearest number of layers.
BESIDE = (("0.2", "0.167"), ("0.3", "0.333"), ("0.5", "0.5"), ("0.7", "0.667"))

Key = tuple[str, str, str, bool]


@cache
def scores(column: str = "test") -> dict[Key, list[float]]:
    """(task, method, share, polished) → scores of the seeds on test (or validation) data."""
    found: dict[Key, list[float]] = defaultdict(list)
    with (HERE / "scores.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row[column]:
                found[row["task"], row["method"], row["share"], row["polished"] == "1"].append(float(row[column]))
    with METHODS.open(newline="") as file:
        for row in csv.DictReader(file):
            method, _, bare = row["method"].partition(", ")
            if (row["model"], method) == ("minilm", "weight-sharing") and row["task"] in TASKS and row[column]:
                polished = not bare and row["share"] != "unpruned"
                found[row["task"], DEFAULT, row["share"], polished].append(float(row[column]))
    return dict(found)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def cell(values: list[float] | None) -> str:
    if not values:
        return ""
    return f"{mean(values):.3f}" + (f" ± {sem(values):.3f}" if len(values) > 1 else "")


def table(task: str) -> str:
    """One task: methods × shares of the encoder's parameters."""
    found = scores()
    lines = [f"### {TASKS[task]}", "", "| | 10 % | 20 % | 30 % | 50 % | 70 % | whole |", "|---|---|---|---|---|---|---|"]
    whole = cell(found.get((task, "unpruned", "unpruned", False)))
    lines.append(f"| unpruned, fine-tuned for 8 epochs at 1e-4 | | | | | | {whole} |")
    for method, title in TITLES.items():
        for polished in (False, True):
            cells = [cell(found.get((task, method, share, polished))) for share in SHARES]
            if not any(cells):
                continue
            last = "" if polished else cell(found.get((task, method, "unpruned", False)))
            name = f"… + polishing{' (**the default**)' if method == DEFAULT else ''}" if polished else title
            lines.append(f"| {name} | {' | '.join(cells)} | {last} |")
    return "\n".join(lines)


def validated(task: str, method: str, seed: int | None = None) -> float:
    """The mean validation score of the polished networks at all shares: what learning rates are chosen by."""
    found = scores("validation")
    rows = [found[task, method, share, True] for share in SHARES]
    return mean([mean(row) if seed is None else row[seed] for row in rows])


def chosen(task: str) -> str:
    """The learning rate that validates best, of those with three seeds."""
    return max(PRESETS[:2], key=lambda method: validated(task, method))


def rates() -> str:
    """Learning rates by validation scores: the mean of three seeds, and the first seed of all."""
    lines = [
        "| validation, mean of five shares | 5e-5 | 1e-4 | 5e-5, seed 0 | 1e-4, seed 0 | 2e-4, seed 0 |",
        "|---|" + "---|" * 5,
    ]
    for task, title in TASKS.items():
        cells = [f"{validated(task, method):.4f}" for method in PRESETS[:2]]
        cells += [f"{validated(task, method, 0):.4f}" for method in PRESETS]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    for task, title in GTE.items():
        cells = [f"{validated(task, f'gte-{method}', 0):.4f}" for method in PRESETS]
        lines.append(f"| {title} | | | {' | '.join(cells)} |")
    return "\n".join(lines)


def gte() -> str:
    """gte-small, one seed: what the default keeps of it."""
    found = scores()
    lines = ["| gte-small (12 layers), one seed | 10 % | 20 % | 30 % | 50 % | 70 % | whole |", "|---|" + "---|" * 6]
    for task, title in GTE.items():
        for method in PRESETS:
            cells = [f"{found[task, f'gte-{method}', share, True][0]:.3f}" for share in SHARES]
            cells.append(f"{found[task, f'gte-{method}', 'unpruned', False][0]:.3f}")
            lines.append(f"| {title}, {method.removeprefix('preset-')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def dropped(task: str, share: str) -> list[float]:
    """Layer dropping's test scores, with the epochs and learning rate that validate best at this number of layers."""
    validated, tested = scores("validation"), scores()
    known = [method for method in DROPPING if (task, method, share, False) in validated]
    return tested[task, max(known, key=lambda method: mean(validated[task, method, share, False])), share, False]


def layer_dropping() -> str:
    """The first n layers, fine-tuned: shares are n sixths."""
    found = scores()
    shares = sorted({share for _, method, share, _ in found if method == "layer-dropping"}, key=float)
    head = " | ".join(f"{n} layer{'s' if n > 1 else ''} ({float(s):.0%})" for n, s in enumerate(shares, 1))
    lines = [f"| layer dropping | {head} |", "|---|" + "---|" * len(shares)]
    for task, title in TASKS.items():
        for method in DROPPING:
            rate = method.removeprefix("layer-dropping-12-")
            how = "5 epochs at 5e-5" if method == "layer-dropping" else f"12 epochs at {rate}"
            cells = [cell(found.get((task, method, s, False))) for s in shares]
            lines.append(f"| {title}, {how} | {' | '.join(cells)} |")
        lines.append(f"| **{title}, chosen on validation data** | {' | '.join(cell(dropped(task, s)) for s in shares)} |")
    return "\n".join(lines)


def beside() -> str:
    """The default preset beside layer dropping, chance and the unpruned network: test scores."""
    found = scores()
    head = " | ".join(f"{100 * float(ours):.0f} %" for ours, _ in BESIDE)
    lines = [f"| | {head} | unpruned | chance |", "|---|" + "---|" * (len(BESIDE) + 2)]
    for task, title in TASKS.items():
        ends = f"{best_unpruned(task):.3f} | {found[task, 'chance', 'none', False][0]:.3f}"
        pairs = [(mean(found[task, DEFAULT, a, True]), mean(dropped(task, b))) for a, b in BESIDE]
        ours, theirs = ([_best(p[i], max(p)) for p in pairs] for i in range(2))
        lines += [f"| {title}: Secateur | {' | '.join(ours)} | {ends} |", f"| layer dropping | {' | '.join(theirs)} | | |"]
    return "\n".join(lines)


def _best(value: float, best: float) -> str:
    return f"**{value:.3f}**" if f"{value:.3f}" == f"{best:.3f}" else f"{value:.3f}"


def above_chance() -> str:
    """What the default preset keeps of what the unpruned network learned above chance, in per cent."""
    found = scores()
    lines = ["| share of what was learned above chance | 10 % | 20 % | 30 % | 50 % | 70 % |", "|---|---|---|---|---|---|"]
    for task, title in TASKS.items():
        chance = found[task, "chance", "none", False][0]
        learned = best_unpruned(task) - chance
        cells = [f"{100 * (mean(found[task, DEFAULT, s, True]) - chance) / learned:.0f} %" for s in SHARES]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def retained() -> str:
    """What the default preset keeps of the unpruned score, in per cent. Unpruned: the better of the two ways to train it."""
    found = scores()
    lines = ["| share of the unpruned score | 10 % | 20 % | 30 % | 50 % | 70 % |", "|---|---|---|---|---|---|"]
    for task, title in TASKS.items():
        cells = [f"{100 * mean(found[task, DEFAULT, s, True]) / best_unpruned(task):.1f} %" for s in SHARES]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def best_unpruned(task: str) -> float:
    """The unpruned network's mean score: on its own, or as the whole of the trained super-network if that is better."""
    found = scores()
    return max(mean(found[task, method, "unpruned", False]) for method in ("unpruned", "standard", DEFAULT))


def everything() -> str:
    kept = [beside(), retained(), above_chance(), rates(), gte()]
    return "\n\n".join([*kept, *(table(task) for task in TASKS), layer_dropping()])


def add(paths: list[Path]) -> None:
    """Take rows of JSON Lines into scores.csv; of a task, method, seed, share and polish that is there, the new one counts."""
    with (HERE / "scores.csv").open(newline="") as file:
        rows = {tuple(row[name] for name in COLUMNS[:5]): row for row in csv.DictReader(file)}
    for path in paths:
        for row in map(json.loads, path.read_text().splitlines()):
            if "share" in row and "failure" not in row:
                row = {**row, **row.get("architecture", {}), "polished": int(row.get("polished", False))}
                digits = {"test": 5, "validation": 5, "share_used": 4}
                flat = {
                    n: "" if row.get(n) is None else str(round(row[n], digits[n]) if n in digits else row[n]) for n in COLUMNS
                }
                rows[tuple(flat[name] for name in COLUMNS[:5])] = flat
    with (HERE / "scores.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--add", type=Path, nargs="*", default=[])
    if given := parser.parse_args().add:
        add(given)
    print(everything())
