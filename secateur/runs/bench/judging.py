"""How one proxy ranks the networks of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secateur.rng import generator
from secateur.runs.bench.scoring import Score
from secateur.tables import FrontAccuracy, Ranking, Table, front_accuracy, rank

#: What a proxy's front is compared over, where the table has it.
COSTS = ("latency", "memory")
TRUE = "perplexity"


@dataclass(frozen=True)
class Judged:
    """One proxy: its rankings by bin (the last is of all networks), its fronts by cost, and what a score costs.

    `flops` and `seconds` are means per network; `counted` says over how many networks the FLOPs were counted.
    """

    name: str
    networks: int
    rankings: list[Ranking]
    fronts: dict[str, FrontAccuracy]
    flops: float | None
    counted: int
    seconds: float | None
    failures: dict[str, int] = field(default_factory=dict)

    @property
    def overall(self) -> Ranking | None:
        return self.rankings[-1] if self.rankings else None

    def as_dict(self) -> dict[str, Any]:
        """One row of the table."""
        row: dict[str, Any] = {"proxy": self.name, "networks": self.networks}
        row |= figures(self.overall, "spearman", "kendall")
        reason = "; ".join(f"{count} × {why}" for why, count in self.failures.items())
        return {**row, "flops": self.flops, "seconds": self.seconds, "failed": sum(self.failures.values()), "reason": reason}


def figures(ranking: Ranking | None, *names: str) -> dict[str, float | None]:
    """Some of a ranking's figures, each with the ends of its interval as `…_low` and `…_high`."""
    found: dict[str, float | None] = {}
    for name in names:
        interval = getattr(ranking, f"{name}_interval", None)
        low, high = getattr(interval, "low", None), getattr(interval, "high", None)
        found |= {name: getattr(ranking, name, None), f"{name}_low": low, f"{name}_high": high}
    return found


def judge(name: str, table: Table, scores: Sequence[Score], seed: int) -> Judged:
    """How a proxy ranks the networks that it has a score for; one row of the table and one score per architecture."""
    has = np.array([s.score is not None for s in scores], dtype=bool)
    known = table.take(has)
    true, values = known.column(TRUE), np.array([s.score for s in scores if s.score is not None])
    fronts = {}
    for cost in COSTS:
        costs = known.column(cost)
        there = np.isfinite(costs)
        if (found := front_accuracy(true[there], values[there], costs[there])) is not None:
            fronts[cost] = found
    flops = [s.flops for s in scores if s.score is not None and s.flops is not None]
    seconds = [s.seconds for s in scores if s.score is not None and s.seconds is not None]
    return Judged(
        name,
        len(known),
        rank(true, values, rng=generator(seed, "bootstrap", name)) if len(known) else [],
        fronts,
        float(np.mean(flops)) if flops else None,
        len(flops),
        float(np.mean(seconds)) if seconds else None,
        dict(Counter(s.failure for s in scores if s.score is None)),
    )
