"""What encodings of cells share: they see a cell as a graph, and refuse spaces that have none."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, TypeVar

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings.base import Encoding
from secateur.spaces.base import Space
from secateur.spaces.cells import CellSpace, Graph
from secateur.spaces.pool import whole

T = TypeVar("T", bound=Hashable)


class CellEncoding(Encoding):
    """The vectors of an architecture's cells, one after the other."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self._cells = cell_space(space)
        self.frame = self._cells.frame

    #: What to do where a space has no cells.
    instead: ClassVar[str] = "Use `vector`."

    @classmethod
    def refuses(cls, space: Space) -> str | None:
        if isinstance(whole(space), CellSpace):
            return None
        return f"the encoding `{cls.name}` is of cells, and the space `{space.name}` has none. {cls.instead}"

    @property
    def dimensions(self) -> int:
        return self._width * len(self.frame.roles)

    def encode(self, architectures: Sequence[Architecture]) -> np.ndarray:
        if not architectures:
            return np.zeros((0, self.dimensions))
        graphs = [self._cells.graphs(a) for a in architectures]
        return np.concatenate([self._encoded([g[role] for g in graphs]) for role in self.frame.roles], axis=1)

    @property
    @abstractmethod
    def _width(self) -> int:
        """The length w of one cell's vector."""

    @abstractmethod
    def _encoded(self, graphs: list[Graph]) -> np.ndarray:
        """The vectors (n, w) of cells in one role."""


def cell_space(space: Space) -> CellSpace:
    """The space of cells behind one that has cells."""
    found = whole(space)
    assert isinstance(found, CellSpace)
    return found


def row_each(values: Sequence[T], row: Callable[[T], np.ndarray], width: int) -> np.ndarray:
    """A row (n, width) for each value; each different value's is made once."""
    places: dict[T, int] = {}
    found = [places.setdefault(value, len(places)) for value in values]
    table = np.zeros((len(places), width))
    for value, place in places.items():
        table[place] = row(value)
    return table[found]


def expected(bits: np.ndarray) -> np.ndarray:
    """The mean of uniform values (n, d) in 0…1, given that the largest of each row are where its bits are 1.

    With k of d bits, the k largest average 1 − (k + 1) / 2 (d + 1), the others (d − k + 1) / 2 (d + 1).
    """
    d = bits.shape[1]
    k = bits.sum(axis=1, keepdims=True)
    return np.asarray(np.where(bits > 0, 2 * (d + 1) - (k + 1), d - k + 1) / (2 * (d + 1)))
