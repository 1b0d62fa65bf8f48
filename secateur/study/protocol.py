"""What a study keeps of each trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from secateur.architecture import Architecture
from secateur.search.base import ASKED, Proposal, Result

RUNNING = "running"
COMPLETE = "complete"
INFEASIBLE = "infeasible"
FAILED = "failed"
STATUSES = (RUNNING, COMPLETE, INFEASIBLE, FAILED)

#: Origins beside `asked`: values that came for free with others, and sub-networks fine-tuned after the search.
SWEEP = "sweep"
POLISH = "polish"


@dataclass(frozen=True)
class Trial:
    """One row of the store.

    `number` counts rows as they were inserted, `id` is the proposal's (None where nobody asked), `told` the place in the order
    in which the searcher was told (None while running, and where it never is). Times are seconds since 1970.
    """

    number: int
    id: int | None
    architecture: Architecture
    status: str
    values: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, float | str] = field(default_factory=dict)
    reason: str | None = None
    origin: str = ASKED
    budget: float | None = None
    started: float = 0.0
    finished: float | None = None
    told: int | None = None

    def proposal(self) -> Proposal:
        """The proposal this trial began with. Raises ValueError where nobody asked."""
        if self.id is None:
            raise ValueError(f"trial {self.number} was not asked for: its origin is `{self.origin}`")
        return Proposal(self.id, self.architecture, self.budget)

    def result(self) -> Result:
        """What the searcher is told."""
        return Result(self.id, self.architecture, self.status, self.values, self.budget, self.reason, self.origin)


@dataclass(frozen=True)
class Extra:
    """Complete values of an architecture that nobody asked for, stored and told together with the trial they came from."""

    architecture: Architecture
    values: Mapping[str, float]
    details: Mapping[str, float | str] = field(default_factory=dict)
    origin: str = SWEEP
    budget: float | None = None


@dataclass(frozen=True)
class CacheEntry:
    """What one estimator found of one architecture: `fingerprint` says what the values hold for."""

    key: str
    fingerprint: str
    values: Mapping[str, float]
    details: Mapping[str, float | str] = field(default_factory=dict)
