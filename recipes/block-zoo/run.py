"""Train networks of the space `mobilenet`, score them by every proxy and by block zoos: the rows that `tables.py` reads.

    python recipes/block-zoo/run.py --data digits --to runs/block-zoo                     # the scaled-down version, for a CPU
    python recipes/block-zoo/run.py --data cifar10.npz --to runs/block-zoo-gpu --device cuda --factor 1 --images 50000 \\
        --epochs 50 --reference-epochs 100 --batch 128 --strides 1,2,2,1,2 --networks 120  # nearer to the paper

Rows are appended as they come; the same command goes on where it was stopped. `--part 0/2` does every second network, so that
two processes share the work. No two networks are the same: a number whose draw repeats an earlier one is left out.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch

from secateur.architecture import Architecture
from secateur.errors import EvaluationFailure
from secateur.estimators.block_zoo.reference import reference
from secateur.estimators.block_zoo.zoo import BlockZoo, ZooSettings
from secateur.estimators.proxies import score
from secateur.images import build
from secateur.rng import generator
from secateur.spaces.mobilenet import Mobilenet
from secateur.spaces.mobilenet_sizes import ImageSizes, macs, parameters
from secateur.tasks import load_images
from secateur.tasks.image_data import ImageData
from secateur.training.images import ImageTraining, score_images, train_images

COLUMNS = ("network", "key", "quantity", "value", "seconds")
PROXIES = ("grad_norm", "snip", "fisher", "grasp", "synflow", "jacob_cov", "naswot", "l2_norm")
#: Batches that blocks are distilled on: of the curve, and of zoos without remapping. The paper's number is 20.
CURVE, ALONE, PAPER = (1, 5, 10, 20), (20, 40), 20
#: Draws at most.
MOST_DRAWS = 10_000


def zoo_settings() -> dict[str, tuple[int, ZooSettings]]:
    """Name → (batches, settings) of every zoo that is compared."""
    return {
        **{f"zoo_{t}": (t, ZooSettings()) for t in CURVE},
        **{f"distilled_{t}": (t, ZooSettings(remap="none")) for t in ALONE},
        "remapped": (PAPER, ZooSettings(distil=False)),
        "zoo_importance": (PAPER, ZooSettings(remap="importance")),
        "remapped_importance": (PAPER, ZooSettings(remap="importance", distil=False)),
    }


#: The zoos that are also scored with their blocks' own batch norms, not recalibrated.
KEPT = ("zoo_20", "remapped", "distilled_20")


class Rows:
    """The table of results: what is there is not computed again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
        with path.open(encoding="utf-8", newline="") as file:
            self.known = {(row["key"], row["quantity"]) for row in csv.DictReader(file) if row["seconds"]}

    def add(self, network: int, key: str, quantity: str, compute: Callable[[], float]) -> None:
        if (key, quantity) in self.known:
            return
        started = time.thread_time()
        try:
            value = f"{compute():.9g}"
        except EvaluationFailure:
            value = ""  # no number: the page says how many
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{network},{key},{quantity},{value},{time.thread_time() - started:.4f}\n")
        self.known.add((key, quantity))


