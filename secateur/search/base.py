"""Searchers: ask for architectures to try, tell what came of them. A searcher knows spaces and objectives, no models."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.objectives import Objective, matrix
from secateur.pareto import non_dominated
from secateur.rng import Generator, generator
from secateur.search.running_front import RunningFront
from secateur.spaces.base import Space
from secateur.trial import Status, Trial, level


def fitting(trials: int, most: int) -> int:
    """A population for so many trials: a tenth of them, so that most are bred and not drawn, but 10 to `most`."""
    return min(most, max(10, trials // 10))


def without_sizes(searcher: str, population: int | None, sample: int | None) -> dict[str, int]:
    """The sizes of a searcher that has neither. Raises ConfigurationError where one is given."""
    for name, given in (("population", population), ("sample", sample)):
        if given is not None:
            raise ConfigurationError(f"`{name}` cannot be set: the searcher `{searcher}` has none.")
    return {}


@dataclass(frozen=True)
class Aim:
    """Draws that a searcher mixes with its own proposals: each proposal is one of them with probability `share`."""

    draw: Callable[[Generator], Architecture]
    share: float


class Searcher(ABC):
    """Subclasses say how to propose one architecture; the bookkeeping is here.

    The generator of each proposal comes from (seed, proposal number), so `restore` resumes without replaying.
    """

    name: str
    #: What to say where it has nothing more to propose.
    ending: ClassVar[str] = "The searcher found nothing new after {tried} trials and stopped."
    #: Whether results that nobody asked for are taken into account.
    takes_extra: bool = True
    #: How often a draw is repeated to find an architecture not seen yet.
    tries: ClassVar[int] = 500
    #: A space of at most this many points is searched for what is left, once draws find nothing new.
    scan: ClassVar[int] = 4096

    def __init__(
        self, space: Space, objectives: Sequence[Objective], seed: int = 0, take_extra: bool = True, aim: Aim | None = None
    ) -> None:
        reason = self.refuses(space, objectives) if objectives else f"`{self.name}` needs at least one objective, got none."
        if reason:
            raise ConfigurationError(reason)
        self.space = space
        self.objectives = tuple(objectives)
        self.seed = seed
        self.takes_extra = self.takes_extra and take_extra
        self.aim = aim
        self.asked = 0
        #: All that was told and taken, in order.
        self.history: list[Trial] = []
        #: What was asked or told: (key, budget).
        self.seen: set[tuple[str, float | None]] = set()
        #: What was asked and not told yet, by proposal number.
        self.pending: dict[int, Trial] = {}
        #: The front at the largest budget that was told.
        self._best = RunningFront(len(self.objectives))

    @classmethod
    def refuses(cls, space: Space, objectives: Sequence[Objective]) -> str | None:
        """Why this searcher cannot serve the space and objectives, or None where it can."""
        return None

    @classmethod
    def sizes(cls, trials: int, population: int | None = None, sample: int | None = None) -> dict[str, int]:
        """The sizes of its population and of the sample drawn from it: as given, else as they fit so many trials.

        Raises ConfigurationError for one that this searcher does not have.
        """
        return without_sizes(cls.name, population, sample)

    def ask(self, n: int = 1) -> list[Trial]:
        """Up to `n` trials to run; fewer, or none, where nothing new was found within bounded tries."""
        asked = []
        for _ in range(n):
            trial = self._next_trial(generator(self.seed, "ask", self.asked))
            if trial is None:
                break
            asked.append(trial)
            self.pending[self.asked] = trial
            self.asked += 1
            self.seen.add(trial.point)
        return asked

    def tell(self, trial: Trial) -> None:
        """Take a result into account.

        One that nobody asked for is ignored where the searcher declines such, or where it lacks an objective; from outside the
        space it only marks its key as seen. A complete result with a missing or non-finite value is refused: it failed.
        """
        bad = self._faulty(trial)
        if trial.id is None:
            if not self.takes_extra or bad:
                return
            if not self.space.contains(trial.architecture):
                self.seen.add(trial.point)
                return
        elif bad:
            raise ConfigurationError(
                f"`{bad}` of {trial.architecture} must be a finite number in a complete result, got "
                f"{trial.values.get(bad, 'nothing')}. Report such a result as failed."
            )
        else:
            self.pending.pop(trial.id, None)
        self.seen.add(trial.point)
        self.history.append(trial)
        if trial.complete:
            self._best.add(trial, self.points([trial])[0])
        self._learn(trial)

    def restore(self, history: Sequence[Trial], pending: Sequence[Trial] = ()) -> None:
        """Continue a search: `history` in the order it was told, `pending` what was asked and not told yet."""
        if self.asked or self.history:
            raise ConfigurationError("`restore` needs a new searcher: this one has already been asked or told.")
        for trial in history:
            self.tell(trial)
        for trial in sorted(pending, key=lambda t: t.id or 0):
            assert trial.id is not None
            self.pending[trial.id] = trial
            self.seen.add(trial.point)
        self.asked = 1 + max((t.id for t in (*history, *pending) if t.id is not None), default=-1)

    def adopt(self, trial: Trial) -> None:
        """Take into account that another driver of the study asked this trial: the one after the last that is known here."""
        assert trial.id is not None
        self.pending[trial.id] = trial
        self.seen.add(trial.point)
        self.asked = trial.id + 1

    def retract(self, trial: Trial) -> None:
        """Take the last ask back: another driver of the study was first to ask a trial of this number."""
        assert trial.id is not None
        del self.pending[trial.id]
        self.seen.discard(trial.point)
        self.asked = trial.id

    @abstractmethod
    def _propose(self, rng: Generator) -> Architecture | None:
        """One architecture not yet seen, or None where none was found."""

    def _next_trial(self, rng: Generator) -> Trial | None:
        """The next trial. A searcher that chooses budgets, or goes on with earlier trials, overrides this."""
        architecture = self._new_architecture(rng)
        return None if architecture is None else Trial(self.asked, architecture, Status.RUNNING)

    def _new_architecture(self, rng: Generator) -> Architecture | None:
        """An aimed draw where it is time for one; else what the searcher proposes, else what is left."""
        if self.aim is not None and self.asked:  # the first is the searcher's own: it may begin at a special place
            own = generator(self.seed, "aim", self.asked)
            if own.random() < self.aim.share and (found := self._unseen(partial(self.aim.draw, own), 20)) is not None:
                return found
        return self._propose(rng) or self._left_over(rng)

    def may_continue(self, left: int) -> set[str]:
        """The keys of trials that one of the next `left` may continue, or that are just being continued: what they left must be
        kept."""
        return set()

    def _learn(self, trial: Trial) -> None:  # noqa: B027 - most searchers read `history` instead
        """Hook: called for each result that is taken."""

    def _is_new(self, architecture: Architecture, budget: float | None = None) -> bool:
        """Whether an architecture may be proposed, at this budget."""
        return (architecture.key, budget) not in self.seen

    def _unseen(self, draw: Callable[[], Architecture], tries: int | None = None) -> Architecture | None:
        """The first draw that is new, or None where `tries` draws found none."""
        for _ in range(self.tries if tries is None else tries):
            architecture = draw()
            if self._is_new(architecture):
                return architecture
        return None

    def _left_over(self, rng: Generator) -> Architecture | None:
        """What is left where `_propose` found nothing: a random draw, then, in a space small enough, any unseen point."""
        found = self._unseen(lambda: self.space.sample(rng))
        if found is not None or self.space.size() > self.scan:
            return found
        left = [a for a in self.space.every() if self._is_new(a)]
        return left[int(rng.integers(len(left)))] if left else None

    def _faulty(self, trial: Trial) -> str | None:
        """The first objective that a complete result lacks or has no finite number for, or None."""
        if not trial.complete:
            return None
        return next((o.name for o in self.objectives if not math.isfinite(trial.values.get(o.name, math.nan))), None)

    def complete(self, budget: float | None = None) -> list[Trial]:
        """The complete results at a budget, by default the largest so far: values at different budgets do not compare."""
        wanted = self._best.largest if budget is None else budget
        return [t for t in self.history if t.complete and level(t.budget) == wanted]

    def points(self, trials: Sequence[Trial]) -> np.ndarray:
        """The (n, m) objective values of results, all columns minimised."""
        return matrix([t.values for t in trials], self.objectives)

    def front(self, budget: float | None = None) -> list[Trial]:
        """The non-dominated complete results at a budget, by default the largest so far, in the order told; at the largest,
        one result per architecture and point."""
        if budget is None:
            return list(self._best.trials)
        found = self.complete(budget)
        return [t for t, kept in zip(found, non_dominated(self.points(found)), strict=True) if kept]
