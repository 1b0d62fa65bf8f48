"""The cells that an encoding is learnt from: all of a space, or as many as are drawn."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.catalogue import find
from secateur.encodings import GraphEncoding
from secateur.encodings.learned.cells import Cells
from secateur.errors import ConfigurationError, UnknownNameError
from secateur.rng import generator
from secateur.spaces.cells import CellSpace

#: Of a space of more points than the first, so many cells are drawn (Yan 2022, section 3.4).
MOST, DRAWN = 1_000_000, 600_000
#: Cells that are made vectors at once, and how often new ones are drawn in the place of repeated ones.
CHUNK, ROUNDS = 16_384, 20
#: Each cell that NAS-Bench-201 has trained counts, whether or not it computes the same as another.
USUAL: Mapping[str, Mapping[str, Any]] = {"nasbench201": {"merged": False}}


def cell_space(name: str, given: Sequence[str]) -> tuple[CellSpace, dict[str, Any]]:
    """A space of cells by name, with options as they are typed, and these as they were understood.

    Raises UnknownNameError, ConfigurationError.
    """
    kind = find("space", name, "bench")
    known = inspect.signature(kind).parameters
    options = dict(USUAL.get(name, {}))
    for text in given:
        option, equals, value = text.partition("=")
        if not equals:
            raise ConfigurationError(f"`space_option` must be a name and a value such as nodes=2..6, got `{text}`.")
        if option not in known:
            raise UnknownNameError(f"option of {name}", option, known)
        options[option] = _understood(text, value, str(known[option].annotation))
    return kind(**options), options


def _understood(text: str, value: str, kind: str) -> Any:
    """A value as the space takes it."""
    if kind == "bool":
        if value not in ("true", "false"):
            raise ConfigurationError(f"`space_option` {text}: it is true or false.")
        return value == "true"
    if kind == "int":
        if not value.isdecimal():
            raise ConfigurationError(f"`space_option` {text}: it is a whole number.")
        return int(value)
    return value.split(",") if kind.startswith("Sequence") else value


def cells_of(space: CellSpace, cells: int | None, seed: int) -> np.ndarray:
    """Different cells as vectors (n, d) of 0 and 1, a byte each, one cell per vector: all of the space, or `cells` that are
    drawn. Where an architecture has several, each counts."""
    size, roles = space.size(), len(space.frame.roles)
    wanted = cells if cells is not None else size * roles if size <= MOST else DRAWN
    few = size > MOST or wanted <= size // 10
    found = vectors_of(space, _drawn(space, -(-wanted // roles), seed) if few else space.every())
    if roles > 1:
        found = found.reshape(len(found) * roles, -1)
        found = found[np.sort(np.unique(found, axis=0, return_index=True)[1])]
    return found[generator(seed, "some").permutation(len(found))[:wanted]] if wanted < len(found) else found


def _drawn(space: CellSpace, wanted: int, seed: int) -> Iterator[Architecture]:
    """Different cells at random; fewer than wanted where the space has hardly as many."""
    rng, seen = generator(seed, "cells"), set[str]()
    for _ in range(ROUNDS):
        for architecture in space.sample_many(wanted - len(seen), rng):
            if architecture.key not in seen:
                seen.add(architecture.key)
                yield architecture
        if len(seen) == wanted:
            return


def vectors_of(space: CellSpace, architectures: Iterable[Architecture]) -> np.ndarray:
    """Architectures as vectors (n, d) of 0 and 1, a byte each."""
    encoding = GraphEncoding(space)
    found = [np.zeros((0, encoding.dimensions), dtype=np.uint8)]
    left = iter(architectures)
    while part := list(islice(left, CHUNK)):
        found.append(encoding.encode(part).astype(np.uint8))
    return np.concatenate(found)


def split(cells: Cells, held_out: float, seed: int) -> tuple[Cells, Cells]:
    """The cells to train on and those to test on, at least one of each."""
    if len(cells) < 2:
        raise ConfigurationError(f"there are too few cells to train on and to test on: {len(cells)}.")
    order = generator(seed, "split").permutation(len(cells))
    tested = min(max(1, round(held_out * len(cells))), len(cells) - 1)
    return cells[order[tested:]], cells[order[:tested]]
