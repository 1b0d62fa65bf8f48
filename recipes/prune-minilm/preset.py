"""One run of `secateur prune` as a user starts it, and its scores at shares of the body's parameters, as rows for scores.csv.

    python preset.py --model MINILM --data GLUE_FOLDER --task stsb --seed 0 --learning-rate 1e-4 --out scores.jsonl

A row that is `polished` is what `run.front.best(under=…)` hands over; one that is not is the search's own choice, on shared
weights. With `--errors`, a further row has the validation errors of all networks of a grid, for searchers.py. `grid.py` runs
many side by side.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from experiment import SHARES, cut


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "data", "task", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learning-rate", type=float, default=None)
    parser.add_argument("--change", default="{}", help="JSON of settings that differ from the preset's")
    parser.add_argument("--name", default=None, help="what to call the result")
    parser.add_argument("--errors", action="store_true", help="also the errors of all networks of a grid")
    args = parser.parse_args()
    rate = "" if args.learning_rate is None else f"-{args.learning_rate:.0e}".replace("-0", "-")
    args.name = args.name or f"preset{rate}"

    import torch
    from errors import all_errors
    from transformers.utils import logging

    import secateur
    from secateur.errors import BoundError

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(1 if torch.cuda.is_available() else 2)
    torch.backends.cuda.matmul.allow_tf32 = True
    began = time.time()

    def append(**row: Any) -> None:
        known = {"task": args.task, "seed": args.seed, "method": args.name}
        with open(args.out, "a") as file:
            file.write(json.dumps({**known, **row, "seconds": round(time.time() - began, 1)}) + "\n")

    with tempfile.TemporaryDirectory() as scratch:
        run = secateur.prune(
            args.model,
            Path(args.data) / args.task,
            seed=args.seed,
            to=Path(scratch) / "run",
            learning_rate=args.learning_rate,
            evaluation_batch=1024,
            measure=False,
            progress=False,
            **cut(args.task),
            **json.loads(args.change),
        )
        whole = run.unpruned["body_parameters"]

        def write(share: float | str, polished: bool, member: Any, test: float | None) -> None:
            values = {"validation": 1 - member.values["error"], "share_used": member.values["body_parameters"] / whole}
            append(
                share=share, polished=polished, metric=run.metric, test=test, architecture=dict(member.architecture.choices),
                weights=member.weights, **values,
            )  # fmt: skip

        append(
            share="unpruned", polished=False, metric=run.metric, test=1 - run.unpruned_test["error"],
            validation=1 - run.unpruned["error"], share_used=1.0,
        )  # fmt: skip
        for share in SHARES:
            bound = {"body_parameters": share * whole}
            try:
                searched, final = run.searched.best(under=bound), run.front.best(under=bound)
            except BoundError as none:
                append(share=share, failure=str(none))
                continue
            shared = run.tests.get(searched.key)
            write(share, False, searched, 1 - shared["error"] if shared else None)
            write(share, True, final, 1 - final.test["error"] if final.test else None)
        if args.errors:
            supernet = run.supernet
            supernet.model.to("cuda" if torch.cuda.is_available() else "cpu")
            append(errors=all_errors(supernet, run.configuration.task_data(run.tokenizer)))


if __name__ == "__main__":
    main()
