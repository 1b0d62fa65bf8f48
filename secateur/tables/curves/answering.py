"""A fitted surrogate as a table to search: it answers for every architecture of its space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.tables.curves.surrogate import VERSION, CurveSurrogate
from secateur.tables.table import Table

#: Architectures that are drawn to show what values there are.
DRAWN = 2000
#: Answers that are kept.
KEPT = 4096


@dataclass(frozen=True, eq=False)
class AnsweringTable(Table):
    """Its rows are what a surrogate expects of some architectures; of others it is asked when they come up, and with a seed it
    tells a training with noise."""

    surrogate: CurveSurrogate | None = None

    answers_all: ClassVar[bool] = True

    @classmethod
    def of(cls, surrogate: CurveSurrogate, architectures: Sequence[Architecture]) -> AnsweringTable:
        """The table that has a row for each of these architectures, and for some that are drawn."""
        drawn = surrogate.space.sample_many(DRAWN, generator(0, "reference"))
        different = {a.key: a for a in (*drawn, *architectures)}
        rows = surrogate.answers(list(different.values()))
        given = {name: getattr(rows, name) for name in ("columns", "curves", "budgets", "seconds", "final", "where")}
        return cls(rows.architectures, **given, surrogate=surrogate)

    def knowing(self, architectures: Sequence[Architecture]) -> AnsweringTable:
        """This table with rows for these architectures, too."""
        assert self.surrogate is not None
        return self.of(self.surrogate, architectures)

    @cached_property
    def _answer(self) -> Any:
        surrogate = self.surrogate
        assert surrogate is not None
        return lru_cache(KEPT)(lambda architecture, seed: surrogate.answers([architecture], seed))

    def trained(self, seed: int) -> Table:
        assert self.surrogate is not None
        return self.surrogate.answers(self.architectures, seed)

    def asked(self, architecture: Architecture, seed: int | None = None) -> tuple[Table, int | None]:
        return self._answer(architecture, seed), None

    @cached_property
    def fingerprint(self) -> str:
        assert self.surrogate is not None
        return self.surrogate.fingerprint


def open_surrogate(folder: Path) -> tuple[AnsweringTable, dict[str, Any]]:
    """The table of a surrogate's folder, and what is said of it. Raises StudyError, and ConfigurationError for a surrogate that
    needs more than an architecture to answer."""
    surrogate = CurveSurrogate.read(folder)
    if surrogate.reading.features:
        listed = ", ".join(map(str, surrogate.reading.features))
        raise ConfigurationError(
            f"`{folder}` cannot be searched: the surrogate needs to be told more of a network than its architecture: {listed}."
        )
    table = replace(AnsweringTable.of(surrogate, ()), where=str(folder))
    told = (*surrogate.reading.metrics, *surrogate.scalars)
    objectives = [name for name in surrogate.said["objectives"] if name in told] or [surrogate.reading.metrics[0]]
    about = (
        f"a surrogate ({surrogate.ways}, version {VERSION}) of {surrogate.said['table']}, fitted to "
        f"{surrogate.said['trainings']:,} trainings of {surrogate.said['architectures']:,} networks; searches see noise, "
        "regrets are of expected values"
    )
    maximise = [name for name in surrogate.said["maximise"] if name in told]
    return table, {**surrogate.said, "objectives": objectives, "maximise": maximise, "about": about, "checked": True}
