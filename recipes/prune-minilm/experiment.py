"""One experiment: a training method on a task with a seed, scored at shares of the encoder's parameters.

    python experiment.py --model MINILM --data GLUE_FOLDER --task stsb --seed 0 --method ordered --out scores.jsonl

With `--points 100` the trained super-network is scored as in Klein et al. (2024, section 4.1.3): that many sub-networks of
its space, drawn uniformly at random, the same for all methods of a seed. One row has all their validation errors and sizes;
`strategies.py` reads it. With `--errors` one row has the errors of all networks of a grid; `searchers.py` reads it.

`grid.py` runs many of these side by side. Wiring only: every method lives in the package.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SHARES = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
CANDIDATES = 100  # widths; each is scored at every depth
SST2_SENTENCES = 20_000

#: method → how it trains. Epochs, learning rates and distillation of the paper's strategies, and of ours.
PAPER: dict[str, Any] = {"epochs": 5, "learning_rate": 5e-5, "temperature": 10.0}
OURS: dict[str, Any] = {"epochs": 8, "learning_rate": 1e-4, "temperature": 2.0, "squared_temperature": True}
POLISH: dict[str, Any] = {"epochs": 3, "learning_rate": 5e-5, "temperature": 2.0, "squared_temperature": True}
METHODS: dict[str, dict[str, Any]] = {
    "standard": {"strategy": "standard", **PAPER},
    "random": {"strategy": "random", **PAPER},
    "random-linear": {"strategy": "random-linear", **PAPER},
    "sandwich": {"strategy": "sandwich", **PAPER},
    "kd": {"strategy": "kd", **PAPER},
    "full": {"strategy": "full", **PAPER},
    "kd-authors": {"strategy": "kd", "distillation": "authors", **PAPER},
    "kd-linear-authors": {"strategy": "kd-linear", "distillation": "authors", **PAPER},
    "full-authors": {"strategy": "full", "distillation": "authors", **PAPER},
    "unpruned": {"strategy": "standard", "unpruned": True, **OURS},
    "layer-dropping": {"strategy": "standard", "drop": True, **PAPER},
    "ordered": {"strategy": "full", "order": True, **PAPER},
    "default-1e-4": {"strategy": "full", "order": True, "polish": POLISH, **OURS},
    "default-7e-5": {"strategy": "full", "order": True, "polish": POLISH, **OURS, "learning_rate": 7e-5},
    "default-5e-5": {"strategy": "full", "order": True, "polish": POLISH, **OURS, "learning_rate": 5e-5},
    "chance": {"chance": True},
    "klein2024": {"strategy": "full", "epochs": 5, "learning_rate": 2e-5, "temperature": 10.0, "batch_size": 4},
}


def cut(task: str, sentences: int = SST2_SENTENCES) -> dict[str, int]:
    """How much of a task is read: all but of SST-2, whose training set is large."""
    return {"max_train": int(sentences * 0.7), "max_validation": int(sentences * 0.3)} if task == "sst2" else {}


def candidates(space: Any, seed: int) -> list[Any]:
    """Widths at full depth: half of them uniform, half denser towards small networks. The same for every method."""
    from secateur.rng import generator

    rng = generator(seed, "candidates")
    heads, units, layers = space.shape.heads, space.shape.units, space.shape.layers
    out = []
    for i in range(CANDIDATES):
        h, u = rng.random(2) ** (1 if i % 2 else 2)
        out.append(space.make({"heads": int(np.ceil(h * heads)), "units": int(np.ceil(u * units)), "layers": layers}))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "data", "task", "method", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=float, default=None, help="fewer epochs, to try the script")
    parser.add_argument("--change", default="{}", help="JSON of settings that differ from the method's")
    parser.add_argument("--name", default=None, help="what to call the result; default the method")
    parser.add_argument("--sentences", type=int, default=SST2_SENTENCES)
    parser.add_argument("--metric", default=None, help="what the error is 1 minus of; default the task's own")
    parser.add_argument("--space", default="small", help="with --points: the space that is trained and drawn from")
    parser.add_argument("--errors", action="store_true", help="score only all networks of a grid, on validation data")
    parser.add_argument("--points", type=int, default=0, help="score only this many random sub-networks, on validation data")
    args = parser.parse_args()

    import torch
    from errors import all_errors
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    from secateur.catalogue import find
    from secateur.estimators.cost import Cost
    from secateur.estimators.shared_weights import SharedWeightsError, score
    from secateur.rng import generator
    from secateur.spaces.pruning import Plan, Small
    from secateur.supernet import Supernet, importance, reorder
    from secateur.tasks import load_task
    from secateur.tasks.chance import chance
    from secateur.training.fine_tune import fine_tune
    from secateur.training.settings import TrainingSettings
    from secateur.training.trainer import train_supernet

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(1 if torch.cuda.is_available() else 2)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    method = {**METHODS[args.method], **json.loads(args.change)}
    began = time.time()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    data = load_task(
        Path(args.data) / args.task, tokenizer, metric=args.metric, seed=args.seed, max_length=128,
        **cut(args.task, args.sentences),
    )  # fmt: skip

    def fresh() -> Any:
        torch.manual_seed(args.seed)
        problem = "regression" if data.task.kind == "regression" else "single_label_classification"
        model = AutoModelForSequenceClassification.from_pretrained(
            args.model, num_labels=data.num_labels, problem_type=problem, dtype=torch.float32
        )
        return model.to(device)

    def settings(given: dict[str, Any]) -> TrainingSettings:
        known = {n: given[n] for n in TrainingSettings.__dataclass_fields__ if n in given}
        if args.epochs is not None:
            known["epochs"] = args.epochs
        return TrainingSettings(**{"batch_size": args.batch, "checkpoints": 0, "seed": args.seed, **known})

    def append(**row: Any) -> None:
        known = {"task": args.task, "seed": args.seed, "method": args.name or args.method, "metric": data.task.main}
        with open(args.out, "a") as file:
            file.write(json.dumps({**known, **row, "seconds": round(time.time() - began, 1)}) + "\n")

    def write(share: float | str, values: dict[str, float], polished: bool, network: Any) -> None:
        append(share=share, polished=polished, test=test(network), **values)

    if method.get("chance"):
        append(share="none", test=chance(data, "test")[data.task.main])
        return

    test_batches = list(data.batches("test", 1024))

    def test(network: Any) -> float:
        return 1.0 - score(network, data.task, test_batches)["error"]

    with tempfile.TemporaryDirectory() as scratch:
        if method.get("drop"):
            for depth in range(1, 6):
                supernet = Supernet(fresh())
                small = Supernet(supernet.extract(Plan.uniform(depth, supernet.shape.heads, supernet.shape.units)))
                train_supernet(
                    small,
                    find("strategy", "standard")(Small(small.shape)),
                    data,
                    settings(method),
                    Path(scratch) / str(depth),
                    device=device,
                )
                share = small.body_parameters(small.whole) / supernet.body_parameters(supernet.whole)
                validation = score(small.model, data.task, data.batches("validation", 1024))["error"]
                write(round(share, 3), {"validation": 1 - validation, "share_used": share}, False, small.model)
            return
        supernet = Supernet(fresh())
        space = find("space", args.space)(supernet.shape)
        if method.get("order"):
            warm = {"epochs": method.get("warmup_epochs", 1), "learning_rate": method.get("warmup_rate", 5e-5)}
            train_supernet(
                supernet, find("strategy", "standard")(space), data, settings(warm), Path(scratch) / "warm", device=device
            )
            batches = ({n: v.to(device) for n, v in b.items()} for b in data.batches(data.train[:1024], 32))
            reorder(supernet, importance(supernet, batches).order())
        strategy = find("strategy", method["strategy"])(space, k=method.get("k", 2))
        train_supernet(supernet, strategy, data, settings(method), Path(scratch) / "train", device=device)
        if args.points:
            drawn = space.sample_many(args.points, generator(args.seed, "points"))
            estimator = SharedWeightsError(supernet, space, data, batch_size=1024, depths=False)
            errors = [found.values["error"] for found in estimator.evaluate(drawn)]
            sizes = [found.values["parameters"] for found in Cost(supernet, space).evaluate(drawn)]
            append(space=args.space, points=list(zip(errors, sizes, strict=True)))
        if args.errors:
            append(errors=all_errors(supernet, data))
        if args.points or args.errors:
            return
        whole = Small(supernet.shape)
        validation = score(supernet.model, data.task, data.batches("validation", 1024))["error"]
        write("unpruned", {"validation": 1 - validation, "share_used": 1.0}, False, supernet.model)
        if method.get("unpruned"):
            return
        estimator = SharedWeightsError(supernet, whole, data, batch_size=1024)
        scored: dict[str, tuple[Any, float]] = {}
        for architecture in candidates(whole, 0):
            found = estimator.evaluate([architecture])[0]
            scored[architecture.key] = (architecture, found.values["error"])
            scored.update({a.key: (a, v["error"]) for a, v in found.extra})
        body = supernet.body_parameters(supernet.whole)
        cost = {k: Cost(supernet, whole).evaluate([a])[0].values["body_parameters"] / body for k, (a, _) in scored.items()}
        for share in SHARES:
            best = min((k for k in scored if cost[k] <= share), key=lambda k: scored[k][1])
            architecture, error = scored[best]
            values = {"validation": 1 - error, "share_used": cost[best], "architecture": dict(architecture.choices)}
            network = supernet.extract(whole.plan(architecture))
            write(share, values, False, network)
            if method.get("polish"):
                folder = Path(scratch) / f"polish{share}"
                fine_tune(network, data, settings(method["polish"]), folder, teacher=supernet.model, device=device)
                validation = score(network, data.task, data.batches("validation", 1024))["error"]
                write(share, {**values, "validation": 1 - validation}, True, network)


if __name__ == "__main__":
    main()
