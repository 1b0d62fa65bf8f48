"""What an encoding is learnt from: all architectures of a space, or as many as are drawn."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.catalogue import find
from secateur.encodings.learned.cells import Cells
from secateur.encodings.sequence import as_graphs
from secateur.errors import ConfigurationError, UnknownNameError
from secateur.rng import generator
from secateur.spaces.base import Space
from secateur.spaces.pruning import Shape

#: Of a space of more points than the first, so many cells are drawn (Yan 2022, section 3.4), or rows of choices.
MOST, DRAWN, ROWS = 1_000_000, 600_000, 100_000
#: Cells that are made vectors at once, and how often new ones are drawn in the place of repeated ones.
CHUNK, ROUNDS = 16_384, 20
#: Each cell that NAS-Bench-201 has trained counts, whether or not it computes the same as another.
USUAL: Mapping[str, Mapping[str, Any]] = {"nasbench201": {"merged": False}}


def named_space(name: str, given: Sequence[str]) -> tuple[Space, dict[str, Any]]:
    """A space by name, with options as they are typed, and these as they were understood.

    Raises UnknownNameError, ConfigurationError.
    """
    known = inspect.signature(find("space", name)).parameters
    options = dict(USUAL.get(name, {}))
    for text in given:
        option, equals, value = text.partition("=")
        if not equals:
            raise ConfigurationError(f"`space_option` must be a name and a value such as nodes=2..6, got `{text}`.")
        if option not in known:
            raise UnknownNameError(f"option of {name}", option, known)
        options[option] = _understood(text, value, str(known[option].annotation))
    if "shape" in known and "shape" not in options:
        raise ConfigurationError(f"`{name}` needs the model's layers, heads and units: --space-option shape=6,12,1536.")
    return made_space(name, options), options


def made_space(name: str, options: Mapping[str, Any]) -> Space:
    """A space by name with options as `named_space` has understood them."""
    shaped = {"shape": Shape(*options["shape"])} if "shape" in options else {}
    space: Space = find("space", name)(**{**options, **shaped})
    return space


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
    if kind == "Shape":
        numbers = value.split(",")
        if len(numbers) != 3 or not all(part.isdecimal() and int(part) > 0 for part in numbers):
            raise ConfigurationError(f"`space_option` {text}: it is layers, heads and units, such as 6,12,1536.")
        return [int(part) for part in numbers]
    return value.split(",") if kind.startswith("Sequence") else value


def cells_of(space: Space, cells: int | None, seed: int, priced: bool = False) -> Cells:
    """Different cells, one each: all of the space, or `cells` that are drawn. Where an architecture has several, each counts;
    of a space without cells an architecture is one. `priced`: with their costs, where the space can say them."""
    graphs, size = as_graphs(space), space.size()
    roles = graphs.cells
    wanted = cells if cells is not None else size * roles if size <= MOST else ROWS if graphs.shape.ordered else DRAWN
    few = size > MOST or wanted <= size // 10
    found = parts_of(space, _drawn(space, -(-wanted // roles), seed) if few else space.every(), priced)
    if roles > 1:
        found = found[np.sort(np.unique(found.vectors, axis=0, return_index=True)[1])]
    return found[generator(seed, "some").permutation(len(found))[:wanted]] if wanted < len(found) else found


def _drawn(space: Space, wanted: int, seed: int) -> Iterator[Architecture]:
    """Different cells at random; fewer than wanted where the space has hardly as many."""
    rng, seen = generator(seed, "cells"), set[str]()
    for _ in range(ROUNDS):
        for architecture in space.sample_many(wanted - len(seen), rng):
            if architecture.key not in seen:
                seen.add(architecture.key)
                yield architecture
        if len(seen) == wanted:
            return


def parts_of(space: Space, architectures: Iterable[Architecture], priced: bool = False) -> Cells:
    """The cells of architectures as vectors (n, d) of 0 and 1, a byte each."""
    encoding = as_graphs(space)
    width = encoding.dimensions // encoding.cells
    vectors, costs = [np.zeros((0, width), dtype=np.uint8)], [np.zeros(0)]
    left = iter(architectures)
    while part := list(islice(left, CHUNK)):
        vectors.append(encoding.encode(part).astype(np.uint8).reshape(-1, width))
        if priced and (found := space.costs(part)) is not None:
            costs.append(found.ravel())
    return Cells(np.concatenate(vectors), np.concatenate(costs) if len(costs) > 1 else None)


def split(cells: Cells, held_out: float, seed: int) -> tuple[Cells, Cells]:
    """The cells to train on and those to test on, at least one of each."""
    if len(cells) < 2:
        raise ConfigurationError(f"there are too few cells to train on and to test on: {len(cells)}.")
    order = generator(seed, "split").permutation(len(cells))
    tested = min(max(1, round(held_out * len(cells))), len(cells) - 1)
    return cells[order[tested:]], cells[order[:tested]]
