"""The FLOPs of the recipe's proxies, counted again by hand from the table's architectures."""

from __future__ import annotations

import csv
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secateur.tables import read_trained

DESIGN = Path(__file__).resolve().parents[2] / "recipes" / "design"
VOCABULARY, CLUSTERS = 2048, (1024, 512, 512)
TEXTS, LENGTH = 16, 128
STEPS, BATCH = 2500, 64


class Counted:
    """What a proxy computes with a GPT-2, two FLOPs per multiply-accumulate, per token if nothing else is said."""

    def __init__(self, architecture: Any) -> None:
        self.width, self.inner = architecture["width"], architecture["inner"]
        self.embedding, self.factor = architecture["embedding"], architecture["factor"]

    @cached_property
    def linear(self) -> int:
        """Queries, keys, values and output of attention, and both feed-forward layers."""
        return sum(2 * (4 * self.width**2 + 2 * self.width * inner) for inner in self.inner)

    @cached_property
    def attention(self) -> int:
        """Scores and their mixtures of values, over all positions."""
        return len(self.inner) * 2 * 2 * self.width * LENGTH

    @cached_property
    def clusters(self) -> list[tuple[int, int]]:
        """Tokens and width of each; one as wide as the model where the embedding is plain."""
        if self.embedding == 0 or self.factor == 1:
            return [(VOCABULARY, self.embedding or self.width)]
        return [(size, self.embedding // self.factor**place) for place, size in enumerate(CLUSTERS)]

    @cached_property
    def projections(self) -> list[int]:
        return [2 * self.width * narrow * (narrow != self.width) for _, narrow in self.clusters]

    @cached_property
    def output(self) -> list[int]:
        """Projection and scores of each cluster; the first also scores the others."""
        found = [p + 2 * size * narrow for p, (size, narrow) in zip(self.projections, self.clusters, strict=True)]
        return [found[0] + 2 * (len(found) - 1) * self.width, *found[1:]]

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Least and most FLOPs of each proxy: a loss looks into a cluster for its own tokens only, none or all of them."""
        once = self.linear + self.attention + sum(self.projections)
        first, units, tokens = 2 * 3 * self.width**2, sum(self.inner), TEXTS * LENGTH
        # Back to the first layer's input without gradients of weights; the two products of attention have two each.
        back = self.linear + 2 * self.attention
        exact = {
            "decoder_macs": tokens * once,
            "jacob_cov": tokens * (once + back) + 2 * TEXTS**2 * LENGTH * self.width,
            # Codes of units: similarities of ones and of zeros, between texts, or between 128 contexts.
            "relu_log_det": tokens * once + 2 * 2 * TEXTS**2 * LENGTH * units,
            "naswot": tokens * once + 2 * 2 * 128**2 * units,
            # One token forth, and back but for the first layer's input; attention only mixes.
            "synflow": 3 * self.linear - first + sum(self.projections),
            "l2_norm": 0,
        }
        least, most = 2 * self.output[0], 2 * sum(self.output)
        gradients, activations = once + 2 * (self.linear + self.attention), once + back - first
        losses = {"grad_norm": gradients, "snip": gradients, "fisher": activations}
        return {n: (v, v) for n, v in exact.items()} | {
            n: (tokens * (v + least), tokens * (v + most)) for n, v in losses.items()
        }

    def training(self) -> float:
        """Three forward passes' worth for each token; every cluster is projected to both ways and scored."""
        return 3 * STEPS * BATCH * LENGTH * (self.linear + self.attention + sum(self.projections) + sum(self.output))


@pytest.mark.parametrize(("source", "name"), [("random", "proxies-summary.csv"), ("homogeneous", "proxies-homogeneous.csv")])
def test_flops_are_those_counted_by_hand(source: str, name: str) -> None:
    table = read_trained(DESIGN / "benchmark.parquet").only(source).averaged()
    order = np.lexsort((table.keys, table.column("decoder_parameters")))
    five = order[np.linspace(0, len(order) - 1, 5).round().astype(int)]
    counted = [Counted(table.architectures[row]).bounds() for row in five]
    whole = np.mean([Counted(architecture).training() for architecture in table.architectures])
    with (DESIGN / name).open(newline="", encoding="utf-8") as file:
        found = {row["proxy"]: float(row["flops"]) for row in csv.DictReader(file)}
    for proxy in counted[0]:
        least, most = (np.mean([network[proxy][end] for network in counted]) for end in (0, 1))
        assert least - 1 <= found[proxy] <= most + 1, proxy
        assert most <= 1.08 * least
    partial = {proxy: flops for proxy, flops in found.items() if proxy.startswith("partial_")}
    assert len(partial) == 8
    for proxy, flops in partial.items():
        share = float(proxy.removeprefix("partial_").removesuffix("%")) / 100
        assert flops == pytest.approx(share * whole), proxy
    assert [found[proxy] for proxy in ("decoder_parameters", "parameters", "macs")] == [0, 0, 0]
