"""A trial: an architecture at a budget, and what came of it. One value from the proposal to the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from secateur.architecture import Architecture

#: Where a trial comes from: a searcher asked for it, it came for free with another one, its masks were chosen, it was
#: fine-tuned or it was measured, all three after the search.
ORIGINS = ASKED, SWEEP, MASKS, POLISH, MEASURED = "asked", "sweep", "masks", "polish", "measured"

#: (budget, values), by rising budget.
Curve = tuple[tuple[float, Mapping[str, float]], ...]


class Status(StrEnum):
    """`complete`: all objectives have values. `infeasible`: a bound is broken. `failed`: `reason` says why."""

    RUNNING = "running"
    COMPLETE = "complete"
    INFEASIBLE = "infeasible"
    FAILED = "failed"


@dataclass(frozen=True)
class Trial:
    """One evaluation of one architecture, from the moment it is proposed.

    `id` is the proposal's number, None where nobody asked: then `origin` says where it comes from. `budget` is what may be
    spent on it, None where there is no choice; `continues` names the trial (by id) whose training it goes on with. `curve`
    holds values at smaller budgets, `seconds` what it cost, by the clock or, on a table, as it was once. `number` is the row
    in the store, `told` the place in the order in which the searcher was told (None while running, and where it never is).
    """

    id: int | None
    architecture: Architecture
    status: str = Status.COMPLETE
    values: Mapping[str, float] = field(default_factory=dict)
    budget: float | None = None
    reason: str | None = None
    origin: str = ASKED
    details: Mapping[str, float | str] = field(default_factory=dict)
    curve: Curve = ()
    seconds: float | None = None
    continues: int | None = None
    number: int | None = None
    started: float = 0.0
    finished: float | None = None
    told: int | None = None

    @property
    def key(self) -> str:
        """The architecture's identity."""
        return self.architecture.key

    @property
    def point(self) -> tuple[str, float | None]:
        """What is evaluated once: an architecture at a budget."""
        return self.architecture.key, self.budget

    @property
    def complete(self) -> bool:
        return self.status == Status.COMPLETE


def level(budget: float | None) -> float:
    """Budgets in order: where there is no choice of budget, all of it was spent."""
    return math.inf if budget is None else budget
