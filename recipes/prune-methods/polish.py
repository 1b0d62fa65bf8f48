"""How to polish: one run of `secateur prune` up to its search, then its best sub-networks polished under several settings.

    python polish.py make --model MINILM --data GLUE_FOLDER --task mrpc --seed 0 --kept FOLDER
    python polish.py try --kept FOLDER --task mrpc --seed 0 --out polish.jsonl --change '{"polish_epochs": 10.0}'

`try` waits for its run, copies it, polishes as `secateur prune` does, and writes a row for each size: validation and test score
of what `run.front.best(under=…)` hands over. Settings are chosen on the validation scores. `--teacher` and `--slices` name
another run of the same task and seed: its network teaches, or the sub-networks are cut from it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "prune-minilm"))
from experiment import SHARES, cut


def make(args: argparse.Namespace) -> None:
    """The run, stopped where polishing would begin."""
    import secateur
    from secateur.errors import Stopped
    from secateur.runs.prune.stages import PruneWork

    def stop(self: PruneWork) -> None:
        raise KeyboardInterrupt

    PruneWork.polish = stop  # type: ignore[method-assign]
    folder = Path(args.kept) / f"{args.name}-{args.task}-{args.seed}"
    began = time.time()
    try:
        secateur.prune(
            args.model, Path(args.data) / args.task, seed=args.seed, to=folder, evaluation_batch=1024, progress=False,
            **cut(args.task), **json.loads(args.change),
        )  # fmt: skip
    except Stopped:
        (folder / "ready").write_text(f"{time.time() - began:.1f}")


def attempt(args: argparse.Namespace) -> None:
    from secateur.checkpoints import load
    from secateur.errors import BoundError
    from secateur.methods.ordering import order_by_importance
    from secateur.runs.folder import open_run
    from secateur.runs.progress import Progress
    from secateur.runs.prune.stages import PruneWork
    from secateur.supernet import Supernet

    def made(name: str) -> Path:
        folder = Path(args.kept) / f"{name}-{args.task}-{args.seed}"
        while not (folder / "ready").is_file():
            time.sleep(1)
        return folder

    folder = made(args.name)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "run"
        shutil.copytree(folder, copy, copy_function=_linked)
        run = open_run(copy)
        run.configure(replace(run.configuration, **json.loads(args.change)))
        work = PruneWork(run, Progress(False))
        work.prepare()
        began = time.time()
        if args.slices:
            work.supernet = Supernet(load(made(args.slices) / "supernet").to(work.device))
            order_by_importance(work)
        if args.teacher:
            teacher = load(made(args.teacher) / "supernet").to(work.device)
            work.method.teachers = lambda: [teacher]  # type: ignore[method-assign]
        if args.masks:
            work.masks()
        work.polish()
        seconds = time.time() - began
        whole = run.unpruned["body_parameters"]
        for share in SHARES:
            row: dict[str, Any] = {"model": args.name, "task": args.task, "seed": args.seed, "share": share}
            row |= {"label": args.label} if args.label else {}
            row |= {
                "settings": json.loads(args.change),
                "seconds": round(seconds, 1),
                "trained": float((folder / "ready").read_text()),
            }
            try:
                best = run.front.best(under={"body_parameters": share * whole})
                shape = dict(best.architecture.choices)
                row |= {"validation": 1 - best.values["error"], "used": best.values["body_parameters"] / whole, "shape": shape}
                row |= {"weights": best.weights, "test": 1 - best.test["error"] if best.test else None}
            except BoundError as none:
                row["failure"] = str(none)
            with open(args.out, "a") as file:
                file.write(json.dumps(row) + "\n")


def _linked(source: str, target: str) -> None:
    """A link to a file that is not written to again, a copy of the study."""
    if source.endswith(".safetensors"):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "try"))
    for name in ("model", "data", "task", "out", "kept"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--name", default="minilm", help="what the model is called in the rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--label", help="what to call the rows: they go to ablation.csv")
    parser.add_argument("--teacher", help="the name of the run whose network teaches")
    parser.add_argument("--slices", help="the name of the run whose network is cut")
    parser.add_argument("--masks", action="store_true", help="let networks by masks join")
    parser.add_argument("--change", default="{}", help="JSON of settings that differ from the preset's")
    args = parser.parse_args()

    import torch
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    (make if args.what == "make" else attempt)(args)


if __name__ == "__main__":
    main()
