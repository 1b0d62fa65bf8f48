"""The Plan: what every pruning space lowers an architecture to.

Per kept layer, the heads and units kept. The spaces differ only in how they reach a Plan; its hash is the architecture's key,
zero cases are made canonical here, and the supernet takes Plans only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from secateur.architecture import digest
from secateur.errors import ConfigurationError


@dataclass(frozen=True)
class Shape:
    """How much there is to prune: layers, heads per layer (key/value groups where heads share them), units per layer."""

    layers: int
    heads: int
    units: int


@dataclass(frozen=True)
class Kept:
    """What is kept of a layer's heads or units: the first `count`, or `count` chosen ones.

    `packed` holds chosen indices as ascending little-endian int32, None for a prefix. Build with `first` or `chosen`,
    which make the representation canonical: a chosen set that is a prefix becomes one.
    """

    count: int
    packed: bytes | None = None

    @classmethod
    def first(cls, count: int) -> Kept:
        return cls(int(count))

    @classmethod
    def chosen(cls, indices: Sequence[int] | np.ndarray) -> Kept:
        ordered = np.unique(np.asarray(indices, dtype="<i4"))
        if len(ordered) != len(indices):
            raise ConfigurationError("an index set names an index twice.")
        if len(ordered) == 0 or int(ordered[-1]) == len(ordered) - 1:
            return cls(len(ordered))
        if ordered[0] < 0:
            raise ConfigurationError(f"an index must not be negative, got {ordered[0]}.")
        return cls(len(ordered), ordered.tobytes())

    @property
    def is_prefix(self) -> bool:
        return self.packed is None

    def indices(self) -> np.ndarray:
        """The kept indices (count,), ascending."""
        return np.arange(self.count) if self.packed is None else np.frombuffer(self.packed, dtype="<i4").astype(np.int64)

    def within(self, full: int) -> bool:
        return 0 <= self.count <= full and (self.packed is None or int(self.indices()[-1]) < full)


@dataclass(frozen=True)
class LayerPlan:
    """One kept layer: its index in the whole network, and what is kept of it."""

    index: int
    heads: Kept
    units: Kept


@dataclass(frozen=True)
class Plan:
    """A sub-network: its kept layers, in order. A layer with neither heads nor units is gone; build with `of`."""

    layers: tuple[LayerPlan, ...]

    @classmethod
    def of(cls, layers: Sequence[LayerPlan]) -> Plan:
        """The canonical plan: empty layers dropped, layers in ascending order."""
        kept = tuple(p for p in layers if p.heads.count or p.units.count)
        if any(a.index >= b.index for a, b in pairwise(kept)):
            raise ConfigurationError("a plan's layers must be in ascending order, each at most once.")
        return cls(kept)

    @classmethod
    def uniform(cls, layers: int, heads: int, units: int) -> Plan:
        """The first `layers` layers, each with its first `heads` heads and `units` units."""
        return cls.of([LayerPlan(i, Kept.first(heads), Kept.first(units)) for i in range(layers)])

    @classmethod
    def whole(cls, shape: Shape) -> Plan:
        return cls.uniform(shape.layers, shape.heads, shape.units)

    @cached_property
    def key(self) -> str:
        parts: list[bytes] = []
        for p in self.layers:
            parts.append(f"{p.index},{p.heads.count},{p.units.count}".encode())
            parts.append(p.heads.packed or b"")
            parts.append(p.units.packed or b"")
        return digest(*parts)

    def check(self, shape: Shape) -> None:
        """Raise ConfigurationError unless the plan fits a network of this shape."""
        for p in self.layers:
            if not 0 <= p.index < shape.layers:
                raise ConfigurationError(f"`layers` must lie in 0…{shape.layers - 1} for this model, got {p.index}.")
            if not p.heads.within(shape.heads):
                raise ConfigurationError(
                    f"`heads` must lie in 0…{shape.heads} for this model, got {p.heads.count} in layer {p.index}."
                )
            if not p.units.within(shape.units):
                raise ConfigurationError(
                    f"`units` must lie in 0…{shape.units} for this model, got {p.units.count} in layer {p.index}."
                )

    @property
    def attention_layers(self) -> int:
        """How many kept layers have attention: the number of layers a cache needs."""
        return sum(1 for p in self.layers if p.heads.count)

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON: a prefix as its count, a chosen set as a list of indices."""

        def plain(kept: Kept) -> int | list[int]:
            return kept.count if kept.is_prefix else kept.indices().tolist()

        return {"layers": [{"index": p.index, "heads": plain(p.heads), "units": plain(p.units)} for p in self.layers]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Plan:
        def kept(value: int | list[int]) -> Kept:
            return Kept.first(value) if isinstance(value, int) else Kept.chosen(value)

        return cls.of([LayerPlan(p["index"], kept(p["heads"]), kept(p["units"])) for p in data["layers"]])
