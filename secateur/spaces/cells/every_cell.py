"""All cells of NAS-Bench-101 as a sequence that takes no memory for each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import overload

from secateur.architecture import Architecture
from secateur.spaces.base import Space
from secateur.spaces.cells.nasbench101 import NasBench101


class EveryCell(Sequence[Architecture]):
    """All cells of a space in the benchmark's order, each made when it is asked for; `keys` are those of all."""

    def __init__(self, space: NasBench101) -> None:
        self.space = space

    @cached_property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.space.keys())

    def __len__(self) -> int:
        return self.space.size()

    @overload
    def __getitem__(self, place: int) -> Architecture: ...
    @overload
    def __getitem__(self, place: slice) -> list[Architecture]: ...
    def __getitem__(self, place: int | slice) -> Architecture | list[Architecture]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        number = range(len(self))[place]
        return self.space.spelt(self.space.numbered(number), self.keys[number])


def listed(space: Space) -> Sequence[Architecture]:
    """Every network of a space once; those of NAS-Bench-101 are made when they are asked for."""
    return EveryCell(space) if isinstance(space, NasBench101) else tuple(space.every())
