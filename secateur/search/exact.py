"""The exact front of decoders, where the costs of layers add up: no candidate is drawn, the best are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, product, zip_longest
from typing import Any, NamedTuple

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.objectives import Objective, excess
from secateur.pareto import non_dominated
from secateur.pareto.spread import spread
from secateur.rng import Generator, generator
from secateur.search.base import Searcher
from secateur.search.layer_sums import Around, Columns, Layers, LayerSums, told_by
from secateur.spaces.base import Space
from secateur.spaces.decoder import Decoder, architecture
from secateur.trial import Trial

Sums = Callable[[], Sequence[LayerSums]]


class Exact(Searcher):
    """Proposes the members of the exact front, spread over it: any number of them covers all of it.

    For each width, layers are interchangeable, and a stack of them is as good as its parts' sums: so the best stacks of n + 1
    layers are the best of n with one layer more (`layer_sums`). Together with every embedding they are all that can lie on the
    front. `sums` gives, when first asked, what tells all objectives and `bounds` from such sums; the searcher refuses others.
    """

    name = "exact"
    ending = "The whole front was tried: it has {ended} architectures."

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        sums: Sums = tuple,
        bounds: Sequence[Objective] = (),
        **more: Any,
    ) -> None:
        super().__init__(space, objectives, *base, **more)
        self._sums = sums
        self._bounds = tuple(bounds)
        self._order: Iterator[int] | None = None

    @classmethod
    def refuses(cls, space: Space, objectives: Sequence[Objective]) -> str | None:
        return None if isinstance(space, Decoder) else f"`{cls.name}` searches the space `decoder`, not `{space.name}`."

    @cached_property
    def solution(self) -> Solution:
        """The whole front."""
        assert isinstance(self.space, Decoder)
        return Solution.of(self.space, self._sums(), self.objectives, self._bounds)

    def _propose(self, rng: Generator) -> Architecture | None:
        if self._order is None:
            self._order = self.solution.order(generator(self.seed, "order"))
        return next((a for a in map(self.solution.architecture, self._order) if self._is_new(a)), None)

    def retract(self, trial: Trial) -> None:
        super().retract(trial)
        self._order = None  # from the beginning: what was seen is left out

    def _left_over(self, rng: Generator) -> Architecture | None:
        return None  # what is off the front is not worth a trial


class Solution:
    """The exact front: `points` (n, m), signed so that every column is minimised, and the architecture of each.

    Where nothing keeps the bounds, it is empty, and `nearest` has the quantities of what breaks them by the least.
    """

    def __init__(self, space: Decoder, layers: Mapping[int, Layers], found: Found) -> None:
        self.space, self._layers = space, layers
        self.points, self._places, self.nearest = found.points, found.places, found.nearest

    @classmethod
    def of(
        cls, space: Decoder, sums: Sequence[LayerSums], objectives: Sequence[Objective], bounds: Sequence[Objective] = ()
    ) -> Solution:
        """Solve it. Raises ConfigurationError for an objective or bound that the `sums` do not tell."""
        wanted = [*objectives, *bounds]
        known = told_by(sums)
        unknown = list(dict.fromkeys(o.name for o in wanted if o.name not in known))
        if unknown:
            raise ConfigurationError(
                f"`{Exact.name}` needs costs that add up over the layers, and {', '.join(f'`{n}`' for n in unknown)} does not."
            )
        columns, allowed = Columns(sums, wanted), space.allowed
        layers = {width: Layers(columns, space, width) for width in allowed.width}
        parts = [_of_width(space, width, layers[width], columns, objectives, wanted).best() for width in allowed.width]
        return cls(space, layers, Found.together(parts).best())

    def __len__(self) -> int:
        return len(self.points)

    def architecture(self, place: int) -> Architecture:
        """The architecture of a point."""
        width, layers, pair, stack = self._places[place].tolist()
        kinds = self._layers[width].stack(layers, stack)
        embedding, factor = self.space.allowed.pairs_of[width][pair]
        return architecture(self.space.backbone, width, [h for h, _ in kinds], [i for _, i in kinds], embedding, factor)

    def order(self, rng: Generator) -> Iterator[int]:
        """The places of all points, spread over the front and, in turn, over the fronts of the first objective and another."""
        whole = spread(self.points, int(rng.integers(max(len(self), 1))))
        slices = [np.flatnonzero(non_dominated(self.points[:, [0, m]], equal=False)) for m in range(1, self.points.shape[1])]
        turns = [map(some.tolist().__getitem__, spread(self.points[some])) for some in slices if len(some) < len(self)]
        seen: set[int] = set()
        for place in chain.from_iterable(zip_longest(whole, *turns)):
            if place is not None and place not in seen:
                seen.add(place)
                yield place


class Found(NamedTuple):
    """Points (n, m), where each comes from (n, 4: width, layers, place of the embedding, place of the stack), and of what keeps
    no bounds the nearest: by how much it breaks them, and its quantities."""

    points: np.ndarray
    places: np.ndarray
    excess: float
    nearest: dict[str, float] | None

    def best(self) -> Found:
        """Those that no others dominate, of equal ones the first."""
        kept = non_dominated(self.points, equal=False)
        return self._replace(points=self.points[kept], places=self.places[kept])

    @classmethod
    def together(cls, parts: Sequence[Found]) -> Found:
        points, places = (np.concatenate(some) for some in ([p.points for p in parts], [p.places for p in parts]))
        nearest = min(parts, key=lambda p: p.excess)
        return cls(points, places, nearest.excess, None if len(points) else nearest.nearest)


def _of_width(
    space: Decoder,
    width: int,
    layers: Layers,
    columns: Columns,
    objectives: Sequence[Objective],
    wanted: Sequence[Objective],
) -> Found:
    """Every best stack of this width, with every embedding."""
    found = []
    for (pair, (embedding, factor)), depth in product(enumerate(space.allowed.pairs_of[width]), space.allowed.layers):
        quantities = columns.quantities(Around(space.backbone, width, embedding, factor, depth), layers.parts(depth))
        points = np.stack([o.sign * quantities[o.name] for o in objectives], axis=1)
        places = np.empty((len(points), 4), dtype=np.int64)
        places[:] = width, depth, pair, 0
        places[:, 3] = np.arange(len(points))
        broken = np.where(np.isfinite(points).all(axis=1), 0.0, np.inf) + excess(quantities, wanted)
        near, kept = int(np.argmin(broken)), broken == 0
        there = {name: float(values[near]) for name, values in quantities.items()}
        found.append(Found(points[kept], places[kept], float(broken[near]), there))
    return Found.together(found)
