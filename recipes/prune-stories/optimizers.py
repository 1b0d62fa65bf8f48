"""What saving memory costs: stories15M healed, and its super-network trained, by each optimiser and by low-rank additions.

    python optimizers.py MODEL CORPUS [--steps 64] [--seed 0]     # optimizers.csv; rows that are there are not computed again

Healing: the network cut to 60 % of its layers' parameters by activations, taught by the unpruned one. Super-network: the same
blocks, the strategy `full`, at the rate at which the optimiser healed best; scored are the whole network and the largest
network of `small` within 60 %. Everything is scored on validation text. Bytes: gradients and the optimiser's states at the
peak of a step, counted on the meta device.
"""

from __future__ import annotations

import argparse
import copy
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from cut import shapes  # noqa: E402
from rows import is_known, replace_rows, rows_of  # noqa: E402
from run import BATCH, LENGTH  # noqa: E402

OPTIMIZERS, SHARE = HERE / "optimizers.csv", 0.6
#: What is compared, with the learning rates that each may choose from.
TRIED: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
    "adamw": ({}, (3e-4, 1e-4)),
    "adamw-8bit": ({"optimizer": "adamw-8bit"}, (3e-4, 1e-4)),
    "adafactor": ({"optimizer": "adafactor"}, (3e-4, 1e-4)),
    "lora-16": ({"lora_rank": 16}, (3e-3, 1e-3)),
}
HEALING, SUPERNET = "healing", "super-network"


def held(network: Any, settings: Any) -> int:
    """Bytes of gradients and states at the peak of a step."""
    from secateur.devices.training_memory import step_memory
    from secateur.supernet import Supernet
    from secateur.training.strategies import Draw

    found = step_memory(Supernet(copy.deepcopy(network).to("meta")), [Draw()], LENGTH, "language_modelling", settings)
    return found.gradients + found.states


def best_rate(name: str, steps: int, seed: int) -> float:
    """The learning rate of the lowest perplexity after healing."""
    same = {"training": HEALING, "by": name, "steps": str(steps), "seed": str(seed)}
    found = [row for row in rows_of(OPTIMIZERS) if all(row[key] == value for key, value in same.items())]
    return float(min(found, key=lambda row: float(row["slice"]))["rate"])


def trained(training: str, whole: Any, plan: Any, data: Any, settings: Any, strategy: Any) -> dict[str, float]:
    """Validation perplexities after a training: of what was healed, or of the whole super-network and of its slice."""
    from secateur.estimators.shared_weights import score
    from secateur.supernet import Supernet
    from secateur.training.fine_tune import fine_tune
    from secateur.training.trainer import train_supernet

    def perplexity(network: Any) -> float:
        return score(network, data.task, data.batches("validation", BATCH))["perplexity"]

    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        if training == HEALING:
            student = whole.extract(plan)
            fine_tune(student, data, settings, Path(folder), teacher=whole.model)
            return {"slice": perplexity(student), "whole": "", "cpu_seconds": time.process_time() - began}
        supernet = Supernet(copy.deepcopy(whole.model))
        train_supernet(supernet, strategy, data, settings, Path(folder))
    spent = time.process_time() - began
    return {"slice": perplexity(supernet.extract(plan)), "whole": perplexity(supernet.model), "cpu_seconds": spent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    from transformers.utils import logging

    from secateur.checkpoints.pretrained import load_model
    from secateur.checkpoints.tokenizers import tokenizer_of
    from secateur.methods.minitron.activations import activation_importance
    from secateur.spaces.pruning import Small
    from secateur.spaces.pruning.sizes import largest_below
    from secateur.supernet import Supernet
    from secateur.tasks import load_task
    from secateur.training.settings import TrainingSettings
    from secateur.training.strategies import Full

    logging.set_verbosity_error()
    given: dict[str, Any] = {"text": "text", "kind": "language_modelling", "separator": "bos", "max_length": LENGTH}
    given |= {"max_train": args.steps * BATCH, "max_validation": 64, "seed": args.seed}
    data = load_task(args.corpus, tokenizer_of(str(args.model)), **given)
    whole = Supernet(load_model(str(args.model), data, seed=args.seed, device="cpu"))
    scores = activation_importance(whole, list(data.batches(data.train[:128], BATCH)))
    space = Small(whole.shape)
    body = whole.body_parameters(whole.whole)

    def line(at: float) -> Any:
        heads, units = (max(1, round(at * count)) for count in (whole.shape.heads, whole.shape.units))
        return space.make({"heads": heads, "units": units, "layers": whole.shape.layers})

    uniform = space.plan(largest_below(space, line, whole.body_parameters, SHARE * body))
    for training in (HEALING, SUPERNET):
        plan = shapes(whole, scores, SHARE) if training == HEALING else uniform
        for name, (changes, rates) in TRIED.items():
            if training == SUPERNET and "lora_rank" in changes:
                continue  # its factors would have to be sliced with every sub-network
            for rate in rates if training == HEALING else [best_rate(name, args.steps, args.seed)]:
                about = {"training": training, "by": name, "rate": f"{rate:g}", "steps": args.steps, "seed": args.seed}
                if is_known(OPTIMIZERS, **about):
                    continue
                settings = TrainingSettings(
                    epochs=1.0, learning_rate=rate, batch_size=BATCH, temperature=1.0, checkpoints=0, seed=args.seed, **changes
                )
                network = whole.extract(plan) if training == HEALING else whole.model
                row = about | {"bytes": held(network, settings)}
                row |= trained(training, whole, plan, data, settings, Full(space, k=2))
                replace_rows(OPTIMIZERS, [row], tuple(about))
                print(row, flush=True)


if __name__ == "__main__":
    main()
