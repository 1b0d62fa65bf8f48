"""Topology (Javaheripi et al. 2022, section 4.3): width against depth at equal decoder parameters, GPT-2 backbone.

python topology.py list > topology.jsonl    # the architectures to train, in the size of the benchmark
python topology.py measure                  # latency and peak memory at the paper's size, into topology.csv
python topology.py analyse TRAINED          # both together, TRAINED a table with rows of source `topology`

Inner width is 2 × the width, heads are 8, the layers those that come nearest to the budget, as in the paper.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.spaces.decoder import architecture
from secateur.spaces.decoder_counts import decoder_count, decoder_parameters
from secateur.tables import Table, read_trained

HERE = Path(__file__).resolve().parent
MEASURED = HERE / "topology.csv"
#: Budgets of decoder parameters: small ones to train, and ones of the paper's size (1256 × 2 layers, 112 × 100) to measure.
SMALL, LARGE = (200_000, 600_000, 1_800_000), (5_000_000, 10_000_000, 25_000_000)
#: Deviations from a budget that are let pass: widths are multiples of 8, so small networks meet it less well.
SMALL_TOLERANCE, LARGE_TOLERANCE = 0.05, 0.01
HEADS = 8
#: Where latency and memory are measured: the paper's batch 1 × 192 tokens, GPT-2's vocabulary, a plain table of embeddings.
VOCABULARY, LENGTH, POSITIONS = 50_257, 192, 1024
#: How often each network is measured; the quickest counts.
TURNS = 5
PAPER = {"perplexity": "< 12.8 %", "latency": "2.8 ×", "memory": "5.5 ×"}


@dataclass(frozen=True)
class Shape:
    """A width and depth that nearly meet a budget; `deviation` is by how much they miss it, relative."""

    budget: int
    width: int
    layers: int

    @property
    def architecture(self) -> Architecture:
        return architecture("gpt2", self.width, [HEADS] * self.layers, [2 * self.width] * self.layers)

    @property
    def deviation(self) -> float:
        return decoder_parameters(self.architecture) / self.budget - 1


def shapes(budget: int, tolerance: float, *, count: int = 6, least: int = 2, most: int = 100) -> list[Shape]:
    """At most `count` shapes within the tolerance, their depths spread evenly on a logarithmic scale, deepest first."""
    found: dict[int, Shape] = {}
    for width in range(2 * HEADS, 2 + int((budget / 8) ** 0.5), HEADS):
        one = decoder_count("gpt2", width, 1, 2 * width) - 2 * width
        shape = Shape(budget, width, round((budget - 2 * width) / one))
        if least <= shape.layers <= most and abs(shape.deviation) <= tolerance:
            rival = found.get(shape.layers)
            if rival is None or abs(shape.deviation) < abs(rival.deviation):
                found[shape.layers] = shape
    left = sorted(found.values(), key=lambda shape: -shape.layers)
    if len(left) <= count:
        return left
    chosen = []
    for depth in np.geomspace(left[0].layers, left[-1].layers, count):
        nearest = min(left, key=lambda shape: abs(np.log(shape.layers / depth)))
        left.remove(nearest)
        chosen.append(nearest)
    return sorted(chosen, key=lambda shape: -shape.layers)


def to_train(most: int = 24) -> Iterator[dict[str, Any]]:
    """The rows of the list to train: the architecture with its budget and how far off it is."""
    for budget in SMALL:
        for shape in shapes(budget, SMALL_TOLERANCE, most=most):
            yield {
                "architecture": shape.architecture.to_json(),
                "source": "topology",
                "budget": budget,
                "width": shape.width,
                "layers": shape.layers,
                "decoder_parameters": decoder_parameters(shape.architecture),
                "deviation": round(shape.deviation, 4),
            }


def measure(
    budgets: Sequence[int] = LARGE, *, vocabulary: int = VOCABULARY, seconds: float = 10.0, most: int = 100
) -> Iterator[dict[str, Any]]:
    """Latency (s, one thread, in turns) and peak memory (bytes, on the meta device) of one forward pass at full size."""
    import torch

    from secateur.decoders import Builder
    from secateur.devices.device import describe_device
    from secateur.devices.memory import peak_memory
    from secateur.devices.setup import Setup
    from secateur.estimators.latency import LatencyEstimator
    from secateur.estimators.turns import measure_in_turns
    from secateur.spaces.decoder_sizes import Sizes

    builder = Builder(Sizes(vocabulary=vocabulary, positions=POSITIONS))
    chosen = [shape for budget in budgets for shape in shapes(budget, LARGE_TOLERANCE, most=most)]
    found = measure_in_turns(
        LatencyEstimator(builder, Setup(length=LENGTH, kind="language_modelling", seconds=seconds / TURNS)),
        [shape.architecture for shape in chosen],
        turns=TURNS,
    )
    for shape in chosen:
        ids = torch.zeros((1, LENGTH), dtype=torch.long, device="meta")
        latency = found[shape.architecture.key]
        if "failure" in latency:
            raise SystemExit(f"topology: {shape.architecture}: {latency['failure']}")
        yield {
            "budget": shape.budget,
            "width": shape.width,
            "layers": shape.layers,
            "deviation": round(shape.deviation, 4),
            "latency": round(latency["values"]["latency"], 5),
            "spread": round(latency["details"]["latency_spread"], 4),
            "memory": peak_memory(builder.meta(shape.architecture), {"input_ids": ids}).peak,
            "device": describe_device("cpu"),
        }


def write(rows: Sequence[dict[str, Any]], path: Path = MEASURED) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def measured(path: Path = MEASURED) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def nearest_budget(found: Architecture) -> int:
    """The budget that a trained network was made for."""
    return min(SMALL, key=lambda budget: abs(decoder_parameters(found) / budget - 1))


def deviations(trained: Table) -> dict[int, list[tuple[Architecture, float, float]]]:
    """Per budget, each network with its perplexity and how far that lies from the budget's median, relative, deepest first."""
    found = {}
    for budget in SMALL:
        mine = trained.take([nearest_budget(a) == budget for a in trained.architectures])
        if len(mine):
            perplexity = mine.column("perplexity")
            off = perplexity / np.median(perplexity) - 1
            members = list(zip(mine.architectures, perplexity.tolist(), off.tolist(), strict=True))
            found[budget] = sorted(members, key=lambda member: -_layers(member[0]))
    return found


