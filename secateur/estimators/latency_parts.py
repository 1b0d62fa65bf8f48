"""What a network's latency is made of: numbers that say how much of what it has, each with a cost that is fitted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from secateur.architecture import Architecture
from secateur.rng import Generator

#: The detail of a trial that says where its latency comes from, and what it is where it was predicted.
SOURCE, MODEL = "latency_source", "model"
#: What tells networks apart whose embeddings and output layers have costs of their own.
Kind = tuple[int, ...]


class Parts(ABC):
    """How the networks of a space are described. Batch, length and vocabulary are constants of a fit."""

    #: The names of the coefficients: of the layers, and of what is around them. Each kind has its own of the latter.
    layers: ClassVar[tuple[str, ...]]
    around: ClassVar[tuple[str, ...]]
    #: Whether the layers of each stratum have a correction of their own: what they take more than the sum says.
    corrected: ClassVar[bool] = False

    @abstractmethod
    def of_layers(self, architecture: Architecture) -> Sequence[float]:
        """What `layers` names: costs of layers add up, so that sums over the layers are enough."""

    @abstractmethod
    def of_around(self, architecture: Architecture) -> Sequence[float]:
        """What `around` names."""

    @abstractmethod
    def size(self, architecture: Architecture) -> float:
        """About how large the network is."""

    @abstractmethod
    def stratum(self, architecture: Architecture) -> str:
        """What a sample should have some of each of."""

    @abstractmethod
    def pool(self, count: int, rng: Generator) -> list[Architecture]:
        """`count` architectures to choose a sample from."""

    def kind(self, architecture: Architecture) -> Kind:
        """The architecture's kind; one for all unless a space says otherwise."""
        return ()

    def fault(self, architecture: Architecture, kinds: Sequence[Kind]) -> str | None:
        """Why a model of these kinds knows nothing of the architecture, or None."""
        return None

    def names(self, kinds: Sequence[Kind]) -> tuple[str, ...]:
        """The names of the columns of `rows`: those of the layers, then those around them for each kind."""
        return (*self.layers, *(f"{name} {'/'.join(map(str, kind))}".strip() for kind in kinds for name in self.around))

    def rows(self, architectures: Sequence[Architecture], kinds: Sequence[Kind]) -> np.ndarray:
        """The (n, layers + kinds × around) matrix whose product with the coefficients is the latency."""
        first, each = len(self.layers), len(self.around)
        out = np.zeros((len(architectures), first + each * len(kinds)))
        place = {kind: first + each * n for n, kind in enumerate(kinds)}
        for row, architecture in zip(out, architectures, strict=True):
            at = place[self.kind(architecture)]
            row[:first], row[at : at + each] = self.of_layers(architecture), self.of_around(architecture)
        return out
