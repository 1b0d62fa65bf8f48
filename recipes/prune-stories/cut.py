"""What importance alone is worth: stories15M cut once, by activations and by first-order Taylor scores, and not healed.

    python cut.py MODEL CORPUS [--blocks 128] [--test 64] [--seed 0]

All layers stay; of each the most important heads and units, cut by the same share, to 80, 60 and 40 % of the layers'
parameters. Both kinds of scores see the same blocks of training text. Writes cut.csv.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from rows import replace_rows  # noqa: E402
from run import BATCH, LENGTH, LEVELS  # noqa: E402

CUT = HERE / "cut.csv"


def shapes(supernet: Any, scores: Any, share: float) -> Any:
    """The widest uniform network within a share of the layers' parameters that keeps what scores highest."""
    from secateur.spaces.pruning import Large
    from secateur.spaces.pruning.sizes import largest_below

    space, shape = Large(supernet.shape), supernet.shape

    def line(at: float) -> Any:
        heads, units = (max(1, math.ceil(at * count)) for count in (shape.heads, shape.units))
        return space.from_values(scores.masks(shape.layers, heads, units).ravel())

    found = largest_below(space, line, supernet.body_parameters, share * supernet.body_parameters(supernet.whole))
    return space.plan(found)


def rows(supernet: Any, data: Any, seed: int) -> list[dict[str, Any]]:
    """A row for each kind of scores and each size."""
    from secateur.estimators.shared_weights import score
    from secateur.methods.minitron.activations import Activations, activation_importance
    from secateur.supernet import importance

    batches, test = list(data.batches("train", BATCH)), list(data.batches("test", BATCH))
    by_activations = activation_importance(supernet, batches)
    taylor = importance(supernet, batches)
    kinds = {"activations": by_activations, "Taylor": Activations(taylor.heads, taylor.units, by_activations.layers)}
    whole = supernet.body_parameters(supernet.whole)
    about = {"seed": seed, "blocks": len(data.train)}
    found = [about | {"scores": "unpruned", "level": "100%", "share": 1.0, "network": ""}]
    found[0]["perplexity"] = score(supernet.model, data.task, test)["perplexity"]
    for kind, scores in kinds.items():
        for level in LEVELS:
            plan = shapes(supernet, scores, float(level[:-1]) / 100)
            size = f"{len(plan.layers)} × ({plan.layers[0].heads.count}, {plan.layers[0].units.count})"
            row = {"scores": kind, "level": level, "share": supernet.body_parameters(plan) / whole, "network": size}
            found.append(about | row | {"perplexity": score(supernet.extract(plan), data.task, test)["perplexity"]})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--blocks", type=int, default=128, help="of training text that scores are computed on")
    parser.add_argument("--test", type=int, default=64, help="blocks of test text")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    from secateur.checkpoints.pretrained import load_model
    from secateur.checkpoints.tokenizers import tokenizer_of
    from secateur.supernet import Supernet
    from secateur.tasks import load_task

    given: dict[str, Any] = {"text": "text", "kind": "language_modelling", "separator": "bos", "max_length": LENGTH}
    given |= {"max_train": args.blocks, "max_test": args.test, "seed": args.seed}
    data = load_task(args.corpus, tokenizer_of(str(args.model)), **given)
    supernet = Supernet(load_model(str(args.model), data, seed=args.seed, device="cpu"))
    replace_rows(CUT, rows(supernet, data, args.seed), ("seed", "blocks"))


if __name__ == "__main__":
    main()
