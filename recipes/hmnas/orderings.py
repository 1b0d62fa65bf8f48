"""Tables 2.3, 2.5 and 2.6 and figure 2.6 of Yan (2022), scaled down: one super-network per encoding and seed, and all that is
derived from it.

    python recipes/cifar10.py package --to cifar10-8.npz --size 8
    python recipes/hmnas/orderings.py cifar10-8.npz
    python recipes/hmnas/orderings.py cifar10.npz --images 50000 --test 10000 --channels 36 --nodes 4 --batch 128 --epochs 100 \
        --warm-up 10 --mask-epochs 20 --tune-epochs 200 --scratch-epochs 600 --order second --architecture-rate 3e-4

Rows go to networks.csv and edges.csv, cells to a folder; a part of a seed that is there is not computed again.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from secateur.architecture import Architecture
from secateur.cells import deriving
from secateur.cells.network import CellNetwork, Sizes
from secateur.cells.supernet import ENCODINGS, MULTI, CellSupernet
from secateur.rng import generator
from secateur.spaces.cells.weighted import edges_of, random_like
from secateur.tasks import load_images
from secateur.training.cells.searching import edge_importance, train_masks, train_supernet
from secateur.training.cells.settings import ORDERS, CellTraining
from secateur.training.images import ImageTraining, score_images, train_images

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import replace_rows, rows_of  # noqa: E402

#: The folder of what the masks found, a file per seed.
CELLS = "cells"


class Seed:
    """All networks of one seed and encoding, as rows."""

    def __init__(self, given: argparse.Namespace, encoding: str, seed: int, part: str) -> None:
        self.given, self.encoding, self.seed, self.part = given, encoding, seed, part
        limits = {"max_train": given.images, "max_validation": given.test, "max_test": given.test}
        self.data = load_images(given.data, seed=seed, **limits).to(given.device)
        names = {n: getattr(given, n) for n in CellTraining.options() if getattr(given, n, None) is not None}
        self.settings = CellTraining(**names).check()
        self.sizes = Sizes(given.cells, given.channels, self.data.shape[0], self.data.num_labels)
        self.rows: list[dict[str, Any]] = []

    def supernet(self) -> CellSupernet:
        found = CellSupernet(self.sizes, self.given.nodes, self.encoding, seed=self.seed)
        return found.to(self.given.device)

    def tell(self, network: Any, counts: tuple[int, int], architecture: Any, stage: str, rule: str, begun: float) -> None:
        cells = edges_of(architecture)
        scores = {split: 1 - score_images(network, self.data, split)["accuracy"] for split in ("validation", "test")}
        row = {"part": self.part, "seed": self.seed, "encoding": self.encoding, "rule": rule, "stage": stage}
        row |= {f"{split}_error": round(error, 5) for split, error in scores.items()}
        row |= {"parameters": counts[0], "stored_parameters": counts[1]}
        row["edges"] = sum(map(len, cells.values()))
        row["operations"] = sum(len(edge.operations) for edges in cells.values() for edge in edges)
        self.rows.append({**row, "cpu_seconds": round(time.process_time() - begun, 1)})
        print(self.rows[-1], flush=True)

    def tuned(self, network: CellNetwork, epochs: int, rate: float, stage: str, rule: str) -> None:
        begun, s = time.process_time(), self.settings
        how = ImageTraining(epochs=epochs, batch=s.batch, learning_rate=rate, weight_decay=s.weight_decay, seed=self.seed)
        train_images(network, self.data, replace(how, pad=s.pad, flip=s.flip))
        self.tell(network, network.count(), network.architecture, stage, rule, begun)

    def search(self, to: Path) -> None:
        """The super-network, what its two rules derive, and what the masks found, for `controls`."""
        s, begun = self.settings, time.process_time()
        supernet = self.supernet()
        train_supernet(supernet, self.data, s, self.seed)
        self.tell(supernet, supernet.stack.count(), deriving.whole(supernet), "super-network", "", begun)
        edges = [
            {"seed": self.seed, "encoding": self.encoding, "role": role, "node": node, "place": place, "share": share}
            for role, nodes in edge_importance(supernet).items()
            for node, shares in enumerate(nodes)
            for place, share in enumerate(shares)
        ]
        two = deriving.extract(supernet, deriving.by_top_two(supernet))
        self.tuned(two, s.tune_epochs, s.tune_rate, "fine-tuned", deriving.TOP_TWO)
        if self.encoding == MULTI:
            begun = time.process_time()
            train_masks(supernet, self.data, s, self.seed)
            network = deriving.extract(supernet, deriving.by_masks(supernet))
            self.tell(network, network.count(), network.architecture, "masked", deriving.MASKS, begun)
            self.tuned(network, s.tune_epochs, s.tune_rate, "fine-tuned", deriving.MASKS)
            (to / CELLS).mkdir(exist_ok=True)
            (to / CELLS / f"{self.seed}.json").write_text(network.architecture.to_json() + "\n")
        replace_rows(to / "edges.csv", edges, ("seed", "encoding"))

    def controls(self, to: Path) -> None:
        """What the masks found, begun with random weights, and cells of as many operations at random places."""
        s, epochs = self.settings, self.given.scratch_epochs
        found = Architecture.from_json((to / CELLS / f"{self.seed}.json").read_text())
        again = CellNetwork(found, self.sizes, seed=1000 + self.seed).to(self.given.device)
        self.tuned(again, epochs, s.learning_rate, "random weights", deriving.MASKS)
        other = CellNetwork(random_like(found, generator(self.seed, "hmnas")), self.sizes, seed=2000 + self.seed)
        self.tuned(other.to(self.given.device), epochs, s.learning_rate, "random architecture", "random")


def compute(given: argparse.Namespace) -> None:
    """Every part of every seed that is not there."""
    table, by = given.to / "networks.csv", ("part", "seed", "encoding")
    parts = [("search", encoding) for encoding in ENCODINGS], [("controls", MULTI)]
    for some in parts:  # the controls come last: without them the rest is of use
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            for part, encoding in some:
                if (part, str(seed), encoding) not in {tuple(row[name] for name in by) for row in rows_of(table)}:
                    one = Seed(given, encoding, seed, part)
                    getattr(one, part)(given.to)
                    replace_rows(table, one.rows, by)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", help="what load_images reads: an .npz file, a folder, or digits")
    parser.add_argument("--to", type=Path, default=HERE)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--images", type=int, default=640, help="training images")
    parser.add_argument("--test", type=int, default=2000, help="images for validation, and for the test")
    parser.add_argument("--cells", type=int, default=3)
    parser.add_argument("--channels", type=int, default=4)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--scratch-epochs", type=int, default=28, help="epochs of networks that begin with random weights")
    parser.add_argument("--device", default="cpu")
    small = {"epochs": 12, "warm_up": 2, "mask_epochs": 6, "tune_epochs": 10, "batch": 64, "architecture_rate": 0.02}
    small |= {"learning_rate": 0.05, "tune_rate": 0.02}
    for name in ("batch", "epochs", "warm_up", "mask_epochs", "tune_epochs", "pad"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=small.get(name))
    for name in ("architecture_rate", "mask_rate", "learning_rate", "tune_rate"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=small.get(name))
    parser.add_argument("--order", choices=ORDERS, default="first")
    parser.add_argument("--flip", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.to.mkdir(parents=True, exist_ok=True)
    compute(given)


if __name__ == "__main__":
    main()
