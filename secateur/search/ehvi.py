"""Expected hypervolume improvement: Bayesian optimisation of several objectives, with BoTorch (Daulton et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, MissingExtraError
from secateur.objectives import Objective
from secateur.rng import Generator
from secateur.search.base import Result, Searcher
from secateur.spaces.base import Space

if TYPE_CHECKING:
    from secateur.search.botorch_ehvi import Acquisition


class Ehvi(Searcher):
    """Gaussian processes on the encoded architectures; the candidate with the largest expected gain in hypervolume is next.

    The first `initial` proposals are the upper bound and random draws. Candidates are all points of a small space; else
    random draws with mutations and crossovers of the front, refined around the best. Results that broke a bound never become
    numbers: they lower the chance of being feasible that the gain is multiplied by. Everything is a function of the history,
    so a resumed search goes on as if it had never stopped. `iterations` bounds the fit of the models: 50 let the length scales
    settle, and keep a suggestion at 100 observations below two seconds.
    """

    name = "ehvi"
    #: A Gaussian process with distances over more dimensions than this learns nothing from a few hundred observations.
    most_dimensions = 200
    #: Observations that a model is fitted to; of more, the front and a random part of the rest.
    most_observations = 300
    #: A space of at most this many points is scored whole.
    enumerable = 2000
    #: Random candidates in a larger space; as many again come from the front.
    candidates = 750

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        seed: int = 0,
        take_extra: bool = True,
        initial: int = 10,
        iterations: int = 50,
    ) -> None:
        if initial < 2:
            raise ConfigurationError(f"`initial` must be at least 2, got {initial}: a model needs observations that differ.")
        if iterations < 1:
            raise ConfigurationError(f"`iterations` must be at least 1, got {iterations}.")
        super().__init__(space, objectives, seed, take_extra)
        _library()  # a missing library is said now, not after the first evaluations
        self.initial = initial
        self.iterations = iterations
        #: How often a model could not be fitted and a random architecture was proposed instead.
        self.fallbacks = 0
        self._spread = 0
        self._every: list[Architecture] | None = None

    @classmethod
    def refuses(cls, space: Space, objectives: Sequence[Objective]) -> str | None:
        if len(objectives) < 2:
            return f"`ehvi` trades objectives off and needs at least two, got {len(objectives)}. Use `local` or `mo-rea`."
        if space.dimensions > cls.most_dimensions:
            return (
                f"`ehvi` serves spaces of at most {cls.most_dimensions} dimensions, `{space.name}` has {space.dimensions} "
                "here: a Gaussian process learns nothing there. Use `random`, `local` or `mo-rea`."
            )
        return None

    def _learn(self, result: Result) -> None:
        # The depths of one pass lie on one line of the space: they inform the model, but are no spread to start it from.
        self._spread += result.origin != "sweep"

    def _propose(self, rng: Generator) -> Architecture | None:
        complete = self.complete()
        if max(self._spread + len(self.pending), self.asked) < self.initial or len(complete) < 2:
            start = self.space.largest()
            return start if start.key not in self.seen else self._unseen(lambda: self.space.sample(rng))
        pool = self._pool(rng)
        if not pool:
            return None
        acquisition = self._fitted(complete, rng)
        if acquisition is None:
            self.fallbacks += 1
            return pool[int(rng.integers(len(pool)))]
        scores = acquisition(self.space.encode_many(pool))
        if self._every is None:
            best = [pool[i] for i in np.argsort(-scores, kind="stable")[:5]]
            near = self._new((self.space.mutate(a, rng) for a in best for _ in range(30)), {a.key for a in pool})
            pool += near
            scores = np.concatenate([scores, acquisition(self.space.encode_many(near))])
        return pool[int(np.argmax(scores))]

    def _fitted(self, complete: list[Result], rng: Generator) -> Acquisition | None:
        observed = self._chosen(complete, rng)
        broken = [r.architecture for r in self.history if r.status == "infeasible"][-self.most_observations :]
        return _library()(
            self.space.encode_many([r.architecture for r in observed]),
            self.points(observed),
            waiting=self.space.encode_many(list(self.pending.values())),
            infeasible=self.space.encode_many(broken),
            iterations=self.iterations,
            seed=int(rng.integers(2**31)),
        )

    def _chosen(self, complete: list[Result], rng: Generator) -> list[Result]:
        """At most `most_observations` results, in the order told: the front first, then a random part of the rest."""
        if len(complete) <= self.most_observations:
            return complete
        front = {id(r) for r in self._front}
        priority = np.array([id(r) not in front for r in complete]) + rng.random(len(complete))
        return [complete[i] for i in np.sort(np.argsort(priority)[: self.most_observations])]

    def _pool(self, rng: Generator) -> list[Architecture]:
        """The candidates: unseen, each once."""
        if self.space.size() <= self.enumerable:
            if self._every is None:
                self._every = list(self.space.every())
            return self._new(self._every)
        front = [r.architecture for r in self._front]

        def of_front() -> Architecture:
            a, b = front[int(rng.integers(len(front)))], front[int(rng.integers(len(front)))]
            return self.space.mutate(self.space.crossover(a, b, rng) if rng.random() < 0.5 else a, rng)

        pool = self._new(self.space.sample_many(self.candidates, rng))
        return pool + self._new((of_front() for _ in range(self.candidates)), {a.key for a in pool})

    def _new(self, architectures: Iterable[Architecture], known: set[str] | None = None) -> list[Architecture]:
        found: dict[str, Architecture] = {}
        for a in architectures:
            if a.key not in self.seen and not (known and a.key in known):
                found.setdefault(a.key, a)
        return list(found.values())


def _library() -> Callable[..., Acquisition | None]:
    try:
        from secateur.search.botorch_ehvi import fitted
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("secateur"):
            raise
        raise MissingExtraError("botorch", "bo") from error
    return fitted
