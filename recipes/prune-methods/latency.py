"""How far the latency model of `secateur prune` is off on sub-networks that it was not fitted to.

    python recipes/prune-methods/latency.py --model minilm=MINILM --model gte-small=GTE > recipes/prune-methods/latency.csv

For each model: the networks that a run fits its model to, and random sub-networks of each space, all measured in turns, and
twice: two measurements of a network take every other turn. So a slow minute of the machine meets fit, test and both
measurements alike. A row has the median, mean and largest of |predicted − measured| / measured, where fit and test are of the
first measurement; the median of what the two measurements of a network differ by; and what the median error may be: 5 %, or
1.5 × that difference where it is more. `busy` is the share of the measurements during which other programs ran.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from secateur.architecture import Architecture
from secateur.catalogue import find
from secateur.devices.latency import measure_model
from secateur.devices.setup import Setup
from secateur.estimators.latency_fit import spread_sample
from secateur.estimators.latency_model import LatencyModel
from secateur.estimators.latency_sample import Sample
from secateur.estimators.pruned_latency import PrunedParts
from secateur.rng import generator
from secateur.runs.prune.measuring import FITTED, HELD_OUT
from secateur.spaces.pruning import plan_of
from secateur.supernet import Supernet

HERE = Path(__file__).resolve().parent
#: Turns of each measurement, the quickest of which counts, and seconds of a turn.
TURNS, SECONDS = 3, 0.4


class Timed:
    """Key → seconds of the networks, in two measurements, and how many turns there were other programs in."""

    def __init__(self, supernet: Supernet, several: Sequence[Architecture], setup: Setup) -> None:
        self.twice: list[dict[str, float]] = [{}, {}]
        self.busy = 0
        for turn in range(2 * TURNS):
            for architecture in several:
                network = supernet.extract(plan_of(architecture, supernet.shape))
                found = measure_model(network, replace(setup, seconds=SECONDS))
                known = self.twice[turn % 2]
                known[architecture.key] = min(found.median, known.get(architecture.key, found.median))
                self.busy += found.loaded


def rows_of(name: str, supernet: Supernet, spaces: Iterable[str], setup: Setup, networks: int) -> list[dict[str, Any]]:
    """A row per space."""
    parts = PrunedParts(supernet.shape)
    chosen = spread_sample(parts, FITTED + HELD_OUT, seed=0)
    tests = {s: find("space", s)(supernet.shape).sample_many(networks, generator(0, "unseen", s)) for s in spaces}
    several = list({a.key: a for some in (chosen, *tests.values()) for a in some}.values())
    timed = Timed(supernet, several, setup)
    first, second = timed.twice
    model = LatencyModel.of(Sample([(a, first[a.key]) for a in chosen], len(chosen), 0, None), parts, HELD_OUT, setup)
    rows = []
    for space, some in tests.items():
        errors = model.errors([(a, first[a.key]) for a in some]).tolist()
        apart = median(abs(first[a.key] - second[a.key]) / second[a.key] for a in some)
        allowed = max(0.05, 1.5 * apart)
        row = {"model": name, "space": space, "batch": setup.batch, "length": setup.length, "networks": len(some)}
        row |= {f"{which}_ms": 1e3 * of(first[a.key] for a in some) for which, of in (("fastest", min), ("slowest", max))}
        row |= {"median_error": median(errors), "mean_error": fmean(errors), "largest_error": max(errors)}
        row |= {"two_measurements": apart, "allowed": allowed, "within": median(errors) <= allowed}
        rows.append(row | {"fitted_to": len(chosen), "busy": timed.busy / (2 * TURNS * len(several))})
    return rows


def table(path: Path = HERE / "latency.csv") -> str:
    """The rows for people."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = ["| model | space | tokens | median error | mean | largest | two measurements differ by |"]
    lines.append("|---|---|---|---:|---:|---:|---:|")
    for row in rows:
        shares = [f"{100 * float(row[n]):.1f} %" for n in ("median_error", "mean_error", "largest_error", "two_measurements")]
        lines.append(f"| {row['model']} | {row['space']} | {row['batch']} × {row['length']} | {' | '.join(shares)} |")
    return "\n".join(lines)


def main() -> None:
    import torch
    import transformers

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", help="name=folder, repeated; without any, the table of latency.csv")
    parser.add_argument("--space", action="append", help="by default small and medium")
    parser.add_argument("--networks", type=int, default=30)
    parser.add_argument("--tokens", action="append", help="batch x length, by default 1x128 and 8x64")
    given = parser.parse_args()
    if not given.model:
        print(table())
        return
    torch.set_num_threads(1)
    writer = None
    for text in given.model:
        name, _, folder = text.partition("=")
        loaded = transformers.AutoModelForSequenceClassification.from_pretrained(Path(folder), dtype=torch.float32)
        for tokens in given.tokens or ("1x128", "8x64"):
            batch, length = map(int, tokens.split("x"))
            setup = Setup(batch=batch, length=length)
            for row in rows_of(name, Supernet(loaded), given.space or ("small", "medium"), setup, given.networks):
                if writer is None:
                    writer = csv.DictWriter(sys.stdout, list(row), lineterminator="\n")
                    writer.writeheader()
                writer.writerow({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()})
                sys.stdout.flush()


if __name__ == "__main__":
    main()
