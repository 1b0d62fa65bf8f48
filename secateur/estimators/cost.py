"""Costs that are counted, not measured: parameters and multiply-accumulate operations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from secateur.anatomy.inputs import longest_text
from secateur.architecture import Architecture, digest
from secateur.errors import ConfigurationError
from secateur.estimators.base import Estimator, Evaluation
from secateur.search.layer_sums import Around, LayerSums
from secateur.spaces import decoder_counts
from secateur.spaces.decoder_sizes import Sizes
from secateur.spaces.pruning import Plan, PruningSpace
from secateur.supernet import Supernet


class Counted(Estimator):
    """What is known by arithmetic, at no cost: nothing is built."""

    cost = 0

    @abstractmethod
    def count(self, architecture: Architecture) -> dict[str, float]:
        """The counts of one architecture, by name."""

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return [Evaluation(self.count(a)) for a in architectures]


class Cost(Counted):
    """`parameters`, `body_parameters` and `macs` (`batch` texts of `length` tokens, or questions with 4 answers each) of
    sub-networks."""

    yields = ("parameters", "body_parameters", "macs")

    def __init__(self, supernet: Supernet, space: PruningSpace, *, batch: int = 1, length: int = 128) -> None:
        self.supernet = supernet
        self.space = space
        self.batch = batch
        self.length = length

    @property
    def fingerprint(self) -> str:
        # What the counts are made of: two models of one shape may differ in width, vocabulary, head or frozen weights.
        nothing, supernet = Plan.of([]), self.supernet
        outside = supernet.parameters(nothing), self._macs(nothing)
        parts = (supernet.anatomy.family, supernet.shape, supernet.counts, outside, self.batch, self.length)
        return digest("cost", *map(str, parts))

    def count(self, architecture: Architecture) -> dict[str, float]:
        plan = self.space.plan(architecture)
        counted = self.supernet.parameters(plan), self.supernet.body_parameters(plan), self._macs(plan)
        return dict(zip(self.yields, map(float, counted), strict=True))

    def _macs(self, plan: Plan) -> int:
        longest = longest_text(self.supernet.model.config)
        if self.length > longest:
            raise ConfigurationError(
                f"`length`, the number of tokens that operations are counted for, must be at most {longest} for this model, "
                f"got {self.length}."
            )
        return self.supernet.macs(plan, self.batch, self.length)


class DecoderCost(Counted, LayerSums):
    """`decoder_parameters` (the quality proxy), `parameters` and `macs` of decoders."""

    yields = ("decoder_parameters", "parameters", "macs")

    def __init__(self, sizes: Sizes, *, batch: int = 1, length: int = 192) -> None:
        self.sizes, self.batch, self.length = sizes, batch, length

    @property
    def fingerprint(self) -> str:
        s = self.sizes
        return digest("decoder cost", *map(str, (s.vocabulary, s.positions, s.cutoffs, self.batch, self.length, s.recurrence)))

    def count(self, architecture: Architecture) -> dict[str, float]:
        counted = (
            decoder_counts.decoder_parameters(architecture),
            decoder_counts.parameters(architecture, self.sizes),
            decoder_counts.macs(architecture, self.sizes, self.batch, self.length),
        )
        return dict(zip(self.yields, map(float, counted), strict=True))

    # As sums over layers, of whose kinds only the inner widths count.

    added = (True,)

    def parts(self, backbone: str, width: int, heads: np.ndarray, inner: np.ndarray) -> np.ndarray:
        return inner[:, None].astype(np.float64)

    def quantities(self, around: Around, parts: np.ndarray) -> dict[str, np.ndarray]:
        backbone, width, embedding, factor, layers = around
        inner = parts[:, 0]
        decoder = decoder_counts.decoder_count(backbone, width, layers, inner)
        outside = decoder_counts.embedding_count(backbone, width, embedding, factor, self.sizes)
        macs = decoder_counts.macs_count(backbone, width, layers, inner, embedding, factor, self.sizes, self.batch, self.length)
        return dict(zip(self.yields, (decoder, decoder + outside, macs), strict=True))
