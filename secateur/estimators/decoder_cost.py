"""What a decoder's architecture costs, by arithmetic: parameters and multiply-accumulate operations."""

from __future__ import annotations

from collections.abc import Sequence

from secateur.architecture import Architecture, digest
from secateur.estimators.base import Estimator, Evaluation
from secateur.spaces import decoder_counts


class DecoderCost(Estimator):
    """`decoder_parameters` (the quality proxy), `parameters` and `macs` of decoders. Nothing is built."""

    yields = ("decoder_parameters", "parameters", "macs")
    cost = 0

    def __init__(
        self,
        *,
        vocabulary: int,
        positions: int = 1024,
        cutoffs: Sequence[int] | None = None,
        batch: int = 1,
        length: int = 192,
        memory: int = 0,
    ) -> None:
        self.vocabulary, self.positions, self.batch, self.length, self.memory = vocabulary, positions, batch, length, memory
        self.cutoffs = decoder_counts.checked_cutoffs(cutoffs, vocabulary)
        sizes = (vocabulary, positions, self.cutoffs, batch, length, memory)
        self._fingerprint = digest("decoder cost", *map(str, sizes))

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return [Evaluation(self.count(a)) for a in architectures]

    def count(self, architecture: Architecture) -> dict[str, float]:
        """The three counts of one architecture."""
        counted = (
            decoder_counts.decoder_parameters(architecture),
            decoder_counts.parameters(architecture, self.vocabulary, self.positions, self.cutoffs),
            decoder_counts.macs(architecture, self.batch, self.length, self.vocabulary, self.cutoffs, self.memory),
        )
        return dict(zip(self.yields, map(float, counted), strict=True))
