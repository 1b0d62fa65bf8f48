"""One search on a table: what it saw, in order, and what its proposals took."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from secateur.architecture import digest
from secateur.encodings.learned import fingerprint
from secateur.runs.bench.contenders import Contender
from secateur.runs.bench.problem import Problem
from secateur.search.base import Searcher
from secateur.spaces.pruning import Small
from secateur.study import Stop, Study
from secateur.study.memory_store import MemoryStore
from secateur.tables import TableEstimator
from secateur.trial import Trial

#: The column that spells what a table has no rows of.
ARCHITECTURE = "architecture"


@dataclass(frozen=True)
class Search:
    """A search on a table, to be run once: for so many `queries`, or for so many simulated `seconds`; with `until_best` only
    until it has seen a value that nothing in the table is better than."""

    problem: Problem
    contender: Contender
    seed: int
    queries: int | None
    seconds: float | None
    depths: bool
    until_best: bool = False

    @property
    def cell(self) -> str:
        """A digest of all that its result depends on."""
        asked = (self.contender.name, self.seed, self.queries, self.seconds, self.depths, self.problem.budget)
        directed = [f"{o.direction} {o}" for o in self.problem.objectives]
        trained = [mark] if (mark := fingerprint(self.contender.encoding or "")) else []
        ends = ["until best"] if self.until_best else []
        return digest("search 3", self.problem.table.table.fingerprint, str(asked), *directed, *trained, *ends)

    def searcher(self) -> Searcher:
        """A new searcher. Raises ConfigurationError where it cannot serve the table."""
        queries = self.queries
        if queries is None:  # as many as trainings to the end would be
            queries = max(1, round((self.seconds or 0.0) / self.problem.mean_seconds))
        return self.contender.build(self.problem, self.seed, queries, self.depths)

    def _best(self, trial: Trial) -> bool:
        """Whether nothing in the table is better than a trial, so that no further one changes what is told of the best."""
        objective = self.problem.objectives[0]
        whole = trial.budget is None or trial.budget == self.problem.budget
        return trial.complete and whole and objective.sign * trial.values[objective.name] <= self.problem.best

    def run(self) -> list[dict[str, Any]]:
        """A row per network seen: after how many queries, seconds of this thread and simulated seconds (`clock`), its key, and
        its values at its budget, None where it has failed."""
        names = [o.name for o in self.problem.objectives]
        space = self.problem.table.space
        beside = space.depths if self.depths and isinstance(space, Small) else lambda _: ()
        times: list[float] = []
        clocks: list[float] = []
        bests: list[Trial] = []
        began = time.thread_time()

        def ended(trial: Trial) -> None:
            if self.until_best and self._best(trial):
                bests.append(trial)
            times.append(time.thread_time() - began)
            clocks.append((clocks[-1] if clocks else 0.0) + (trial.seconds or 0.0))

        table = self.problem.table.table
        # a surrogate's trainings have noise, another in each search
        seed = self.seed if table.answers_all else None
        estimator = TableEstimator(table, names, seed=seed, budget=self.problem.budget, beside=beside)
        study = Study(MemoryStore(), self.searcher(), [estimator], self.problem.objectives, on_trial=ended)
        for queries in range(1, self.queries + 1) if self.until_best and self.queries else [self.queries]:
            study.run(Stop(trials=queries, seconds=self.seconds))
            if bests or study.exhausted:
                break
        timed = table.seconds is not None
        said = {"table": self.problem.name, "searcher": self.contender.name, "seed": self.seed}
        rows: list[dict[str, Any]] = []
        query = 0
        for seen in sorted(study.trials(), key=lambda t: t.told or 0):
            query += seen.id is not None
            row = {**said, "query": query, "origin": seen.origin, "key": seen.key, "seconds": times[query - 1]}
            row |= {"clock": clocks[query - 1]} if timed else {}
            row["budget"] = self.problem.budget if seen.budget is None else seen.budget
            row |= {ARCHITECTURE: seen.architecture.to_json()} if table.answers_all else {}
            rows.append({**row, **{name: seen.values.get(name) for name in names}})
        return rows
