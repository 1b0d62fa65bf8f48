"""Architectures that are a row of choices, such as layer after layer, as graphs: each choice leads to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings.base import Encoding
from secateur.encodings.graph import GraphEncoding, Shape
from secateur.spaces.base import Space
from secateur.spaces.cells import CellSpace
from secateur.spaces.domains import Range
from secateur.spaces.pool import whole
from secateur.spaces.product import ProductSpace

OUTPUT = "output"


class SequenceEncoding(Encoding):
    """A chain as `GraphEncoding` has graphs: an input, a node for each choice that has an effect, and an output.

    A node's operation is the value chosen. Choices of the same values share their names, and nodes are known by their places.
    """

    name = "sequence"
    #: Numbers of a vector: longer ones do not fit into memory by the hundred thousand.
    most: ClassVar[int] = 20_000

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        inner = whole(space)
        assert isinstance(inner, ProductSpace)
        self._inner = inner
        self._order = np.array([d for d, _ in inner.choices_read()])
        ranges = list(dict.fromkeys(values for _, values in inner.choices_read()))
        #: The first says whose choices they are.
        whose = " ".join([inner.name, str(getattr(inner, "backbone", ""))]).strip()
        self.names = (whose, *(f"{_said(r)}={value}" for r in ranges for value in r), OUTPUT)
        starts = dict(zip(ranges, 1 + np.cumsum([0, *map(len, ranges)]), strict=False))
        self._first = np.array([starts[values] for _, values in inner.choices_read()])
        self.nodes, self.operations, self.cells = len(inner.domains) + 2, len(self.names), 1

    @classmethod
    def refuses(cls, space: Space) -> str | None:
        inner = whole(space)
        if not isinstance(inner, ProductSpace):
            return f"`{space.name}` is neither a space of cells nor one of a row of choices."
        names = 2 + sum(map(len, {values for _, values in inner.choices_read()}))
        nodes = len(inner.domains) + 2
        if nodes * (nodes + names) > cls.most:
            return (
                f"`{space.name}` has {nodes - 2} choices of {names - 2} values here, too many to learn an encoding of. Use "
                "fewer, as in units=0..1536:128."
            )
        return None

    @property
    def shape(self) -> Shape:
        return Shape(self.cells, self.nodes, self.operations, ordered=True)

    @property
    def dimensions(self) -> int:
        return self.nodes * (self.nodes + self.operations)

    def encode(self, architectures: Sequence[Architecture]) -> np.ndarray:
        edges = np.zeros((len(architectures), self.nodes, self.nodes))
        operations = np.zeros((len(architectures), self.nodes, self.operations))
        for row, architecture in enumerate(architectures):
            there = self._inner.active(architecture)[self._order]
            chosen = (self._first + self._inner.indices(architecture)[self._order])[there]
            length = len(chosen) + 2
            operations[row, np.arange(length), [0, *chosen, self.operations - 1]] = 1
            edges[row, np.arange(length - 1), np.arange(1, length)] = 1
        flat = [edges.reshape(len(edges), self.nodes**2), operations.reshape(len(edges), self.nodes * self.operations)]
        return np.concatenate(flat, axis=1)


def _said(values: tuple[int, ...]) -> str:
    """Values as a range, where they are one, or listed."""
    step = values[1] - values[0] if len(values) > 1 else 1
    if list(values) == list(range(values[0], values[-1] + 1, step)):
        return str(Range(values[0], values[-1], step))
    return ",".join(map(str, values))


def as_graphs(space: Space) -> GraphEncoding | SequenceEncoding:
    """What makes graphs of a space's architectures: its cells, or the row of its choices. Raises ConfigurationError."""
    return GraphEncoding(space) if isinstance(whole(space), CellSpace) else SequenceEncoding(space)


def graphs_refused(space: Space) -> str | None:
    """Why no graphs can be made of a space's architectures, or None where they can."""
    return None if isinstance(whole(space), CellSpace) else SequenceEncoding.refuses(space)
