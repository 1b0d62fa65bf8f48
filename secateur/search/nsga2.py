"""NSGA-II (Deb et al. 2002), as Optuna implements it, behind ask and tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, MissingExtraError
from secateur.objectives import Objective
from secateur.rng import Generator
from secateur.search.base import Searcher, fitting
from secateur.spaces.base import Space
from secateur.spaces.pool import Pool
from secateur.spaces.product import ProductSpace
from secateur.trial import Trial, level

if TYPE_CHECKING:
    from secateur.search.optuna_nsga2 import Population


class Nsga2(Searcher):
    """Selection, crossover and mutation are Optuna's; one whole-number parameter per dimension of the space.

    A generation is the next `population` complete results in the order told, so that the history alone says who the
    parents are. A child that was seen before is mutated until it is new.
    """

    name = "nsga2"
    #: Above this many dimensions, Optuna's bookkeeping per parameter takes longer than many an evaluation.
    most_dimensions = 1000

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        population: int = 50,
        **more: Any,
    ) -> None:
        self._check(population)
        super().__init__(space, objectives, *base, **more)
        self.population = population
        self._space = cast(ProductSpace, space)
        self._population = self._new_population()
        self._level = self._best.largest

    @staticmethod
    def _check(population: int) -> None:
        if population < 2:
            raise ConfigurationError(f"`population` must be at least 2: a child has two parents, got {population}.")

    @classmethod
    def sizes(cls, trials: int, population: int | None = None, sample: int | None = None) -> dict[str, int]:
        super().sizes(trials, sample=sample)
        population = fitting(trials, 50) if population is None else population
        cls._check(population)
        return {"population": population}

    @classmethod
    def refuses(cls, space: Space, objectives: Sequence[Objective]) -> str | None:
        if not isinstance(space, ProductSpace):
            what = f"a part of `{space.name}`" if isinstance(space, Pool) else f"`{space.name}`"
            return f"`nsga2` needs a space of whole numbers, which {what} is not. Use `random`, `local` or `mo-rea`."
        if space.dimensions > cls.most_dimensions:
            return (
                f"`nsga2` needs a space of at most {cls.most_dimensions} dimensions, `{space.name}` has {space.dimensions} "
                "here. Use `random`, `local` or `mo-rea`."
            )
        return None

    def _new_population(self) -> Population:
        try:
            from secateur.search.optuna_nsga2 import Population
        except ModuleNotFoundError as error:
            if error.name and error.name.startswith("secateur"):
                raise
            raise MissingExtraError("optuna", "search") from error
        return Population([len(d) for d in self._space.domains], len(self.objectives), self.population)

    def _learn(self, trial: Trial) -> None:
        if trial.complete and level(trial.budget) == self._best.largest:
            if self._best.largest > self._level:  # values at a smaller budget do not compare with this one's
                self._level, self._population = self._best.largest, self._new_population()
            self._population.add(self._space.indices(trial.architecture), self.points([trial])[0])

    def _propose(self, rng: Generator) -> Architecture | None:
        if len(self._population) < self.population:
            # The space's own draw: uniform bits, as Optuna would draw them, are nearly all half full.
            return self._unseen(lambda: self.space.sample(rng))
        child = self._space.from_indices(np.asarray(self._population.child(int(rng.integers(2**31)))))
        if self._is_new(child):
            return child

        def step() -> Architecture:
            nonlocal child
            child = self._space.mutate(child, rng)
            return child

        return self._unseen(step)
