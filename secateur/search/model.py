"""Model-based search: encoding × predictor × acquisition × pool of candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings import Encoding, UnitCube
from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.predictors import Fitted, Predictor
from secateur.rng import Generator
from secateur.search.base import Searcher
from secateur.search.feasibility import chance
from secateur.search.pools import Pool
from secateur.spaces.base import Space
from secateur.trial import SWEEP, Status, Trial

#: Scores (k,) of encoded candidates (k, d): the larger, the better; `logarithmic` says what a product with a chance is.
Scores = Callable[[np.ndarray], np.ndarray]
#: (what was fitted, the reference point (m,), a seed) → scores.
Acquisition = Callable[[Fitted, np.ndarray, int], Scores]


class ModelSearcher(Searcher):
    """A predictor learns from encoded architectures; the candidate that the acquisition function scores highest is next.

    The first `initial` proposals are the space's start and random draws. Results that broke a bound never become numbers: they
    lower the chance of being feasible that the score is multiplied by. Everything is a function of the history, so a resumed
    search goes on as if it had never stopped. Objectives reach the predictor maximised, with mean 0 and deviation 1.
    """

    name = "model"
    #: Observations that a model is fitted to; of more, the front and a random part of the rest.
    most_observations = 300

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        predictor: Predictor,
        acquisition: Acquisition,
        encoding: Encoding | None = None,
        pool: Pool | None = None,
        initial: int = 10,
        **more: Any,
    ) -> None:
        if initial < 2:
            raise ConfigurationError(f"`initial` must be at least 2, got {initial}: a model needs observations that differ.")
        super().__init__(space, objectives, *base, **more)
        self.predictor, self.acquisition = predictor, acquisition
        self.encoding = encoding or UnitCube(space)
        self.pool = pool or Pool(space)
        self.initial = initial
        #: How often a model could not be fitted and a random candidate was proposed instead.
        self.fallbacks = 0
        self._spread = 0

    def _learn(self, trial: Trial) -> None:
        # The depths of one pass lie on one line of the space: they inform the model, but are no spread to start it from.
        self._spread += trial.origin != SWEEP

    def _propose(self, rng: Generator) -> Architecture | None:
        complete = self.complete()
        if max(self._spread + len(self.pending), self.asked) < self.initial or len(complete) < 2:
            start = self.space.start(rng)
            return start if self._is_new(start) else self._unseen(lambda: self.space.sample(rng))
        pool = self.pool.candidates([t.architecture for t in self._best.trials], self._is_new, rng)
        if not pool:
            return None
        score = self._fitted(complete, rng)
        if score is None:
            self.fallbacks += 1
            return pool[int(rng.integers(len(pool)))]
        return self.pool.best(pool, lambda some: score(self.encoding.encode(some)), self._is_new, rng)

    def _fitted(self, complete: list[Trial], rng: Generator) -> Scores | None:
        """What scores candidates after all that was told; None where no model could be fitted."""
        observed = self._chosen(complete, rng)
        broken = [t.architecture for t in self.history if t.status == Status.INFEASIBLE][-self.most_observations :]
        inputs = self.encoding.encode([t.architecture for t in observed])
        targets, reference = standardise(self.points(observed))
        seed = int(rng.integers(2**31))
        waiting = self.encoding.encode([t.architecture for t in self.pending.values()])
        fitted = self.predictor.fit(inputs, targets, waiting=waiting, seed=seed)
        if fitted is None:
            return None
        gain, infeasible = self.acquisition(fitted, reference, seed), self.encoding.encode(broken)

        def score(candidates: np.ndarray) -> np.ndarray:
            if not len(candidates):
                return np.zeros(0)
            share = chance(candidates, inputs, infeasible)
            logarithmic = getattr(gain, "logarithmic", False)
            return np.asarray(gain(candidates) + np.log(share) if logarithmic else gain(candidates) * share)

        return score

    def _chosen(self, complete: list[Trial], rng: Generator) -> list[Trial]:
        """At most `most_observations` results, in the order told: the front first, then a random part of the rest."""
        if len(complete) <= self.most_observations:
            return complete
        front = {id(t) for t in self._best.trials}
        priority = np.array([id(t) not in front for t in complete]) + rng.random(len(complete))
        return [complete[i] for i in np.sort(np.argsort(priority)[: self.most_observations])]


def standardise(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minimised points (n, m) as predictors get them: maximised, mean 0, deviation 1; and the reference (m,) on that scale.

    The reference is a tenth of each objective's range beyond the worst value observed. It goes through the same change of sign
    and scale as the points: left in the points' own sign, it lies beyond the front and the search collapses to one corner.
    """
    spread = points.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    width = np.ptp(points, axis=0)
    reference = points.max(axis=0) + 0.1 * np.where(width > 0, width, 1.0)
    centre = points.mean(axis=0)
    return -(points - centre) / scale, -(reference - centre) / scale
