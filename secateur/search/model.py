"""Model-based search: encoding × predictor × acquisition × pool of candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings import Encoding, UnitCube
from secateur.encodings.surroundings import surroundings
from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.pareto import ranks
from secateur.predictors import Fitted, Predictor
from secateur.rng import Generator, generator
from secateur.search.acquisitions import STEADY
from secateur.search.base import Searcher
from secateur.search.feasibility import chance
from secateur.search.pools import Pool
from secateur.search.rounds import Rounds
from secateur.spaces.base import Space
from secateur.trial import SWEEP, Status, Trial, level

#: Scores (k,) of encoded candidates (k, d): the larger, the better; `additive` ones take a chance as its logarithm.
Scores = Callable[[np.ndarray], np.ndarray]
#: (what was fitted, the reference point (m,), a seed) → scores.
Acquisition = Callable[[Fitted, np.ndarray, int], Scores]


class Learnt(NamedTuple):
    """What was fitted, to which vectors (n, d), the reference (m,), the vectors (b, d) of what broke a bound, and a seed."""

    fitted: Fitted
    inputs: np.ndarray
    reference: np.ndarray
    broken: np.ndarray
    seed: int


class ModelSearcher(Searcher):
    """A predictor learns from encoded architectures; the candidate that the acquisition function scores highest is next.

    The first `initial` proposals are the space's start and random draws. A model is fitted for every `refit` proposals: with
    more than one, all of them are chosen by what was known when the first was asked. With `around`, neighbours of the best
    follow these proposals (`Rounds`), the nearest in the encoding (L2). Results that broke a bound never become
    numbers: they lower the chance of being feasible that the score is multiplied by. Everything is a function of the history,
    so a resumed search goes on as if it had never stopped. Objectives reach the predictor maximised, with mean 0 and
    deviation 1.
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
        refit: int = 1,
        around: int = 0,
        **more: Any,
    ) -> None:
        if initial < 2:
            raise ConfigurationError(f"`initial` must be at least 2, got {initial}: a model needs observations that differ.")
        if refit < 1:
            raise ConfigurationError(f"`refit` must be at least 1, got {refit}.")
        if around < 0:
            raise ConfigurationError(f"`around` must be at least 0, got {around}.")
        super().__init__(space, objectives, *base, **more)
        self.acquisition = acquisition
        self.encoding = encoding or UnitCube(space)
        self.predictor = predictor.for_encoding(self.encoding)
        self.pool = pool or Pool(space)
        self.initial, self.refit = initial, refit
        self._rounds = Rounds(self.objectives, initial, refit, around, self.seed)
        #: How often a model could not be fitted and a random candidate was proposed instead.
        self.fallbacks = 0
        self._spread = 0
        #: The last model with what it depends on.
        self._kept: tuple[Any, Learnt | None] = (None, None)
        #: What it depended on, and the places of a whole space by its scores.
        self._order: tuple[Any, list[int]] = (None, [])

    def _learn(self, trial: Trial) -> None:
        # The depths of one pass lie on one line of the space: they inform the model, but are no spread to start it from.
        self._spread += trial.origin != SWEEP

    def _propose(self, rng: Generator) -> Architecture | None:
        complete = self.complete()
        if max(self._spread + len(self.pending), self.asked) < self.initial or len(complete) < 2:
            start = self.space.start(rng)
            return start if self._is_new(start) else self._unseen(lambda: self.space.sample(rng))
        base = self._rounds.base(self.asked, self.history)
        if base is not None:
            near = surroundings(self.space, self.encoding).around(base, rng)
            if (found := next(filter(self._is_new, near), None)) is not None:
                return found
        whole = self.pool.every if self.refit > 1 and self.acquisition in STEADY else None
        if whole is not None and (learnt := self._learnt(rng)) is not None:
            return self._best_of(whole, learnt)
        pool = self.pool.candidates(self._parents(complete), self._is_new, rng)
        if not pool:
            return None
        learnt = self._learnt(rng)
        if learnt is None:
            self.fallbacks += 1
            return pool[int(rng.integers(len(pool)))]
        score = self._scores(learnt)
        return self.pool.best(pool, lambda some: score(self.pool.encoded(some, self.encoding)), self._is_new, rng)

    def _best_of(self, every: list[Architecture], learnt: Learnt) -> Architecture | None:
        """The new one that scores highest of a whole space, which one model scores once."""
        asked, _ = self._kept
        if self._order[0] != asked:
            scores = self._scores(learnt)(self.pool.encoded(every, self.encoding))
            self._order = asked, np.argsort(-scores, kind="stable").tolist()
        return next((every[place] for place in self._order[1] if self._is_new(every[place])), None)

    def _parents(self, complete: list[Trial]) -> list[Architecture]:
        """What candidates are mutated from: the front, and the best of the rest up to the pool's number."""
        front = self._best.trials
        if len(front) < self.pool.parents:
            order = np.argsort(ranks(self.points(complete)), kind="stable")[: self.pool.parents]
            front = [complete[i] for i in order]
        return [t.architecture for t in front]

    def _learnt(self, rng: Generator) -> Learnt | None:
        """The model of the next proposal; None where none could be fitted."""
        if self.refit == 1:
            return self._fitted(self.history, list(self.pending.values()), rng)
        first = self._rounds.first(self.asked, self.history)
        later = (i for i, t in enumerate(self.history) if t.id is not None and t.id >= first)
        known = self.history[: next(later, len(self.history))]
        waiting = [t for number, t in self.pending.items() if number < first]
        asked = (first, len(known), [t.id for t in waiting])
        if self._kept[0] != asked:
            self._kept = asked, self._fitted(known, waiting, generator(self.seed, "fit", first))
        learnt = self._kept[1]
        return None if learnt is None else learnt._replace(seed=int(rng.integers(2**31)))

    def _fitted(self, known: list[Trial], waiting: list[Trial], rng: Generator) -> Learnt | None:
        complete = [t for t in known if t.complete and level(t.budget) == self._best.largest]
        if len(complete) < 2:
            return None
        observed = self._chosen(complete, rng)
        broken = [t.architecture for t in known if t.status == Status.INFEASIBLE][-self.most_observations :]
        inputs = self.encoding.encode([t.architecture for t in observed])
        targets, reference = standardise(self.points(observed))
        vectors = self.encoding.encode([t.architecture for t in waiting])
        seed = int(rng.integers(2**31))
        fitted = self.predictor.fit(inputs, targets, waiting=vectors, seed=seed)
        return None if fitted is None else Learnt(fitted, inputs, reference, self.encoding.encode(broken), seed)

    def _scores(self, learnt: Learnt) -> Scores:
        """What scores candidates: by the acquisition function and the chance of keeping the bounds."""
        gain = self.acquisition(learnt.fitted, learnt.reference, learnt.seed)

        def score(candidates: np.ndarray) -> np.ndarray:
            if not len(candidates):
                return np.zeros(0)
            share = chance(candidates, learnt.inputs, learnt.broken)
            additive = getattr(gain, "additive", False)
            return np.asarray(gain(candidates) + np.log(share) if additive else gain(candidates) * share)

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
