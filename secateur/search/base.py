"""Searchers: ask for architectures to try, tell what came of them. A searcher knows a space and objectives, nothing of models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.objectives import Objective, matrix
from secateur.pareto import non_dominated
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
    comes from. `status` is complete (all objectives have values), infeasible (a bound is violated: `values` may lack some) or failed.
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
    takes_extra: ClassVar[bool] = True
    #: How often a draw is repeated to find an architecture not seen yet, before the searcher gives up.
    tries: ClassVar[int] = 500

    def __init__(self, space: Space, objectives: Sequence[Objective], seed: int = 0) -> None:
        reason = self.refuses(space, objectives)
        if reason:
            raise ConfigurationError(reason)
        self.space = space
        self.objectives = tuple(objectives)
        self.seed = seed
        self.asked = 0
        self.history: list[Result] = []
        self.seen: set[str] = set()

    @classmethod
    def refuses(cls, space: Space, objectives: Sequence[Objective]) -> str | None:
        """Why this searcher cannot serve the space and objectives, or None where it can."""
        return None

    def ask(self, n: int = 1) -> list[Proposal]:
        """Up to `n` proposals; fewer, or none, where nothing new was found within bounded tries."""
        proposals = []
        for _ in range(n):
            architecture = self._propose(generator(self.seed, "ask", self.asked))
            if architecture is None:
                break
            proposals.append(Proposal(self.asked, architecture))
            self.asked += 1
            self.seen.add(architecture.key)
        return proposals

    def tell(self, result: Result) -> None:
        """Take a result into account. One that nobody asked for is ignored unless the searcher takes such."""
        if result.id is None and not self.takes_extra:
            return
        self.seen.add(result.architecture.key)
        self.history.append(result)
        self._learn(result)

    def restore(self, history: Sequence[Result], pending: Sequence[Proposal] = ()) -> None:
        """Continue a search: `history` in the order it was told, `pending` what was asked and not told yet."""
        if self.asked or self.history:
            raise ConfigurationError("`restore` wants a new searcher: this one has already been asked or told.")
        for result in history:
            self.tell(result)
        self.seen.update(p.architecture.key for p in pending)
        ids = [r.id for r in history if r.id is not None] + [p.id for p in pending]
        self.asked = 1 + max(ids, default=-1)

    @abstractmethod
    def _propose(self, rng: Generator) -> Architecture | None:
        """One architecture not yet seen, or None where none was found."""

    def _learn(self, result: Result) -> None:  # noqa: B027 - most searchers read `history` instead
        """Hook: called for each result that is taken."""

    def _unseen(self, draw: Callable[[], Architecture]) -> Architecture | None:
        """The first draw whose key is new, within `tries`."""
        for _ in range(self.tries):
            architecture = draw()
            if architecture.key not in self.seen:
                return architecture
        return None

    def complete(self) -> list[Result]:
        """The complete results so far."""
        return [r for r in self.history if r.status == "complete"]

    def points(self, results: Sequence[Result]) -> np.ndarray:
        """The (n, m) objective values of results, all columns minimised."""
        return matrix([r.values for r in results], self.objectives)

    def front(self) -> list[Result]:
        """The non-dominated complete results."""
        results = self.complete()
        keep = non_dominated(self.points(results))
        return [r for r, kept in zip(results, keep, strict=True) if kept]
