"""`secateur bench surrogate evaluate`: every compressor × regressor × noise, on networks held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from secateur.catalogue import names
from secateur.errors import ConfigurationError
from secateur.predictors.curves.model import LEAST
from secateur.predictors.curves.noise import Seeds
from secateur.runs.bench.filling import Rows, filled
from secateur.runs.bench.rows_file import SafeRowsFile
from secateur.runs.bench.surrogate.judging import Judgement, Subject
from secateur.runs.bench.surrogate.results import SurrogateStudy
from secateur.runs.bench.surrogate.settings import EvaluateSettings
from secateur.runs.bench.workers import Crew
from secateur.runs.progress import Progress
from secateur.tables.opening import open_table

#: What a worker is made ready with.
WORK = "secateur.runs.bench.surrogate.evaluating:judging"
#: Compressor, regressor and fold.
Task = tuple[str, str, int]


@dataclass(frozen=True)
class Plan:
    """What is to be judged. The table is opened once."""

    subject: Subject
    settings: EvaluateSettings

    @classmethod
    def of(cls, table: str, settings: EvaluateSettings) -> Plan:
        """Raises DataError, ConfigurationError where the table cannot be learnt from."""
        opened = open_table(table)
        found = cls(Subject(opened, settings.reading(opened), settings.folds, settings.seed), settings)
        networks = len(found.subject.known.architectures)
        if any(len(learnt.architectures) < LEAST for learnt, _ in found.subject.folds):
            raise ConfigurationError(f"`{table}` has curves of {networks} networks: models need {LEAST} to learn from.")
        if Seeds.name in settings.noises and not all(learnt.repeated for learnt, _ in found.subject.folds):
            few = f"`{table}` has {found.subject.repeated}"
            raise ConfigurationError(f"the noise `{Seeds.name}` needs networks with several seeds in each part, and {few}.")
        return found

    def judgement(self, task: Task) -> Judgement:
        compressor, regressor, fold = task
        s = self.settings
        return Judgement(self.subject, compressor, regressor, s.noises, s.components, s.draws, fold)

    def tasks(self) -> list[Task]:
        s = self.settings
        return [
            (compressor, regressor, fold)
            for compressor in dict.fromkeys(s.compressor or names("compressor"))
            for regressor in dict.fromkeys(s.regressor or names("regressor"))
            for fold in range(len(self.subject.folds))
        ]


def judging(given: tuple[str, EvaluateSettings]) -> Callable[[Task], Rows]:
    """What a worker does with a task."""
    plan = Plan.of(*given)
    return lambda task: plan.judgement(task).run()


def evaluate(table: str, settings: EvaluateSettings, progress: Progress) -> SurrogateStudy:
    """Do the fits that the folder lacks, and compare all that were asked for.

    Raises ConfigurationError for settings out of range and tables that are too small, DataError for tables that cannot be used.
    """
    s = settings.check()
    plan = Plan.of(table, s)
    cells: dict[str, Any] = {plan.judgement(task).cell: task for task in plan.tasks()}
    with SafeRowsFile.within(s.to, SurrogateStudy.results) as file:
        run = lambda task: plan.judgement(task).run()  # noqa: E731
        frame = filled(file, cells, WORK, (table, s), Crew.of(s), run, (progress, "fitting"))
    study = SurrogateStudy(s.to, plan.subject, frame, s.noises)
    study.write()
    return study
