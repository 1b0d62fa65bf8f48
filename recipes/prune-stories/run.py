"""stories15M pruned to 80, 60 and 40 % of its layers' parameters: by the default method and as Minitron does it.

    python run.py MODEL CORPUS RUNS [--tokens 131072] [--rates 1e-3 3e-4 1e-4] [--seeds 0 1]

Each method reads as many tokens in training, all stages and all three sizes counted: what weight sharing spends on its
super-network, Minitron spends on healing. Both score heads and units on the training text besides. results.csv gets the rows
of each run when it ends; a run that has its rows is not run again, and one that was stopped goes on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from rows import is_known, replace_rows  # noqa: E402

RESULTS = HERE / "results.csv"
LEVELS = ("80%", "60%", "40%")
LENGTH, BATCH = 128, 8
#: Blocks of the training text that are read at most.
MOST = 1024
#: Shapes of each size that begin, and the part of all epochs after which one of them goes on.
CANDIDATES, FIRST = 2, 0.25
TRIALS = 40
COMMON: dict[str, Any] = {
    "objectives": ["perplexity", "body_parameters"],
    "kind": "language_modelling",
    "text": "text",
    "separator": "bos",
    "max_length": LENGTH,
    "batch_size": BATCH,
    "evaluation_batch": BATCH,
    "polish_at": list(LEVELS),
    "candidates": CANDIDATES,
    "temperature": 1.0,
    "measure": False,
    "progress": False,
}
#: The default method in each of its two spaces, by the names that they have in the table.
SPACES = {"weight-sharing": "small", "weight-sharing, medium": "medium"}
#: Shares of the tokens of training, in the proportions of the defaults: one epoch, eight, and four for each size.
WARM_UP, TRAINING, POLISHING = 1 / 24, 8 / 24, 15 / 24


def settings(method: str, tokens: int, rate: float, seed: int) -> dict[str, Any]:
    """What `secateur.prune` is given; `tokens` of training in all, from a text of at most as many."""
    blocks = min(tokens // LENGTH, MOST)
    epochs = tokens / LENGTH / blocks
    of_size = CANDIDATES * FIRST + (1 - FIRST)  # of the epochs of one that goes to the end
    found = COMMON | {"method": method.partition(",")[0], "seed": seed, "polish_learning_rate": rate, "max_train": blocks}
    found |= {"max_validation": max(16, blocks // 16), "max_test": max(64, blocks // 4)}
    if method == "minitron":  # distillation alone, as the paper has it
        return found | {"polish_epochs": epochs / len(LEVELS) / of_size, "label_weight": 0.0}
    return found | {
        "space": SPACES[method],
        "trials": TRIALS,
        "masks": False,
        "order_epochs": WARM_UP * epochs,
        "order_learning_rate": rate,
        "epochs": TRAINING * epochs,
        "learning_rate": rate,
        "polish_epochs": POLISHING * epochs / len(LEVELS) / of_size,
    }


def shape(layers: Sequence[Any]) -> str:
    """Layers × (heads, units): of each, or where they differ the means."""
    heads, units = [layer.heads.count for layer in layers], [layer.units.count for layer in layers]
    if len({*zip(heads, units, strict=True)}) == 1:
        return f"{len(layers)} × ({heads[0]}, {units[0]})"
    return f"{len(layers)} × (≈ {sum(heads) / len(heads):.1f}, ≈ {sum(units) / len(units):.0f})"


def rows(run: Any, about: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each size, and one of the unpruned network as the run left it."""
    whole = run.unpruned
    about = about | {"trials": sum(trial.id is not None for trial in run.trials)}
    found = [about | {"level": "unpruned", "share": 1.0, "network": "", "cut": "", "validation": whole["perplexity"]}]
    found[0] |= {"test": run.unpruned_test["perplexity"]}
    for level in LEVELS:
        pool = [m for m in run.front.pool if m.polished is not None]
        within = [m for m in pool if m.values["body_parameters"] <= float(level[:-1]) / 100 * whole["body_parameters"]]
        best = min(within, key=lambda m: m.values["perplexity"])
        row = {"level": level, "share": best.values["body_parameters"] / whole["body_parameters"]}
        row["network"] = shape(best.plan.layers)
        row |= {"cut": best.trial.values["perplexity"], "validation": best.values["perplexity"]}
        found.append(about | row | {"test": best.test["perplexity"]})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--tokens", type=int, default=131_072, help="of training, in each run")
    parser.add_argument("--rates", type=float, nargs="+", default=(1e-3, 3e-4, 1e-4))
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1))
    parser.add_argument("--methods", nargs="+", default=("minitron", *SPACES), choices=("minitron", *SPACES))
    args = parser.parse_args()

    import secateur
    from secateur.verbs.resume import resume

    for seed in args.seeds:
        for rate in args.rates:
            for method in args.methods:
                about = {"method": method, "tokens": args.tokens, "rate": f"{rate:g}", "seed": seed}
                if is_known(RESULTS, **about):
                    continue
                folder = args.runs / "-".join(str(value).replace(", ", "-") for value in about.values())
                if folder.exists():
                    run = resume(folder, progress=False)
                else:
                    chosen = settings(method, args.tokens, rate, seed)
                    run = secateur.prune(str(args.model), str(args.corpus), to=folder, **chosen)
                replace_rows(RESULTS, rows(run, about), ("method", "tokens", "rate", "seed", "level"))
                print(folder, flush=True)


if __name__ == "__main__":
    main()
