"""A small ViT, trained from scratch on images and pruned on them to 20, 50 and 70 % of its layers' parameters.

    python run.py DATA RUNS [--seeds 0 1 2] [--epochs 100] [--rate 1e-3] [--train 8000]

DATA is what `secateur prune` takes for images: `digits`, an .npz file (`recipes/cifar10.py` makes one) or a folder. The run has
the splits of the training from scratch: no test image is seen before the end. results.csv gets the rows of each run when it
ends; a run that has its rows is not run again, and one that was stopped goes on.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from rows import is_known, replace_rows, rows_of  # noqa: E402

RESULTS = HERE / "results.csv"
LEVELS = ("20%", "50%", "70%")
#: The network's sizes; patches are a quarter or an eighth of a side, so that an image has 16 or 64.
SIZES: dict[str, Any] = {"num_hidden_layers": 6, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 256}
#: Images that validate and test at most.
MOST = 2000


def network(side: int, channels: int, classes: int, seed: int) -> Any:
    """A new ViT for images of this size."""
    import torch
    from transformers import ViTConfig, ViTForImageClassification

    patch = side // (4 if side <= 16 else 8)
    config = ViTConfig(image_size=side, num_channels=channels, patch_size=patch, num_labels=classes, **SIZES)
    torch.manual_seed(seed)
    return ViTForImageClassification(config)


def settings(rate: float | None, train: int | None, seed: int) -> dict[str, Any]:
    """What `secateur.prune` is given: the default preset at the levels of the table, with one learning rate in all stages where
    that is not None."""
    limits = {"max_train": train, "max_validation": MOST, "max_test": MOST}
    rates = {name: rate for name in ("learning_rate", "order_learning_rate", "polish_learning_rate") if rate is not None}
    return {"seed": seed, "polish_at": list(LEVELS), "measure": False, "progress": False, **limits, **rates}


def train(data: str, folder: Path, epochs: float, given: dict[str, Any]) -> dict[str, float]:
    """Train a ViT from scratch on the training images of a run with these settings, and save it; its scores on test images."""
    from secateur.estimators.shared_weights import score
    from secateur.tasks import load_image_task, load_images
    from secateur.tasks.image_processor import ImageProcessor
    from secateur.training.fine_tune import fine_tune
    from secateur.training.settings import TrainingSettings

    options = {name: given[name] for name in ("seed", "max_train", "max_validation", "max_test")}
    channels, side, _ = load_images(data, **options).shape
    task = load_image_task(data, ImageProcessor((side, side), channels, 1), **options)
    model = network(side, channels, task.num_labels or 0, given["seed"])
    training = TrainingSettings(epochs=epochs, learning_rate=1e-3, schedule="cosine", seed=given["seed"], checkpoints=0)
    fine_tune(model, task, training, folder.with_name(f"{folder.name}-training"))
    model.save_pretrained(folder)
    task.tokenizer.save_pretrained(folder)
    return score(model, task.task, task.batches("test", 64))


def rows(run: Any, about: dict[str, Any], before: float) -> list[dict[str, Any]]:
    """A row for the network as it was trained from scratch, for the unpruned one after the run, and for each size."""
    from secateur.runs.prune.member import summary

    columns = {"network": "", "share": 1.0, "validation": "", "shared": "", "test": before}
    found = [about | {"level": "from scratch"} | columns]
    unpruned = {"validation": 1 - run.unpruned["error"], "test": run.unpruned_test["accuracy"]}
    found.append(about | {"level": "100%"} | columns | unpruned)
    for level in LEVELS:
        best = run.front.best(under={"body_parameters": level})
        sizes = {"network": summary(best), "share": best.values["body_parameters"] / run.unpruned["body_parameters"]}
        shared = best.shared_test["accuracy"] if best.shared_test else ""
        scores = {"validation": 1 - best.values["error"], "shared": shared, "test": best.test["accuracy"]}
        found.append(about | {"level": level} | columns | sizes | scores)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("runs", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1, 2))
    parser.add_argument("--epochs", type=float, default=100.0, help="of the training from scratch")
    parser.add_argument("--rate", type=float, help="the learning rate of all stages of the run; by default the preset's")
    parser.add_argument("--train", type=int, help="training images at most")
    args = parser.parse_args()

    import secateur
    from secateur.verbs.resume import resume

    for seed in args.seeds:
        about = {"data": Path(args.data).stem, "rate": "preset" if args.rate is None else f"{args.rate:g}", "seed": seed}
        if is_known(RESULTS, **about):
            continue
        given = settings(args.rate, args.train, seed)
        model, scores = args.runs / f"{about['data']}-{seed}-model", args.runs / f"{about['data']}-{seed}.csv"
        if not scores.exists():
            args.runs.mkdir(parents=True, exist_ok=True)
            found = train(args.data, model, args.epochs, given)
            replace_rows(scores, [{"data": about["data"], "test": found["accuracy"]}], ("data",))
        folder = args.runs / "-".join(str(value) for value in about.values())
        if folder.exists():
            run = resume(folder, progress=False)
        else:
            run = secateur.prune(str(model), args.data, to=folder, **given)
        before = float(rows_of(scores)[0]["test"])
        replace_rows(RESULTS, rows(run, about, before), ("data", "rate", "seed", "level"))
        print(folder, flush=True)


if __name__ == "__main__":
    main()
