"""What all spaces of cells share: their cells can be seen as graphs, compared and drawn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, UnknownNameError
from secateur.spaces.base import Space
from secateur.spaces.cells.drawing import drawn
from secateur.spaces.cells.frame import Frame
from secateur.spaces.cells.graph import Graph


class CellSpace(Space):
    """A space of networks that repeat small graphs, their cells."""

    #: The operations that a search chooses from.
    operations: tuple[str, ...]

    @abstractmethod
    def graphs(self, architecture: Architecture) -> dict[str, Graph]:
        """The cells by their roles, operations on the nodes."""

    @abstractmethod
    def recognised(self, graph: Graph) -> str | None:
        """What a cell of this space is known by, of a graph that spells one with as many nodes as the frame has, unused ones
        among them; equal for cells that count as the same. None where the graph is no such cell."""

    @property
    @abstractmethod
    def frame(self) -> Frame:
        """What the graphs have in common."""

    @abstractmethod
    def distance(self, a: Architecture, b: Architecture) -> int:
        """The edit distance: how many operations and edges must change to make one of the other."""

    @abstractmethod
    def parameters(self, architecture: Architecture) -> int | None:
        """The trainable parameters of the network that the benchmark builds; None where it names no network."""

    def costs(self, architectures: Sequence[Architecture]) -> np.ndarray | None:
        """The parameters."""
        found = [self.parameters(a) for a in architectures]
        return None if None in found else np.array(found, dtype=np.float64).reshape(-1, 1)

    def picture(self, architecture: Architecture) -> str:
        """The cells as an SVG drawing."""
        return drawn(self.graphs(architecture))


def chosen_operations(given: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the known operations that are given, in the known order. Raises ConfigurationError for none and for others."""
    for name in given:
        if name not in known:
            raise UnknownNameError("operation", str(name), known)
    if not given:
        raise ConfigurationError("`operations` is empty: give at least one.")
    return tuple(name for name in known if name in given)
