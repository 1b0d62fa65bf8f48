"""Whether polishing that begins with the zoo's layers saves epochs: one network of each size, from its slice and from the zoo.

    python polish.py --model MINILM --data GLUE_FOLDER --work FOLDER --task stsb    # → polish-stsb.csv

The networks are those of all layers whose heads and units are cut by the same share, out of the fine-tuned and ordered
network, which also teaches. Errors are on test data, after 0, 1, 2 and 3 epochs of a training of 3. Seeds change the order of
examples and, in the zoo, which batches layers are distilled on. Stopped, it goes on where it was. Wiring only.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

from prepared import HERE, Clock, Prepared, add_row, arguments, is_known, is_mine, part, prepared

SIZES, SEEDS, BATCHES = (0.1, 0.2, 0.5), (0, 1), 20
EXAMPLES, EPOCHS, LEARNING_RATE = 640, 3, 2e-4


def shape_of(task: Prepared, share: float) -> Any:
    """The widest of all layers with at most this share of the layers' parameters."""
    from secateur.spaces.pruning import Small
    from secateur.spaces.pruning.sizes import largest_below

    space, whole = Small(task.supernet.shape), task.supernet.body_parameters(task.supernet.whole)
    heads, units, layers = (domain.members() for domain in space.domains)

    def line(at: float) -> Any:
        h, u = (known[math.ceil(at * (len(known) - 1))] for known in (heads, units))
        return space.make({"heads": h, "units": u, "layers": layers[-1]})

    return space.plan(largest_below(space, line, task.supernet.body_parameters, share * whole))


def errors(network: Any, few: Any, examples: Any, seed: int) -> dict[str, float]:
    """Epochs → error on test data."""
    from secateur.estimators.shared_weights import score
    from secateur.training.fine_tune import fine_tune
    from secateur.training.settings import TrainingSettings

    settings = TrainingSettings(
        epochs=EPOCHS, learning_rate=LEARNING_RATE, temperature=2.0, squared_temperature=True, seed=seed
    )
    found = {"epoch 0": score(network, few.task, few.batches("test", 64))["error"]}
    with tempfile.TemporaryDirectory() as scratch:
        for epoch in range(1, EPOCHS + 1):
            fine_tune(network, few, settings, Path(scratch), examples=examples, until=float(epoch))
            found[f"epoch {epoch}"] = score(network, few.task, few.batches("test", 64))["error"]
    return found


def main() -> None:
    from secateur.estimators.layer_zoo.features import drawn_batches
    from secateur.estimators.layer_zoo.zoo import LayerZoo
    from secateur.training.teacher import told

    args = arguments(__doc__)
    table = HERE / f"polish-{args.task}.csv"
    task = prepared(args.model, args.data, args.task, Path(args.work))
    few = part(task.data, EXAMPLES, 0)
    examples = told(task.supernet.model, few, 64)
    for seed in SEEDS:
        zoo = LayerZoo(task.supernet, drawn_batches(task.data, BATCHES, seed), Path(args.work) / "polish-zoo")
        for share in SIZES:
            if not is_mine(args.shard, SIZES.index(share)):
                continue
            plan = shape_of(task, share)
            for start in ("slice", "zoo"):
                if is_known(table, task=args.task, seed=seed, share=share, start=start):
                    continue
                clock = Clock()
                network = zoo.network(plan) if start == "zoo" else task.supernet.extract(plan)
                began = clock.seconds
                row: dict[str, Any] = {"task": args.task, "seed": seed, "share": share, "start": start}
                row |= {"unpruned": task.error, "start seconds": began, **errors(network, few, examples, seed)}
                row["seconds"] = clock.seconds
                add_row(table, row, ("task", "seed", "share", "start"))


if __name__ == "__main__":
    main()
