"""What the scripts of this folder share: a MiniLM that was fine-tuned and ordered, its data, and which rows are known."""

from __future__ import annotations

import argparse
import fcntl
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))
from rows import is_known, replace_rows  # noqa: E402, F401 - scripts of this folder take both from here

#: Epochs and learning rate of the unpruned network, and examples that its heads and units are ordered by.
EPOCHS, LEARNING_RATE, SCORED = 2.5, 1e-4, 512
#: Examples of all splits and tokens of each: this is scaled down to a CPU.
CUT = {"max_train": 1600, "max_validation": 400, "max_test": 800}


@dataclass
class Prepared:
    """A task and its teacher."""

    data: Any
    supernet: Any
    error: float


def arguments(about: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--model", required=True, help="the folder of MiniLM-L6")
    parser.add_argument("--data", required=True, help="a folder of GLUE tasks")
    parser.add_argument("--work", required=True, help="where networks are kept between runs")
    parser.add_argument("--task", required=True)
    parser.add_argument("--shard", default="0/1", help="several processes share the work: 0/2 and 1/2")
    return parser.parse_args()


def is_mine(shard: str, number: int) -> bool:
    place, count = (int(part) for part in shard.split("/"))
    return number % count == place


def prepared(model: str, data: str, task: str, work: Path, seed: int = 0) -> Prepared:
    """Fine-tune the network on all training examples and order it; where that was done before, read it."""
    import torch
    from transformers import AutoTokenizer
    from transformers.utils import logging

    from secateur.checkpoints import load
    from secateur.checkpoints.pretrained import load_model
    from secateur.estimators.shared_weights import score
    from secateur.rng import generator
    from secateur.supernet import Supernet, importance, reorder
    from secateur.tasks import Examples, load_task
    from secateur.training.fine_tune import fine_tune
    from secateur.training.settings import TrainingSettings

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(1)
    found = load_task(Path(data) / task, AutoTokenizer.from_pretrained(model), seed=seed, max_length=64, **CUT)
    folder = work / f"{task}-{seed}"
    if not (folder / "config.json").is_file():
        network = load_model(model, found, seed=seed, device="cpu")
        fine_tune(network, found, TrainingSettings(epochs=EPOCHS, learning_rate=LEARNING_RATE, seed=seed), folder / "training")
        supernet = Supernet(network)
        some = generator(seed, "order").permutation(len(found.train))[:SCORED]
        examples = Examples({name: [values[i] for i in some] for name, values in found.train.columns.items()})
        reorder(supernet, importance(supernet, found.batches(examples, 32)).order())
        network.save_pretrained(folder)
    supernet = Supernet(load(folder))
    error = score(supernet.model, found.task, found.batches("validation", 64))["error"]
    print(f"{task}: error {error:.4f}", flush=True)
    return Prepared(found, supernet, error)


def part(data: Any, count: int, seed: int) -> Any:
    """The same task with fewer training examples."""
    from dataclasses import replace

    from secateur.rng import generator
    from secateur.tasks import Examples

    some = generator(seed, "part").permutation(len(data.train))[:count]
    return replace(data, train=Examples({name: [values[i] for i in some] for name, values in data.train.columns.items()}))


class Clock:
    """CPU seconds of this process, which runs in one thread."""

    def __init__(self) -> None:
        self.began = time.process_time()

    @property
    def seconds(self) -> float:
        return time.process_time() - self.began


def add_row(table: Path, row: dict[str, Any], by: tuple[str, ...]) -> None:
    """Write a row, one process at a time."""
    with (Path(tempfile.gettempdir()) / f"{table.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        replace_rows(table, [row], by)
    print({name: round(value, 3) if isinstance(value, float) else value for name, value in row.items()}, flush=True)