class Bench:
    """Data, reference network, zoos and settings of one run."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.space = given, Mobilenet()
        self.data, self.sizes, self.training = training_of(given)
        self.reference = reference(
            self.space, self.sizes, self.data, replace(self.training, epochs=given.reference_epochs), given.to
        )
        batches = list(self._batches(max(CURVE + ALONE)))
        self.batches = batches
        self.zoos = {name: BlockZoo(self.reference, batches[:t], s) for name, (t, s) in zoo_settings().items()}

    def _batches(self, count: int) -> Iterator[dict[str, torch.Tensor]]:
        """Batches of training images, shuffled by the seed, over as many passes as are needed."""
        drawn, found = torch.Generator().manual_seed(self.given.seed), 0
        while True:
            for batch in self.data.batches("train", self.given.batch, generator=drawn, whole=True):
                if found == count:
                    return
                found += 1
                yield batch

    def final(self, network: torch.nn.Module, seed: int = 0) -> float:
        """The test accuracy after training."""
        return trained(network, self.data, replace(self.training, seed=seed))

    def one(self, number: int, a: Architecture, rows: Rows) -> None:
        """All there is to know of one network."""
        fresh = lambda seed=0: build(a, self.sizes, seed=seed).to(self.given.device)  # noqa: E731
        add = lambda name, compute: rows.add(number, a.key, name, compute)  # noqa: E731
        add("parameters", lambda: float(parameters(a, self.sizes)))
        add("macs", lambda: float(macs(a, self.sizes)))
        untrained, seen = fresh(), self.batches[: self.given.proxy_batches]
        for name in PROXIES:
            add(name, lambda name=name: score(name, untrained, seen, loss=torch.nn.functional.cross_entropy))
        for name, zoo in self.zoos.items():
            add(name, lambda zoo=zoo: zoo.score(a))
            if name in KEPT:
                add(f"{name}_kept", lambda zoo=zoo: zoo.score(a, recalibrated=False))
        add("final_scratch", lambda: self.final(fresh()))
        add("final_remapped", lambda: self.final(self.zoos["remapped"].assemble(a)))
        add("final_distilled", lambda: self.final(self.zoos["zoo_20"].assemble(a)))
        if number < self.given.repeated:
            add("final_scratch_again", lambda: self.final(fresh(1), 1))


def drawn(space: Mobilenet, seed: int, number: int) -> Architecture:
    """A network of any size: the most layers of a stage and the largest expansion are drawn first, then all else."""
    rng = generator(seed, "networks", number)
    most, widest = int(rng.integers(1, space.places + 1)), int(rng.integers(1, len(space.expansions) + 1))
    return Mobilenet(layers=f"1..{most}", expansion=space.expansions[:widest]).sample(rng)


def networks(given: argparse.Namespace) -> dict[int, Architecture]:
    """Number → network: as many different ones as are asked for, and of these the numbers from the first that is wanted."""
    found: dict[Architecture, int] = {}
    for number in range(MOST_DRAWS):
        if len(found) == given.networks:
            return {n: a for a, n in found.items() if n >= given.first}
        found.setdefault(drawn(Mobilenet(), given.seed, number), number)
    raise SystemExit(f"`--networks` must be smaller: {MOST_DRAWS:,} draws gave {len(found):,} different ones.")


def training_of(given: argparse.Namespace) -> tuple[ImageData, ImageSizes, ImageTraining]:
    """The data, the networks' sizes and how they are trained."""
    limits = {"max_train": given.images, "test_share": given.test_share, "validation_share": 0.1}
    data = load_images(given.data, **limits).to(given.device)
    strides = tuple(int(s) for s in given.strides.split(","))
    sizes = ImageSizes.scaled(data.shape, data.num_labels, given.factor, strides=strides)
    names = ("epochs", "batch", "learning_rate", "pad", "flip")
    return data, sizes, ImageTraining(**{name: getattr(given, name) for name in names})


def trained(network: torch.nn.Module, data: ImageData, training: ImageTraining) -> float:
    """The test accuracy after training."""
    train_images(network, data, training)
    return score_images(network, data, "test")["accuracy"]


def arguments(about: str) -> argparse.ArgumentParser:
    """What the scripts of this folder take; not each reads all of it."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--data", default="digits")
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--networks", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="begin with this network")
    parser.add_argument("--repeated", type=int, default=20, help="networks that are trained with a second seed")
    parser.add_argument("--images", type=int, default=None, help="training images at most")
    parser.add_argument("--test-share", type=float, default=0.5, help="where the data have no test set")
    parser.add_argument("--factor", type=float, default=0.1, help="of the widths")
    parser.add_argument("--strides", default="1,2,1,1,1")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--reference-epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=80)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--pad", type=int, default=1)
    parser.add_argument("--flip", action="store_true")
    parser.add_argument("--proxy-batches", type=int, default=5, help="batches over which zero-cost proxies are averaged")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    return parser


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--part", default="0/1", help="k/n: networks k, k + n, k + 2n, …")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    part, parts = (int(n) for n in given.part.split("/"))
    bench = Bench(given)
    rows = Rows(given.to / f"rows-{part}-of-{parts}.csv")
    whole = score_images(bench.reference, bench.data, "test")["accuracy"]
    rows.add(-1, bench.reference.architecture.key, "reference", lambda: whole)
    for number, a in networks(given).items():
        if number % parts == part:
            bench.one(number, a, rows)


if __name__ == "__main__":
    main()