def _layers(found: Architecture) -> int:
    return len(tuple(found["heads"]))  # type: ignore[arg-type]


def trained_table(trained: Table) -> str:
    """Perplexity by budget and shape."""
    lines = ["| decoder parameters | shape (width × layers) | perplexity | from the median |", "|---|---|---|---|"]
    for budget, members in deviations(trained).items():
        for found, perplexity, deviation in members:
            count = decoder_parameters(found)
            shape = f"{found['width']} × {_layers(found)}"
            lines.append(
                f"| {count:,} ({count / budget - 1:+.1%} of {budget:,}) | {shape} | {perplexity:.2f} | {deviation:+.1%} |"
            )
    return "\n".join(lines)


def measured_table(rows: Sequence[dict[str, str]]) -> str:
    """Latency and peak memory at full size by budget and shape."""
    lines = ["| decoder parameters | shape (width × layers) | latency | peak memory |", "|---|---|---|---|"]
    for row in rows:
        lines.append(
            f"| {int(row['budget']):,} ({float(row['deviation']):+.1%}) | {row['width']} × {row['layers']} | "
            f"{float(row['latency']) * 1e3:.0f} ms | {float(row['memory']) / 1e6:.0f} MB |"
        )
    return "\n".join(lines)


def spreads(rows: Sequence[dict[str, str]], name: str) -> dict[int, float]:
    """Largest over smallest of a measured column, per budget."""
    values: dict[int, list[float]] = {}
    for row in rows:
        values.setdefault(int(row["budget"]), []).append(float(row[name]))
    return {budget: max(found) / min(found) for budget, found in values.items()}


def summary(trained: Table, rows: Sequence[dict[str, str]]) -> str:
    """What varies with topology, against the paper's figures."""
    lines = ["| at equal decoder parameters | paper | here, by budget |", "|---|---|---|"]
    worst = {budget: max(abs(d) for *_, d in members) for budget, members in deviations(trained).items()}
    if worst:
        shown = ", ".join(f"{value:.1%} ({budget:,})" for budget, value in worst.items())
        lines.append(f"| largest deviation of perplexity from the median | {PAPER['perplexity']} | {shown} |")
    for name in ("latency", "memory"):
        shown = ", ".join(f"{value:.1f} × ({budget:,})" for budget, value in spreads(rows, name).items())
        lines.append(f"| {name}, highest over lowest | {PAPER[name]} | {shown} |")
    return "\n".join(lines)


def everything(table: Path) -> str:
    """All three tables, of a table of trained networks and of topology.csv."""
    trained, rows = read_trained(table).only("topology").averaged(), measured()
    return "\n\n".join([summary(trained, rows), trained_table(trained), measured_table(rows)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["list", "measure", "analyse"])
    parser.add_argument("trained", type=Path, nargs="?", help="the table of trained networks, for analyse")
    arguments = parser.parse_args()
    if arguments.what == "list":
        print("\n".join(json.dumps(row) for row in to_train()))
    elif arguments.what == "measure":
        write(list(measure()))
        print(measured_table(measured()))
    elif arguments.trained is None:
        parser.error("analyse needs the table of trained networks")
    else:
        print(everything(arguments.trained))
