"""The tables of README.md on polishing and on methods.

python results.py --add polish.jsonl methods.jsonl   # what polish.py and preset.py wrote, into the tables they belong to
python results.py                                    # the tables of README.md, from the CSV files beside it
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
SHARES = ("0.1", "0.2", "0.3", "0.5", "0.7")
#: What methods are called as the search left them, and those that are shown so: the others are trained one by one.
BARE, SEARCHED = ", unpolished", ("weight-sharing", "fisher", "head-pruning", "learned-masks")
#: Methods that are polished as the default is.
RIVALS = ("fisher", "one-shot", "learned-masks")
#: What is compared in ablation.csv, in the order of the table.
LABELS = {
    "ours": "four contenders of the search",
    "teacher": "the same, taught by a network fine-tuned for 8 epochs",
    "slices": "the same, and also cut from that network instead of the super-network",
    "warm8": "8 epochs of warm-up instead of one",
    "fisher": "masks by Fisher information, of the network fine-tuned for 8 epochs",
    "fsuper": "masks by Fisher information, of the super-network (8 epochs of warm-up)",
    "weight-sharing": "**the default**: three contenders of the search, one by masks of the super-network",
    "polished-at-5e-5": "the default, polished at 5e-5",
    "polished-at-2e-4": "the default, polished at 2e-4",
}
MODELS = {"minilm": "MiniLM-L6", "gte-small": "gte-small"}
TASKS = {"stsb": "STS-B", "mrpc": "MRPC", "sst2": "SST-2", "rte": "RTE"}
POLISH = ("model", "task", "seed", "candidates", "variants", "epochs", "learning_rate", "share", "used", "validation", "test")
ABLATION = ("task", "label", "seed", "share", "used", "validation")
METHODS = ("model", "method", "task", "seed", "share", "used", "validation", "test", "weights", "seconds")

Row = dict[str, str]


def polish_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of polish.py `try`."""
    said = row["settings"]
    own = {"epochs": said["polish_epochs"], "learning_rate": said["polish_learning_rate"]}
    return {**row, **own, "candidates": said["candidates"], "variants": said.get("variants", 0)}


def method_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of preset.py. What the search chose and was not polished is a method of its own."""
    bare = not row["polished"] and row["share"] != "unpruned"
    return {"model": "minilm", **row, "used": row.get("share_used"), "method": row["method"] + BARE * bare}


def add(paths: list[Path]) -> None:
    """Take rows into the tables; one that is there already is replaced."""
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    labelled = [row for row in rows if "label" in row]
    polished = [polish_row(row) for row in rows if "settings" in row and "label" not in row]
    methods = [method_row(row) for row in rows if "method" in row and "failure" not in row]
    methods = [row for row in methods if not row["method"].endswith(BARE) or row["method"].removesuffix(BARE) in SEARCHED]
    tables = (("polish", POLISH, 8, polished), ("ablation", ABLATION, 4, labelled), ("methods", METHODS, 5, methods))
    for name, columns, key, new in tables:
        kept = {tuple(row[c] for c in columns[:key]): row for row in read(name)}
        for row in new:
            text = {column: _text(row.get(column)) for column in columns}
            kept[tuple(text[c] for c in columns[:key])] = text
        with (HERE / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept[k] for k in sorted(kept))


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


def read(name: str) -> list[Row]:
    path = HERE / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def means(rows: list[Row], by: tuple[str, ...], value: str) -> dict[tuple[str, ...], dict[str, list[float]]]:
    """Groups of rows → share → values, one for each seed."""
    found: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row[value]:
            found[tuple(row[name] for name in by)][row["share"]].append(float(row[value]))
    return found


def polishing() -> str:
    """Validation scores after polishing, by settings."""
    lines = _header("task", "seeds", "contenders", "variants", "epochs", "learning rate", *map(_percent, SHARES))
    names = ("task", "candidates", "variants", "epochs", "learning_rate")
    found = means(read("polish"), names, "validation")
    order = sorted(found, key=lambda key: (list(TASKS).index(key[0]), *map(float, key[1:])))
    for key in order:
        cells = [f"{np.mean(found[key][share]):.4f}" if found[key].get(share) else "–" for share in SHARES]
        task, candidates, variants, epochs, rate = key
        seeds = len(found[key][SHARES[0]])
        lines.append(f"| {TASKS[task]} | {seeds} | {candidates} | {variants} | {epochs} | {rate} | {' | '.join(cells)} |")
    return "\n".join(lines)


def ablation() -> str:
    """Validation scores after polishing, by where its networks come from and how they are polished."""
    lines = _header("task", "what begins", "seeds", *map(_percent, SHARES))
    for (task, label), values in ablated().items():
        cells = [f"{np.mean(values[share]):.4f}" for share in SHARES]
        lines.append(f"| {TASKS[task]} | {LABELS[label]} | {len(values[SHARES[0]])} | {' | '.join(cells)} |")
    return "\n".join(lines)


def ablated() -> dict[tuple[str, ...], dict[str, list[float]]]:
    """(task, label) → share → validation scores; the default's are those of the same seeds."""
    rows = read("ablation")
    seeds = {(row["task"], row["seed"]) for row in rows}
    default = [{**row, "label": row["method"]} for row in compared() if row["method"] == "weight-sharing"]
    found = means([*rows, *(row for row in default if (row["task"], row["seed"]) in seeds)], ("task", "label"), "validation")
    return {(task, label): found[task, label] for task in TASKS for label in LABELS if (task, label) in found}


