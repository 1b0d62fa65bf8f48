"""What the benchmarks share: the network, two things timed by turns, and lines of results.

Every figure is a ratio of two things measured by turns in one run on one thread, so that a slow or busy machine slows both
alike. Times are `time.thread_time()`: the processor's time of this thread, blind to what else the machine does.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForSequenceClassification, BertConfig

from secateur.devices.device import describe_device
from secateur.supernet import Supernet


@dataclass(frozen=True)
class Size:
    """The network and the batch that a benchmark runs."""

    layers: int = 6
    width: int = 384
    heads: int = 12
    units: int = 1536
    batch: int = 32
    length: int = 128
    vocabulary: int = 30522


FULL = Size()
QUICK = Size(layers=2, width=16, heads=4, units=32, batch=2, length=8, vocabulary=50)


def arguments(description: str, *more: Callable[[argparse.ArgumentParser], Any]) -> argparse.Namespace:
    """The command line of a benchmark; also sets torch to one thread."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--quick", action="store_true", help="a toy size, to see that the script runs: its figures mean nothing"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the network's weights and of all draws")
    for add in more:
        add(parser)
    given = parser.parse_args()
    torch.set_num_threads(1)
    return given


def network(size: Size, seed: int) -> Supernet:
    """A BERT classifier with random weights, in evaluation mode."""
    config = BertConfig(
        vocab_size=size.vocabulary,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.units,
        max_position_embeddings=max(512, size.length),
        num_labels=2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForSequenceClassification.from_config(config, attn_implementation="sdpa")
    return Supernet(model.eval())


def tokens(size: Size, seed: int) -> dict[str, torch.Tensor]:
    """A batch of random tokens without padding, and labels."""
    draw = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, size.vocabulary, (size.batch, size.length), generator=draw)
    labels = torch.randint(0, 2, (size.batch,), generator=draw)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}


def seconds(run: Callable[[], Any]) -> float:
    """Processor time of one call, on this thread."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


def by_turns(runs: Sequence[Callable[[], Any]], repeats: int, warm_up: int = 1) -> list[list[float]]:
    """Seconds of each run, `repeats` times: A B A B …, so that a drift of the machine meets all of them."""
    times: list[list[float]] = [[] for _ in runs]
    gc.collect()
    for turn in range(warm_up + repeats):
        for i, run in enumerate(runs):
            taken = seconds(run)
            if turn >= warm_up:
                times[i].append(taken)
    return times


def spread_of(values: Sequence[float]) -> tuple[float, float]:
    """Smallest and largest."""
    return min(values), max(values)


def standard_error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


@dataclass
class Report:
    """Gathers results, and prints each as a JSON line at the end."""

    quick: bool = False
    lines: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, ratio: float, target: float | None, *, at_least: bool = False, **more: Any) -> None:
        """One result. Without a target it stands beside the others for comparison, and neither passes nor fails."""
        passed = None if target is None else bool(ratio >= target if at_least else ratio <= target)
        more = {key: round(value, 4) if isinstance(value, float) else value for key, value in more.items()}
        line = {"name": name, "ratio": round(ratio, 4), "target": target, "passed": passed, "at_least": at_least, **more}
        self.lines.append({**line, "quick": True} if self.quick else line)

    def end(self) -> None:
        """Print all, with where they were measured; exit 1 where a target of a full-size run is missed."""
        where = {
            "script": Path(sys.argv[0]).stem,
            "device": describe_device("cpu"),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "date": time.strftime("%Y-%m-%d"),
        }
        for line in self.lines:
            print(json.dumps(line | where, ensure_ascii=False))
        if not self.quick and any(line["passed"] is False for line in self.lines):
            raise SystemExit(1)
