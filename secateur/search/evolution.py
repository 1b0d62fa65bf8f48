"""Evolution on the front, as LiteTransformerSearch searches (Javaheripi et al. 2022, algorithm 1), in the ask and tell form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.objectives import Objective, excess
from secateur.pareto import convex_hull
from secateur.rng import Generator, generator
from secateur.search.base import Searcher, fitting
from secateur.spaces.base import Space
from secateur.trial import Trial

Start = Callable[[], list[Architecture]]
Excess = Callable[[Architecture], float]


class Evolution(Searcher):
    """Random until `population` results are in. Then, in iterations, `parents` members of the front are drawn without
    replacement, less often those that were parents more often; `mutations` children have each dimension changed with
    `probability`, `crossovers` children take each dimension from either of two parents.

    An iteration ends when as many asked results are in as it has children. The front and the parents' draw are taken at that
    moment, from results alone, so that a resumed search has the same parents, whatever was pending. With `hull`, parents
    come from the lower convex hull of the front. What `start` gives comes before the random draws. `excess` says at no cost by
    how much an architecture breaks bounds: random draws are changed until they break none, and only such are proposed. `bounds`
    are on what is not optimised. While no result is feasible, every second proposal is a change of the results nearest to
    their bounds, the others random.

    By default a fifth of the population are parents, and two fifths each the mutations and the crossovers, as in the paper.
    """

    name = "evolution"

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        population: int = 100,
        parents: int | None = None,
        mutations: int | None = None,
        crossovers: int | None = None,
        probability: float = 0.3,
        hull: bool = False,
        start: Start = list,
        excess: Excess = lambda _: 0.0,
        bounds: Sequence[Objective] = (),
        **more: Any,
    ) -> None:
        parents = max(1, population // 5) if parents is None else parents
        mutations = max(1, 2 * population // 5) if mutations is None else mutations
        crossovers = max(1, 2 * population // 5) if crossovers is None else crossovers
        faults = [
            f"`{name}` must be at least {least}, got {value}."
            for name, value, least in (
                ("population", population, 1),
                ("parents", parents, 1),
                ("mutations", mutations, 0),
                ("crossovers", crossovers, 0),
                ("mutations` + `crossovers", mutations + crossovers, 1),
            )
            if value < least
        ]
        if not 0 < probability <= 1:
            faults.append(f"`probability` must be above 0 and at most 1, got {probability}.")
        if faults:
            raise ConfigurationError(faults)
        super().__init__(space, objectives, *base, **more)
        self.population = population
        self.mutations = mutations
        self.children = mutations + crossovers
        self.probability = probability
        self.hull = hull
        self._start = start
        self._excess_of = excess
        #: All that has bounds, optimised or not.
        self._bounded = (*self.objectives, *bounds)
        self._size = parents
        #: The parents of the current iteration; none in the random phase.
        self.parents: list[Architecture] = []
        #: How often an architecture was a parent, by key.
        self.visits: dict[str, int] = {}
        self.iteration = 0
        self._told = 0
        self._next = population

    @classmethod
    def sizes(cls, trials: int, population: int | None = None, sample: int | None = None) -> dict[str, int]:
        super().sizes(trials, sample=sample)
        return {"population": fitting(trials, 100) if population is None else population}

    def _learn(self, trial: Trial) -> None:
        if trial.id is None:
            return
        self._told += 1
        if self._told >= self._next and self._best.trials:
            self.iteration += 1
            self._next = self._told + self.children
            self.parents = self._drawn(generator(self.seed, "parents", self.iteration))
            for parent in self.parents:
                self.visits[parent.key] = self.visits.get(parent.key, 0) + 1

    def _drawn(self, rng: Generator) -> list[Architecture]:
        """The parents of an iteration, from the front as it is now."""
        front = self._best.trials
        if self.hull:
            front = [r for r, kept in zip(front, convex_hull(self._best.points), strict=True) if kept]
        visits = np.array([self.visits.get(r.architecture.key, 0) for r in front], dtype=np.float64)
        # Scaled to 0…1, as the authors do: the most visited is drawn half as often as the least visited.
        weights = 1 / (1 + (visits - visits.min()) / max(np.ptp(visits), 1.0))
        drawn = rng.choice(len(front), size=min(self._size, len(front)), replace=False, p=weights / weights.sum())
        return [front[i].architecture for i in drawn]

    def _propose(self, rng: Generator) -> Architecture | None:
        if not self.parents:
            begun = next((a for a in self._beginning if self._is_new(a)), None)
            near = self._nearly() if self.asked % 2 else []
            return begun or self._unseen(lambda: self._mutant(near, rng) if near else self._within_bounds(rng))
        crossing = (self.asked - self.population) % self.children >= self.mutations and len(self.parents) > 1
        found = self._unseen(lambda: self._cross(rng)) if crossing else None
        return found or self._unseen(lambda: self._mutant(self.parents, rng))

    @cached_property
    def _beginning(self) -> list[Architecture]:
        return self._start()

    def _within_bounds(self, rng: Generator) -> Architecture:
        """A random draw, changed step by step until it keeps the bounds that can be told at no cost."""
        found = self.space.sample(rng)
        excess = self._excess_of(found)
        for _ in range(self.tries):
            if excess == 0:
                break
            other = self.space.mutate(found, rng)
            if (less := self._excess_of(other)) <= excess:
                found, excess = other, less
        return found

    def _mutant(self, parents: Sequence[Architecture], rng: Generator) -> Architecture:
        return self.space.mutate(parents[int(rng.integers(len(parents)))], rng, self.probability)

    def _cross(self, rng: Generator) -> Architecture:
        a, b = rng.choice(len(self.parents), size=2, replace=False)
        return self.space.crossover(self.parents[a], self.parents[b], rng)

    def _nearly(self) -> list[Architecture]:
        """Results that break bounds by the least, once the population is in and none is feasible."""
        if self._told < self.population or self._best.trials:
            return []
        excess = [(e, i) for i, r in enumerate(self.history) if (e := self._excess(r)) > 0]
        return [self.history[i].architecture for _, i in sorted(excess)[: self._size]]

    def _excess(self, trial: Trial) -> float:
        """By how much a result breaks the absolute bounds on what it has values for, as shares of the bounds."""
        return float(excess(trial.values, self._bounded))

    def _is_new(self, architecture: Architecture, budget: float | None = None) -> bool:
        return super()._is_new(architecture, budget) and self._excess_of(architecture) == 0
