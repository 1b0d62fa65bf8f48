"""Searchers: ask for architectures to try, tell what came of them. A searcher knows spaces and objectives, no models."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.objectives import Objective, matrix
from secateur.rng import Generator, generator
from secateur.spaces.base import Space

ASKED = "asked"


@dataclass(frozen=True)
class Proposal:
    """An architecture to evaluate, with the budget to spend on it (None where there is no choice of budget)."""

    id: int
    architecture: Architecture
    budget: float | None = None


@dataclass(frozen=True)
class Result:
    """What came of an architecture.

    `id` is the proposal's; None where nobody asked (a free depth, a cached or imported value), and then `origin` says where it
    comes from. `status` is complete (all objectives have values), infeasible (a bound is violated: `values` may lack some)
    or failed.
    """

    id: int | None
    architecture: Architecture
    status: str = "complete"
    values: Mapping[str, float] = field(default_factory=dict)
    budget: float | None = None
    reason: str | None = None
    origin: str = ASKED


class Searcher(ABC):
    """Subclasses say how to propose one architecture; the bookkeeping is here.

    The generator of each proposal comes from (seed, proposal number), so `restore` resumes without replaying.
    """

    name: ClassVar[str]
    #: Whether results that nobody asked for are taken into account.
    takes_extra: bool = True
    #: How often a draw is repeated to find an architecture not seen yet.
    tries: ClassVar[int] = 500
    #: A space of at most this many points is searched for what is left, once draws find nothing new.
    scan: ClassVar[int] = 4096

    def __init__(self, space: Space, objectives: Sequence[Objective], seed: int = 0, take_extra: bool = True) -> None:
        reason = self.refuses(space, objectives) if objectives else f"`{self.name}` needs at least one objective, got none."
        if reason:
            raise ConfigurationError(reason)
        self.space = space
        self.objectives = tuple(objectives)
        self.seed = seed
        self.takes_extra = self.takes_extra and take_extra
        self.asked = 0
        self.history: list[Result] = []
        self.seen: set[str] = set()
        #: What was asked and not told yet, by proposal number.
        self.pending: dict[int, Architecture] = {}
        self._front: list[Result] = []
        self._front_points = np.zeros((0, len(self.objectives)))

    @classmethod
    def refuses(cls, space: Space, objectives: Sequence[Objective]) -> str | None:
        """Why this searcher cannot serve the space and objectives, or None where it can."""
        return None

    def ask(self, n: int = 1) -> list[Proposal]:
        """Up to `n` proposals; fewer, or none, where nothing new was found within bounded tries."""
        proposals = []
        for _ in range(n):
            rng = generator(self.seed, "ask", self.asked)
            architecture = self._propose(rng)
            if architecture is None:
                architecture = self._left_over(rng)
            if architecture is None:
                break
            proposals.append(Proposal(self.asked, architecture))
            self.pending[self.asked] = architecture
            self.asked += 1
            self.seen.add(architecture.key)
        return proposals

    def tell(self, result: Result) -> None:
        """Take a result into account.

        One that nobody asked for is ignored where the searcher declines such, or where it lacks an objective; from outside the
        space it only marks its key as seen. A complete result with a missing or non-finite value is refused: it failed.
        """
        bad = self._faulty(result)
        if result.id is None:
            if not self.takes_extra or bad:
                return
            if not self.space.contains(result.architecture):
                self.seen.add(result.architecture.key)
                return
        elif bad:
            raise ConfigurationError(
                f"`{bad}` of {result.architecture} must be a finite number in a complete result, got "
                f"{result.values.get(bad, 'nothing')}. Tell such a result as failed."
            )
        else:
            self.pending.pop(result.id, None)
        self.seen.add(result.architecture.key)
        self.history.append(result)
        if result.status == "complete":
            self._update_front(result)
        self._learn(result)

    def restore(self, history: Sequence[Result], pending: Sequence[Proposal] = ()) -> None:
        """Continue a search: `history` in the order it was told, `pending` what was asked and not told yet."""
        if self.asked or self.history:
            raise ConfigurationError("`restore` wants a new searcher: this one has already been asked or told.")
        for result in history:
            self.tell(result)
        for proposal in sorted(pending, key=lambda p: p.id):
            self.pending[proposal.id] = proposal.architecture
            self.seen.add(proposal.architecture.key)
        ids = [r.id for r in history if r.id is not None] + [p.id for p in pending]
        self.asked = 1 + max(ids, default=-1)

    @abstractmethod
    def _propose(self, rng: Generator) -> Architecture | None:
        """One architecture not yet seen, or None where none was found."""

    def _learn(self, result: Result) -> None:  # noqa: B027 - most searchers read `history` instead
        """Hook: called for each result that is taken."""

    def _is_new(self, architecture: Architecture) -> bool:
        """Whether an architecture may be proposed."""
        return architecture.key not in self.seen

    def _unseen(self, draw: Callable[[], Architecture]) -> Architecture | None:
        """The first draw that is new, or None where `tries` draws found none."""
        for _ in range(self.tries):
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

    def _faulty(self, result: Result) -> str | None:
        """The first objective that a complete result lacks or has no finite number for, or None."""
        if result.status != "complete":
            return None
        return next((o.name for o in self.objectives if not math.isfinite(result.values.get(o.name, math.nan))), None)

    def _update_front(self, result: Result) -> None:
        # One comparison with the front per result: a front of all results per ask would cost more with every trial.
        point = self.points([result])[0]
        front = self._front_points
        no_worse = np.all(front <= point, axis=1)
        if np.any(no_worse & np.any(front < point, axis=1)):
            return
        if any(r.architecture.key == result.architecture.key for r, equal in zip(self._front, no_worse, strict=True) if equal):
            return
        keep = ~(np.all(point <= front, axis=1) & np.any(point < front, axis=1))
        self._front = [r for r, kept in zip(self._front, keep, strict=True) if kept] + [result]
        self._front_points = np.vstack([front[keep], point])

    def complete(self) -> list[Result]:
        """The complete results so far."""
        return [r for r in self.history if r.status == "complete"]

    def points(self, results: Sequence[Result]) -> np.ndarray:
        """The (n, m) objective values of results, all columns minimised."""
        return matrix([r.values for r in results], self.objectives)

    def front(self) -> list[Result]:
        """The non-dominated complete results, in the order told; one result per architecture and point."""
        return list(self._front)
