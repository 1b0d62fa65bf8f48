"""How well the block zoo ranks sub-networks, beside shared weights and parameters: scores against errors after fine-tuning.

    python rank.py --model MINILM --data GLUE_FOLDER --work FOLDER --task stsb    # → rank-stsb.csv, a row for each network

Half of the networks are drawn from `small`, half from `medium`; those without a layer are left out. Each is scored by proxies
of the fine-tuned and ordered network on validation data, and then its slice is fine-tuned on a part of the training data with
that network as teacher: the error on test data is the truth. Stopped, it goes on where it was. Wiring only.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prepared import HERE, Clock, Prepared, add_row, arguments, is_known, is_mine, part, prepared

NETWORKS, BATCHES = 24, (1, 5, 20)
#: The training that tells the truth.
EXAMPLES, EPOCHS, LEARNING_RATE = 320, 2.0, 1e-4


def drawn(shape: Any, count: int) -> Iterator[tuple[str, Any]]:
    """Pairs of a space and a plan, of both spaces in turn."""
    from secateur.rng import generator
    from secateur.spaces.pruning import Medium, Small

    for number in range(count):
        rng = generator(number, "rank")
        space = (Small, Medium)[number % 2](shape)
        plan = space.plan(space.sample(rng))
        while not plan.layers:
            plan = space.plan(space.sample(rng))
        yield space.name, plan


def proxies(task: Prepared, plan: Any, features: dict[int, tuple[Any, Any]], fresh: Path) -> dict[str, float]:
    """Scores, higher for worse, and the CPU seconds that each takes for a network none of whose layers is known. `features`:
    number of batches → batches, and what the teacher makes of them, which is computed once for all networks."""
    from secateur.estimators.layer_zoo.blocks import blocks_of
    from secateur.estimators.layer_zoo.distilling import squared_error
    from secateur.estimators.layer_zoo.zoo import LayerZoo
    from secateur.estimators.shared_weights import score

    validation = list(task.data.batches("validation", 64))
    row: dict[str, float] = {}

    def scored(name: str, network: Any, clock: Clock, some: Any) -> None:
        row[name] = score(network, task.data.task, some)["error"]
        row[f"{name} seconds"] = clock.seconds

    clock = Clock()
    scored("shared", task.supernet.extract(plan), clock, validation)
    for count, (some, seen) in features.items():
        zoo = LayerZoo(task.supernet, some, fresh)
        zoo.features = seen
        clock = Clock()
        network = zoo.network(plan)
        scored(f"zoo {count}", network, clock, validation)
        distilled = row[f"zoo {count} seconds"]
        if count == max(features):
            clock = Clock()
            scored("same batches", network, clock, some)
            row["same batches seconds"] += distilled - row["shared seconds"]
            blocks, layers = blocks_of(plan, task.supernet.shape.layers), network.base_model.encoder.layer
            pairs = zip(layers, blocks, strict=True)
            row["squared errors"] = sum(float(squared_error(*pair, zoo.features, 0).detach()) for pair in pairs)
            row["squared errors seconds"] = distilled - row["shared seconds"]
    return row


def truth(network: Any, few: Any, examples: Any) -> dict[str, float]:
    """The error on test data after a short fine-tuning on examples that the teacher told of, and its CPU seconds."""
    from secateur.estimators.shared_weights import score
    from secateur.training.fine_tune import fine_tune
    from secateur.training.settings import TrainingSettings

    settings = TrainingSettings(
        epochs=EPOCHS, learning_rate=LEARNING_RATE, temperature=2.0, squared_temperature=True, checkpoints=0
    )
    clock = Clock()
    with tempfile.TemporaryDirectory() as scratch:
        fine_tune(network, few, settings, Path(scratch), examples=examples)
    seconds = clock.seconds
    return {"truth": score(network, few.task, few.batches("test", 64))["error"], "truth seconds": seconds}


def main() -> None:
    from secateur.estimators.layer_zoo.features import Features, drawn_batches
    from secateur.training.teacher import told

    args = arguments(__doc__)
    table = HERE / f"rank-{args.task}.csv"
    work = Path(args.work)
    task = prepared(args.model, args.data, args.task, work)
    few = part(task.data, EXAMPLES, 0)
    examples = told(task.supernet.model, few, 64)
    drawn_ones = {count: drawn_batches(task.data, count, 0) for count in BATCHES}
    features = {count: (some, Features.of(task.supernet, some)) for count, some in drawn_ones.items()}
    whole = task.supernet.body_parameters(task.supernet.whole)
    for number, (space, plan) in enumerate(drawn(task.supernet.shape, NETWORKS)):
        if not is_mine(args.shard, number) or is_known(table, task=args.task, number=number):
            continue
        row: dict[str, Any] = {"task": args.task, "number": number, "space": space, "plan": _text(plan)}
        row["parameters"] = task.supernet.body_parameters(plan) / whole
        with tempfile.TemporaryDirectory() as fresh:  # each network pays for all of its layers
            row |= proxies(task, plan, features, Path(fresh))
        row |= truth(task.supernet.extract(plan), few, examples)
        add_row(table, row, ("task", "number"))


def _text(plan: Any) -> str:
    return " ".join(f"{p.index}:{p.heads.count}/{p.units.count}" for p in plan.layers)


if __name__ == "__main__":
    main()
