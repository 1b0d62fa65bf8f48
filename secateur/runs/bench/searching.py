"""One search on a table: what it saw, in order, and what its proposals took."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from secateur.architecture import Architecture, digest
from secateur.catalogue import check, find
from secateur.errors import ConfigurationError
from secateur.objectives import Bound, Objective
from secateur.rng import Generator
from secateur.search import Aim
from secateur.search.base import Searcher
from secateur.spaces.pruning import PruningSpace, Small
from secateur.spaces.pruning.sizes import aimed
from secateur.study import Stop, Study
from secateur.study.memory_store import MemoryStore
from secateur.tables import TableEstimator
from secateur.tables.searchable import SearchTable
from secateur.trial import Trial

#: What `+aimed` aims at: sizes of the body.
BODY = "body_parameters"


@dataclass(frozen=True)
class Contender:
    """A searcher by name, with a population where one is given (`mo-rea:20`), and with a share of its trials aimed at sizes
    where it is called so (`local+aimed`): the share and the sizes that `secateur prune` has by default."""

    name: str
    searcher: str
    population: int | None = None
    aimed: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ConfigurationError, UnknownNameError."""
        plain, plus, more = text.partition("+")
        name, _, population = plain.partition(":")
        check("searcher", name, "prune")
        if name == "mo-asha":
            raise ConfigurationError("`mo-asha` stops trainings early: a table of pruned networks has nothing to stop.")
        if (plus and more != "aimed") or (population and not (population.isdecimal() and int(population))):
            raise ConfigurationError(f"`{text}` must be a searcher's name, or one with more such as mo-rea:20 or local+aimed.")
        return cls(text, name, int(population) if population else None, bool(plus))

    def build(self, table: SearchTable, objectives: Sequence[Objective], seed: int, trials: int, depths: bool) -> Searcher:
        """A new searcher. Raises ConfigurationError where it cannot serve the table."""
        kind = find("searcher", self.searcher)
        sizes = kind.sizes(trials, self.population)
        aim = Aim(self._drawn(table), find("run", "prune").settings.aimed) if self.aimed else None
        searcher: Searcher = kind(table.space, objectives, seed=seed, take_extra=depths, aim=aim, **sizes)
        return searcher

    def _drawn(self, table: SearchTable) -> Callable[[Generator], Architecture]:
        """Draws of networks just below each level. Raises ConfigurationError where the table does not hold all sizes."""
        if not isinstance(table.space, PruningSpace) or BODY not in table.table.names:
            raise ConfigurationError(f"`{self.name}` needs a table with `{BODY}` of all networks of a pruning space.")
        sizes = dict(zip(table.table.keys, table.table.column(BODY).tolist(), strict=True))
        levels = find("run", "prune").settings.usual("polish_at")
        limits = [Bound.parse(level).resolve(max(sizes.values())) for level in levels]
        return aimed(table.space, lambda plan: sizes[plan.key], limits)


@dataclass(frozen=True)
class Search:
    """A search on a table, to be run once."""

    table: SearchTable
    contender: Contender
    objectives: tuple[Objective, ...]
    seed: int
    trials: int
    depths: bool

    @property
    def cell(self) -> str:
        """A digest of all that its result depends on."""
        asked = (self.contender.name, self.seed, self.trials, self.depths)
        return digest("search 1", self.table.table.fingerprint, str(asked), *map(str, self.objectives))

    def searcher(self) -> Searcher:
        """A new searcher. Raises ConfigurationError where it cannot serve the table."""
        return self.contender.build(self.table, self.objectives, self.seed, self.trials, self.depths)

    def run(self) -> list[dict[str, Any]]:
        """A row per network seen: after how many trials and seconds of this thread, its key and its values."""
        names = [o.name for o in self.objectives]
        space = self.table.space
        beside = space.depths if self.depths and isinstance(space, Small) else lambda _: ()
        times: list[float] = []
        began = time.thread_time()

        def ended(_: Trial) -> None:
            times.append(time.thread_time() - began)

        estimator = TableEstimator(self.table.table, names, beside=beside)
        study = Study(MemoryStore(), self.searcher(), [estimator], self.objectives, on_trial=ended)
        study.run(Stop(trials=self.trials))
        rows: list[dict[str, Any]] = []
        trial = 0
        for seen in sorted(study.trials(), key=lambda t: t.told or 0):
            trial += seen.id is not None
            if seen.complete:
                said = {"table": self.table.name, "searcher": self.contender.name, "seed": self.seed, "trial": trial}
                said |= {"origin": seen.origin, "key": seen.key, "seconds": times[trial - 1]}
                rows.append({**said, **{name: seen.values[name] for name in names}})
        return rows
