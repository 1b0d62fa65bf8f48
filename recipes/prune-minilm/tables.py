"""The tables of README.md, from scores.csv: means over the seeds with their standard errors.

python tables.py            # print them
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from pathlib import Path

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
}
TASKS = {"stsb": "STS-B (Spearman)", "sst2": "SST-2, 20,000 sentences (accuracy)", "mrpc": "MRPC (accuracy)"}
#: The learning rate that `--preset default` takes on each task: the rule is in secateur/training/settings.py.
CHOSEN = {"stsb": "default-1e-4", "mrpc": "default-1e-4", "sst2": "default-5e-5"}

#: Layer dropping as it was first tried, and with as many epochs as all our stages together, at three learning rates.
DROPPING = ("layer-dropping", "layer-dropping-12-5e-5", "layer-dropping-12-1e-4", "layer-dropping-12-2e-4")
#: What is set side by side: our share of the layers' parameters, and the nearest number of layers.
BESIDE = (("0.2", "0.167"), ("0.3", "0.333"), ("0.5", "0.5"), ("0.7", "0.667"))

Key = tuple[str, str, str, bool]


def scores(column: str = "test") -> dict[Key, list[float]]:
    """(task, method, share, polished) → scores of the seeds on test (or validation) data."""
    found: dict[Key, list[float]] = defaultdict(list)
    with (HERE / "scores.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row[column]:
                found[row["task"], row["method"], row["share"], row["polished"] == "1"].append(float(row[column]))
    return dict(found)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def standard_error(values: list[float]) -> float:
    if len(values) < 2:
        return math.nan
    centre = mean(values)
    return math.sqrt(sum((v - centre) ** 2 for v in values) / (len(values) - 1) / len(values))


def cell(values: list[float] | None) -> str:
    if not values:
        return ""
    error = standard_error(values)
    return f"{mean(values):.3f}" + ("" if math.isnan(error) else f" ± {error:.3f}")


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
            name = f"… + polishing{' (**the default preset**)' if CHOSEN[task] == method else ''}" if polished else title
            lines.append(f"| {name} | {' | '.join(cells)} | {last} |")
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
        ours = [f"**{mean(found[task, CHOSEN[task], share, True]):.3f}**" for share, _ in BESIDE]
        theirs = [f"{mean(dropped(task, share)):.3f}" for _, share in BESIDE]
        lines += [f"| {title}: Secateur | {' | '.join(ours)} | {ends} |", f"| layer dropping | {' | '.join(theirs)} | | |"]
    return "\n".join(lines)


def above_chance() -> str:
    """What the default preset keeps of what the unpruned network learned above chance, in per cent."""
    found = scores()
    lines = ["| share of what was learned above chance | 10 % | 20 % | 30 % | 50 % | 70 % |", "|---|---|---|---|---|---|"]
    for task, title in TASKS.items():
        chance = found[task, "chance", "none", False][0]
        learned = best_unpruned(task) - chance
        cells = [f"{100 * (mean(found[task, CHOSEN[task], s, True]) - chance) / learned:.0f} %" for s in SHARES]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def retained() -> str:
    """What the default preset keeps of the unpruned score, in per cent. Unpruned: the better of the two ways to train it."""
    found = scores()
    lines = ["| share of the unpruned score | 10 % | 20 % | 30 % | 50 % | 70 % |", "|---|---|---|---|---|---|"]
    for task, title in TASKS.items():
        cells = [f"{100 * mean(found[task, CHOSEN[task], s, True]) / best_unpruned(task):.1f} %" for s in SHARES]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def best_unpruned(task: str) -> float:
    """The unpruned network's mean score: on its own, or as the whole of the trained super-network if that is better."""
    found = scores()
    return max(mean(found[task, method, "unpruned", False]) for method in ("unpruned", "standard", CHOSEN[task]))


def everything() -> str:
    return "\n\n".join([beside(), retained(), above_chance(), *(table(task) for task in TASKS), layer_dropping()])


if __name__ == "__main__":
    print(everything())
