"""NSGA-II (Deb et al. 2002), as Optuna implements it, behind ask and tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, MissingExtraError
from secateur.objectives import Objective
from secateur.rng import Generator
from secateur.search.base import Searcher
from secateur.spaces.base import Space
from secateur.spaces.product import ProductSpace
from secateur.trial import Trial, level

if TYPE_CHECKING:
    from secateur.search.optuna_nsga2 import Population


class Nsga2(Searcher):
    """Selection, crossover and mutation are Optuna's; one whole-number parameter per dimension of the space.

    A generation is the next `population_size` complete results in the order told, so that the history alone says who the
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
        population_size: int = 50,
        **more: Any,
    ) -> None:
        if population_size < 2:
            raise ConfigurationError(f"`population_size` must be at least 2: a child has two parents, got {population_size}.")
        super().__init__(space, objectives, *base, **more)
        self.population_size = population_size
        self._space = cast(ProductSpace, space)
        self._population = self._new_population()
        self._level = self._largest

    @classmethod
    def refuses(cls, space: Space, objectives: Sequence[Objective]) -> str | None:
        if not isinstance(space, ProductSpace):
            return f"`nsga2` needs a space of whole numbers, which `{space.name}` is not. Use `random`, `local` or `mo-rea`."
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
        return Population([len(d) for d in self._space.domains], len(self.objectives), self.population_size)

    def _learn(self, trial: Trial) -> None:
        if trial.complete and level(trial.budget) == self._largest:
            if self._largest > self._level:  # values at a smaller budget do not compare with this one's
                self._level, self._population = self._largest, self._new_population()
            self._population.add(self._space.indices(trial.architecture), self.points([trial])[0])

    def _propose(self, rng: Generator) -> Architecture | None:
        if len(self._population) < self.population_size:
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
