"""Every best stack of decoder layers of one width: dynamic programming over layers, whose costs add up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from secateur.objectives import Objective
from secateur.pareto import non_dominated
from secateur.spaces.decoder import Decoder

#: Parts are counted in whole steps, this many for the largest part of a layer: sums are the same in whatever order.
STEPS = 2.0**40


class Around(NamedTuple):
    """What a decoder has beside its layers, and how many there are of them."""

    backbone: str
    width: int
    embedding: int
    factor: int
    layers: int


class LayerSums(ABC):
    """Quantities of decoders that follow from their layers' parts, added up (or, of some parts, the largest).

    No quantity falls where a part grows: so of two stacks of layers the one with the better parts is the better one.
    """

    #: The quantities.
    yields: tuple[str, ...]
    #: For each part, whether those of the layers are added up; else the largest counts.
    added: ClassVar[tuple[bool, ...]]

    @abstractmethod
    def parts(self, backbone: str, width: int, heads: np.ndarray, inner: np.ndarray) -> np.ndarray:
        """The parts (n, p) of single layers of this width, with these heads (n,) and inner widths (n,)."""

    @abstractmethod
    def quantities(self, around: Around, parts: np.ndarray) -> Mapping[str, np.ndarray]:
        """The quantities (n,) of decoders whose layers' parts come to `parts` (n, p); not finite where it knows none."""


def told_by(sums: Sequence[LayerSums]) -> set[str]:
    """The quantities that these tell together."""
    return {name for some in sums for name in some.yields}


class Columns:
    """The parts of all that is optimised or bounded, side by side, and which way each is better."""

    def __init__(self, sums: Sequence[LayerSums], wanted: Sequence[Objective]) -> None:
        needed = {o.name for o in wanted}
        self.sums = [s for s in sums if needed & set(s.yields)]
        self.added = np.array([a for s in self.sums for a in s.added], dtype=bool)
        self._ends = np.cumsum([len(s.added) for s in self.sums])[:-1]
        #: (place of the part, sign): part × sign is to be small. One that is bounded on both sides has both.
        self.signed = [
            (place, sign)
            for place, signs in enumerate(signs for s in self.sums for signs in [_signs(s, wanted)] * len(s.added))
            for sign in signs
        ]

    def parts(self, backbone: str, width: int, kinds: np.ndarray) -> np.ndarray:
        """The parts (n, p) of single layers, of (heads, inner width) each."""
        return np.concatenate([s.parts(backbone, width, kinds[:, 0], kinds[:, 1]) for s in self.sums], axis=1)

    def quantities(self, around: Around, parts: np.ndarray) -> dict[str, np.ndarray]:
        """All quantities (n,) of decoders whose layers' parts come to `parts` (n, p)."""
        found: dict[str, np.ndarray] = {}
        for some, own in zip(self.sums, np.split(parts, self._ends, axis=1), strict=True):
            found |= some.quantities(around, own)
        return found

    def best(self, parts: np.ndarray) -> np.ndarray:
        """The places of those of the parts (n, p) that no others are better than, each once."""
        differ = np.ptp(parts, axis=0) > 0  # most searches have parts that all layers of a width have in common
        signed = [sign * parts[:, place] for place, sign in self.signed if differ[place]]
        return np.flatnonzero(non_dominated(np.stack(signed, axis=1), equal=False)) if signed else np.arange(1)


def _signs(sums: LayerSums, wanted: Sequence[Objective]) -> list[float]:
    """Which ways the quantities want the parts: +1 down, −1 up."""
    own = [o for o in wanted if o.name in sums.yields]
    down = any(o.upper is not None or o.direction == "min" for o in own)
    up = any(o.lower is not None or o.direction == "max" for o in own)
    return [*([1.0] if down else []), *([-1.0] if up else [])]


class Stacks(NamedTuple):
    """The best stacks of a number of layers: their parts (n, p), and for each the stack below it and the layer on top."""

    parts: np.ndarray
    below: np.ndarray
    top: np.ndarray


class Layers:
    """The layers of one width of the space, and the best stacks of them, of every height."""

    def __init__(self, columns: Columns, space: Decoder, width: int) -> None:
        kinds = np.array([(h, i) for i in space.allowed.inner_of[width] for h in space.allowed.heads_of[width]])
        parts = columns.parts(space.backbone, width, kinds)
        step = np.abs(parts).max(axis=0, initial=0.0) / STEPS
        # Whole numbers stay what they are.
        self._step = np.where((parts == np.rint(parts)).all(axis=0) | (step == 0), 1.0, step)
        parts = np.rint(parts / self._step)
        best = columns.best(parts)
        self.kinds, parts = kinds[best], parts[best]
        first = Stacks(parts, np.zeros(len(parts), dtype=np.int64), np.arange(len(parts)))
        self._stacks = [first]
        for layers in range(2, space.allowed.layers[-1] + 1):
            alike = space.homogeneous
            self._stacks.append(self._repeated(first, columns, layers) if alike else self._higher(self._stacks[-1], columns))

    def _repeated(self, first: Stacks, columns: Columns, layers: int) -> Stacks:
        """Stacks of one kind of layer."""
        return Stacks(np.where(columns.added, first.parts * layers, first.parts), first.top, first.top)

    def _higher(self, stacks: Stacks, columns: Columns) -> Stacks:
        """Stacks with one more layer. A stack on one that is not among the best is never better than on one that is."""
        layers = self._stacks[0].parts
        below, top = (a.ravel() for a in np.meshgrid(np.arange(len(stacks.parts)), np.arange(len(layers)), indexing="ij"))
        one, other = stacks.parts[below], layers[top]
        parts = np.where(columns.added, one + other, np.maximum(one, other))
        best = columns.best(parts)
        return Stacks(parts[best], below[best], top[best])

    def parts(self, layers: int) -> np.ndarray:
        """The parts (n, p) of the best stacks."""
        return self._stacks[layers - 1].parts * self._step

    def stack(self, layers: int, place: int) -> list[tuple[int, int]]:
        """(heads, inner width) of the layers of one of the best stacks, the widest first."""
        found = []
        for level in range(layers, 0, -1):
            stacks = self._stacks[level - 1]
            found.append(tuple(self.kinds[stacks.top[place]].tolist()))
            place = int(stacks.below[place])
        return sorted(found, key=lambda kind: (-kind[1], -kind[0]))
