"""Optuna's NSGA-II on a study in memory. Imported only where `nsga2` is used: the one file that imports Optuna at its head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, IntDistribution
from optuna.samplers import NSGAIISampler
from optuna.trial import FrozenTrial, TrialState

from secateur.rng import generator


class OrderedNsga2(NSGAIISampler):
    """Optuna's sampler, with generations taken from the order in which results came.

    Optuna fixes a trial's generation when it is asked, by what was complete at that moment: a fact no history of results
    holds. Here generation g is the g-th `population` of the complete results, which a resumed search finds again.
    """

    def __init__(self, population_size: int, search_space: dict[str, BaseDistribution], seed: int) -> None:
        super().__init__(population_size=population_size, seed=seed)
        self._size = population_size
        self._known = {name: d for name, d in search_space.items() if not d.single()}
        # Optuna seeds crossover and mutation alike. Seeded for one child each, the first numbers of both streams would be the
        # same, and the value a gene mutates to would depend on whether there was a crossover.
        self._mutations = generator(seed, "mutation")

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self._known

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> int:
        assert isinstance(param_distribution, IntDistribution)
        return int(self._mutations.integers(param_distribution.low, param_distribution.high + 1))

    def get_trial_generation(self, study: optuna.Study, trial: FrozenTrial) -> int:
        return len(_complete(study)) // self._size

    def get_population(self, study: optuna.Study, generation: int) -> list[FrozenTrial]:
        return _complete(study)[generation * self._size : (generation + 1) * self._size]


def _complete(study: optuna.Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])


class Population:
    """Complete results in, children out; all objectives minimised.

    `counts`: how many values each dimension has; a point is a vector of indices below them.
    """

    def __init__(self, counts: Sequence[int], objectives: int, population_size: int) -> None:
        self._names = [f"x{i}" for i in range(len(counts))]
        self._space: dict[str, BaseDistribution] = {
            name: IntDistribution(0, count - 1) for name, count in zip(self._names, counts, strict=True)
        }
        self._size = population_size
        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # 'A new study created' is no news to our user
        try:
            self._study = optuna.create_study(directions=["minimize"] * objectives)
        finally:
            optuna.logging.set_verbosity(verbosity)
        self._told = 0

    def __len__(self) -> int:
        return self._told

    def add(self, point: Sequence[int] | np.ndarray, values: Sequence[float] | np.ndarray) -> None:
        """A complete result: indices (d,) and objective values (m,)."""
        params: dict[str, Any] = {name: int(v) for name, v in zip(self._names, point, strict=True)}
        self._study.add_trial(
            optuna.trial.create_trial(params=params, distributions=self._space, values=[float(v) for v in values])
        )
        self._told += 1
        if self._told % self._size == 0:
            # Optuna returns the parents in another order when it selects them than when it reads them back. Selecting them here
            # makes every child come from the second, whether or not the search was stopped in between.
            self._sampler(0).get_parent_population(self._study, self._told // self._size)

    def child(self, seed: int) -> list[int]:
        """The indices (d,) of one child; a random point while the first generation is incomplete."""
        self._study.sampler = self._sampler(seed)
        trial = self._study.ask(self._space)
        self._study.tell(trial, state=TrialState.FAIL)  # only results that are told count
        return [int(trial.params[name]) for name in self._names]

    def _sampler(self, seed: int) -> OrderedNsga2:
        return OrderedNsga2(self._size, self._space, seed)