def compared(model: str = "minilm") -> list[Row]:
    """The rows of methods.csv of one model."""
    return [row for row in read("methods") if row["model"] == model]


def methods(score: str) -> str:
    """Scores of each method at shares of the body's parameters, means and standard errors over seeds. The best is bold."""
    return "\n\n".join(_methods(model, score) for model in MODELS if compared(model))


def _methods(model: str, score: str) -> str:
    shares = [*SHARES, "0.9"]
    lines = _header(MODELS[model], "method", "seeds", *map(_percent, shares), "unpruned")
    found = means(compared(model), ("task", "method"), score)
    for task in TASKS:
        several = {method: values for (of, method), values in found.items() if of == task}
        best = {
            share: max((round(float(np.mean(v[share])), 3) for v in several.values() if v.get(share)), default=0.0)
            for share in shares
        }
        for method in sorted(several, key=lambda name: (name != "weight-sharing", name)):
            values = several[method]
            cells = [_cell(values.get(share), best.get(share)) for share in (*shares, "unpruned")]
            lines.append(f"| {TASKS[task]} | {method} | {max(map(len, values.values()))} | {' | '.join(cells)} |")
    return "\n".join(lines)


def gains() -> str:
    """The default's lead over the methods that are polished in the same way: means and standard errors over common seeds."""
    lines = _header("MiniLM-L6, validation", "the default against", "seeds", *map(_percent, SHARES))
    for (task, rival), leads in differences("validation").items():
        cells = [f"{np.mean(v):+.3f} ± {np.std(v, ddof=1) / np.sqrt(len(v)):.3f}" for v in leads.values()]
        lines.append(f"| {TASKS[task]} | {rival} | {len(leads[SHARES[0]])} | {' | '.join(cells)} |")
    return "\n".join(lines)


def differences(score: str) -> dict[tuple[str, str], dict[str, list[float]]]:
    """(task, rival) → share → what the default has more than a rival that is polished too, seed by seed."""
    found = {(r["task"], r["method"], r["share"], r["seed"]): float(r[score]) for r in compared() if r[score]}

    def leads(task: str, rival: str, share: str) -> list[float]:
        seeds = [seed for *key, seed in found if key == [task, rival, share]]
        return [found[task, "weight-sharing", share, seed] - found[task, rival, share, seed] for seed in seeds]

    each = [(task, rival) for task in TASKS for rival in RIVALS if any(key[:2] == (task, rival) for key in found)]
    return {(task, rival): {s: leads(task, rival, s) for s in SHARES} for task, rival in each}


def searchers() -> str:
    """Regret in hypervolume of the searches on tables, means ± standard errors over seeds; the lowest is bold."""
    rows = read("searchers")
    at = sorted({int(row["queries"]) for row in rows})
    found = {(r["table"], r["searcher"], int(r["queries"])): r for r in rows}
    lines = _header("table", "searcher", *(f"{queries} queries" for queries in at), "per proposal")
    for table in dict.fromkeys(row["table"] for row in rows):
        several = list(dict.fromkeys(row["searcher"] for row in rows if row["table"] == table))
        least = {q: min(float(found[table, s, q]["regret"]) for s in several) for q in at}
        for searcher in several:
            here = [found[table, searcher, queries] for queries in at]
            cells = [_regret(row, least[int(row["queries"])]) for row in here]
            lines.append(f"| {table} | {searcher} | {' | '.join(cells)} | {1000 * float(here[0]['seconds']):.1f} ms |")
    return "\n".join(lines)


def _regret(row: Row, least: float) -> str:
    value = f"{float(row['regret']):.3f}"
    return f"{f'**{value}**' if value == f'{least:.3f}' else value} ± {float(row['regret_error']):.3f}"


def _header(*titles: str) -> list[str]:
    return [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]


def _percent(share: str) -> str:
    return f"{100 * float(share):.0f} %"


def _cell(values: list[float] | None, best: float | None) -> str:
    if not values:
        return "–"
    mean = f"{np.mean(values):.3f}"
    mean = f"**{mean}**" if best is not None and float(mean) == best else mean
    return mean if len(values) < 2 else f"{mean} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--add", nargs="+", type=Path, default=[])
    args = parser.parse_args()
    if args.add:
        add(args.add)
    print("\n\n".join([polishing(), ablation(), methods("validation"), methods("test"), gains(), searchers()]))


if __name__ == "__main__":
    main()
