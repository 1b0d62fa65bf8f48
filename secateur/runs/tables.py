"""A run's report as tables, for other programs: the front, the trials, the stages, and what else the page shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from secateur import __version__
from secateur.errors import UnknownNameError
from secateur.report.data import Row
from secateur.report.rows import hypervolume_rows, stage_times
from secateur.runs.reporting import report_of, trial_row


@dataclass(frozen=True)
class RunTables:
    """All tables of a run, or the one named."""

    run: Any
    table: str | None = None

    def __post_init__(self) -> None:
        if self.table is not None and self.table not in TABLES:
            raise UnknownNameError("table", self.table, TABLES)

    def rows(self) -> list[Row]:
        """The rows of the table named, else those of the front."""
        return TABLES[self.table or "front"](self)

    def as_dict(self) -> dict[str, Any]:
        """What the run is, and its tables by name."""
        run = self.run
        about = {"run": str(run.folder), "verb": run.configuration.verb, "version": __version__, "title": self.data.title}
        about |= {"summary": report_of(run).lead(), "objectives": self.data.objectives, "settings": self.data.settings}
        about |= {"device": self.data.device, "unpruned": run.whole, "notes": self.data.notes}
        return about | {name: TABLES[name](self) for name in ([self.table] if self.table else TABLES)}

    @cached_property
    def data(self) -> Any:
        return report_of(self.run).data()

    def front(self) -> list[Row]:
        report = report_of(self.run)
        return [report.plain_row(member) for member in self.run.front]

    def trials(self) -> list[Row]:
        """Every trial, its values and its details beside the rest."""
        rows = []
        for trial in self.run.trials:
            row = {**trial_row(trial), "budget": trial.budget, "choices": dict(trial.architecture.choices)}
            values, details = row.pop("values"), row.pop("details")
            rows.append({**row, **values, **{name: value for name, value in details.items() if name not in values}})
        return rows

    def stages(self) -> list[Row]:
        return stage_times(self.data)

    def hypervolume(self) -> list[Row]:
        return hypervolume_rows(self.data)

    def curves(self) -> list[Row]:
        store = self.run.store
        return [{"curve": name, "step": step, **values} for name in store.curves() for step, values in store.curve(name)]

    def formats(self) -> list[Row]:
        """Every format of the networks that a pruning run names, and of the unpruned one; of a design run, none."""
        return list(getattr(self.data, "formats", []))

    def baselines(self) -> list[Row]:
        """The layer-scaled networks that a design run measured; of a pruning run, none."""
        found: list[Row] = getattr(self.run, "baselines", [])
        return [{**{n: v for n, v in row.items() if n != "values"}, **row["values"]} for row in found]


#: The tables by name.
TABLES = {
    "front": RunTables.front,
    "trials": RunTables.trials,
    "stages": RunTables.stages,
    "hypervolume": RunTables.hypervolume,
    "curves": RunTables.curves,
    "formats": RunTables.formats,
    "baselines": RunTables.baselines,
}
