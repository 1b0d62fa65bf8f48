"""Which learning rate distils layers best: squared errors on batches that were not learnt from, and assembled networks' errors.

    python tune.py --model MINILM --data GLUE_FOLDER --work FOLDER --task stsb    # → tune-stsb.csv

On the networks that `polish.py` begins with. Errors are on validation data: no test data are touched. Wiring only.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from polish import BATCHES, shape_of
from prepared import HERE, add_row, arguments, is_known, is_mine, prepared

RATES, SIZES = (3e-4, 1e-3, 3e-3), (0.1, 0.5)


def main() -> None:
    import torch

    from secateur.estimators.layer_zoo.blocks import blocks_of
    from secateur.estimators.layer_zoo.distilling import squared_error
    from secateur.estimators.layer_zoo.features import Features, drawn_batches
    from secateur.estimators.layer_zoo.zoo import LayerZoo
    from secateur.estimators.shared_weights import score

    args = arguments(__doc__)
    table = HERE / f"tune-{args.task}.csv"
    task = prepared(args.model, args.data, args.task, Path(args.work))
    held_out = Features.of(task.supernet, list(task.data.batches("validation", 64))[:3])
    for place, rate in enumerate((0.0, *RATES)):  # 0: the slices themselves
        for share in SIZES:
            if not is_mine(args.shard, place) or is_known(table, task=args.task, rate=rate, share=share):
                continue
            plan = shape_of(task, share)
            with tempfile.TemporaryDirectory() as fresh, torch.no_grad():
                zoo = LayerZoo(task.supernet, drawn_batches(task.data, BATCHES, 0), Path(fresh), learning_rate=rate)
                network = zoo.network(plan) if rate else task.supernet.extract(plan).eval()
                blocks, layers = blocks_of(plan, task.supernet.shape.layers), network.base_model.encoder.layer
                row: dict[str, Any] = {"task": args.task, "rate": rate, "share": share}
                row["squared errors"] = sum(
                    float(squared_error(layer, block, held_out, batch)) / len(held_out)
                    for layer, block in zip(layers, blocks, strict=True)
                    for batch in range(len(held_out))
                )
                row["error"] = score(network, task.data.task, task.data.batches("validation", 64))["error"]
            add_row(table, row, ("task", "rate", "share"))


if __name__ == "__main__":
    main()
