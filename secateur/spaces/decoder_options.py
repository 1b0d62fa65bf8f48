"""What the options of the space `decoder` allow: read, checked, and sorted by width."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from secateur import catalogue
from secateur.errors import ConfigurationError, UnknownNameError
from secateur.spaces.domains import Options, options

Pair = tuple[int, int]


def canonical(width: int, embedding: int, factor: int) -> Pair:
    """(embedding, factor) as it is written: one table as wide as the model is plain, (0, 1)."""
    plain = embedding == 0 or (embedding == width and factor == 1)
    return (0, 1) if plain else (embedding, factor)


@dataclass(frozen=True)
class Allowed:
    """The allowed values, ascending. A width that no inner width or number of heads goes with is left out."""

    layers: tuple[int, ...]
    width: tuple[int, ...]
    inner: tuple[int, ...]
    heads: tuple[int, ...]
    embedding: tuple[int, ...]
    factor: tuple[int, ...]

    @classmethod
    def of(
        cls, backbone: str, layers: Options, width: Options, inner: Options, heads: Options, embedding: Options, factor: Options
    ) -> Allowed:
        """Raises ConfigurationError with every fault there is."""
        faults: list[str] = []
        try:
            catalogue.check("backbone", backbone)
        except UnknownNameError as error:
            faults += error.faults

        def read(given: Options, name: str, most: int, least: int = 1) -> tuple[int, ...]:
            try:
                return options(given, name, least, most)
            except ConfigurationError as error:
                faults.extend(f if f"`{name}`" in f else f"`{name}`: {f}" for f in error.faults)
                return ()

        found = cls(
            read(layers, "layers", 1_000),
            read(width, "width", 100_000),
            read(inner, "inner", 1_000_000),
            read(heads, "heads", 10_000),
            read(embedding, "embedding", 100_000, 0),
            read(factor, "factor", 16),
        )
        faults += found._contradictions()
        if faults:
            raise ConfigurationError(faults)
        return cls(
            found.layers,
            tuple(w for w in found.width if found._inner_of(w) and found._heads_of(w)),
            found.inner,
            found.heads,
            found.embedding,
            found.factor,
        )

    def _inner_of(self, width: int) -> tuple[int, ...]:
        return tuple(i for i in self.inner if i >= 2 * width)

    def _heads_of(self, width: int) -> tuple[int, ...]:
        return tuple(h for h in self.heads if width % h == 0)

    def _contradictions(self) -> list[str]:
        if not (self.width and self.inner and self.heads):
            return []  # already said
        faults = []
        fits_inner = [w for w in self.width if self._inner_of(w)]
        fits_heads = [w for w in self.width if self._heads_of(w)]
        if not fits_inner:
            faults.append(
                f"`inner` must be at least twice the `width`: its largest is {self.inner[-1]}, and the smallest `width` is "
                f"{self.width[0]}. Allow an inner width of {2 * self.width[0]}, or a smaller `width`."
            )
        if not fits_heads:
            faults.append(
                f"`heads` must divide the `width`: none of {_listed(self.heads)} divides any of {_listed(self.width)}."
            )
        if fits_inner and fits_heads and not set(fits_inner) & set(fits_heads):
            faults.append(
                f"no `width` is compatible with both `inner` and `heads`: {_listed(fits_inner)} have an inner width of twice "
                f"their own or more, and only {_listed(fits_heads)} are divided by a number of heads."
            )
        return faults

    @cached_property
    def inner_from(self) -> dict[int, int]:
        """width → the position in `inner` of the smallest that is allowed with it."""
        return {w: len(self.inner) - len(self._inner_of(w)) for w in self.width}

    @cached_property
    def inner_of(self) -> dict[int, tuple[int, ...]]:
        """width → the inner widths allowed with it."""
        return {w: self._inner_of(w) for w in self.width}

    @cached_property
    def heads_of(self) -> dict[int, tuple[int, ...]]:
        """width → the numbers of heads that divide it."""
        return {w: self._heads_of(w) for w in self.width}

    @cached_property
    def pairs_of(self) -> dict[int, tuple[Pair, ...]]:
        """width → the (embedding, factor) there are, as they are written, each once."""
        return {w: tuple(sorted({canonical(w, e, k) for e in self.embedding for k in self.factor})) for w in self.width}

    def columns(self, slots: int) -> tuple[tuple[int, ...], ...]:
        """The values of each dimension of the space's vectors, which have heads and inner widths for `slots` layers."""
        pairs = {pair for found in self.pairs_of.values() for pair in found}
        outside = (
            self.layers,
            self.width,
            tuple(sorted({e for e, _ in pairs})),
            tuple(sorted({k for _, k in pairs})),
        )
        used_heads = tuple(sorted({h for found in self.heads_of.values() for h in found}))
        used_inner = self.inner[min(self.inner_from.values()) :]
        return outside + (used_heads,) * slots + (used_inner,) * slots


def nearest(value: int, among: tuple[int, ...]) -> int:
    """The value nearest to `value`, the smaller of two."""
    return min(among, key=lambda v: (abs(v - value), v))


def nearest_pair(width: int, pair: Pair, among: tuple[Pair, ...]) -> Pair:
    """The (embedding, factor) nearest to one that is not there: first in the embedding's width, then in the factor."""
    pair = canonical(width, *pair)
    if pair in among:
        return pair
    wide = pair[0] or width
    return min(among, key=lambda p: (abs((p[0] or width) - wide), abs(p[1] - pair[1]), p))


def _listed(values: tuple[int, ...] | list[int]) -> str:
    few = values if len(values) <= 6 else [*values[:3], "…", *values[-2:]]
    return ", ".join(map(str, few))


def table(rows: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Lists of values as (n, longest) with zeros behind, and their lengths (n,)."""
    lengths = np.array([len(r) for r in rows], dtype=np.int64)
    out = np.zeros((len(rows), int(lengths.max())), dtype=np.int64)
    for row, values in zip(out, rows, strict=True):
        row[: len(values)] = values
    return out, lengths
