"""The bench of predictors: each learns from a few networks of a table with each encoding, and predicts others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.catalogue import check_encoding, explained, listed, names
from secateur.errors import ConfigurationError, MissingExtraError
from secateur.paths import no_folder
from secateur.runs.bench.asked import faults, no_table, whole_numbers
from secateur.runs.bench.filling import Rows, filled
from secateur.runs.bench.predicting import TEST, Fit, Subject
from secateur.runs.bench.predictors_results import PredictorStudy
from secateur.runs.bench.problem import Problem, measure
from secateur.runs.bench.rows_file import SafeRowsFile
from secateur.runs.bench.workers import Crew
from secateur.runs.progress import Progress
from secateur.runs.settings import SearchRunSettings
from secateur.settings import Settings, option, shared
from secateur.study.executors.settings import MOST_WORKERS, executor_faults
from secateur.tables.opening import open_tables

#: Encodings where none is asked for; a graph for predictors that take no other.
USUAL, GRAPH = ("adjacency", "path"), "graph"
#: What a worker is made ready with.
WORK = "secateur.runs.bench.predictors:predicting"
#: The places of a table, then predictor, encoding, number of networks to learn from, seed.
Task = tuple[int, str, str, int, int]


@dataclass(frozen=True, kw_only=True)
class PredictorSettings(Settings):
    """The settings of `secateur bench predictors`."""

    table: list[str] = option(about="A table by name (prune-sst2, nb201 once imported, …) or a file; repeat it for several.")
    train: str | list[int] = option("50,100,250,500", "How many networks a predictor learns from.")
    predictor: list[str] | None = option(
        None, f"{explained('predictor')}. Repeat it for several; by default all.", known=names("predictor")
    )
    encoding: list[str] | None = option(
        None,
        f"{listed('encoding')}, or the folder of one that `secateur encode pretrain` made, with a slash in it. Repeat it for "
        f"several; by default {' and '.join(USUAL)} of cells, vector elsewhere, and {GRAPH} for predictors that need it.",
    )
    metric: str | None = option(None, "The column that is predicted; by default the first that the table optimises.")
    budget: float | None = option(
        None, "The budget, such as epochs, at which it is predicted; by default as the table names it.", above=0, most=10**9
    )
    feature: list[str] | None = option(
        None,
        "A column of the table that a predictor sees beside the architecture, such as parameters, or one at a budget such as "
        "validation@12; repeat it for several.",
    )
    seeds: int = option(10, "How often networks are drawn.", least=1, most=10_000)
    test: int | None = option(None, f"Networks to test on; by default {TEST:,}, or all that are left.", least=3, most=10**6)
    workers: int | None = option(None, "Processes that work side by side: by default one per core.", least=1, most=MOST_WORKERS)
    executor: str = shared(SearchRunSettings, "executor", panel=None)
    address: str | None = shared(SearchRunSettings, "address", panel=None)
    to: Path = option(Path("bench-predictors"), "Folder for the results and the page; what is there is not done again.")

    def contradictions(self) -> list[str]:
        found = super().contradictions() + executor_faults(self.executor, self.workers, self.address)
        readings: list[Callable[[], Any]] = [lambda t=text: measure(t) for text in self.feature or ()]  # type: ignore[misc]
        readings += [lambda t=text: check_encoding(t) for text in self.encoding or ()]  # type: ignore[misc]
        found += faults([*readings, lambda: self.sizes])
        found += no_table(self.table) + no_folder(self.to)
        return found

    @property
    def sizes(self) -> list[int]:
        """How many networks a predictor learns from, ascending. Raises ConfigurationError."""
        found = whole_numbers("train", self.train, "50,100")
        if not found or found[0] < 2:
            raise ConfigurationError(f"`train` must be at least 2 networks, got {self.train!r}.")
        return found


class Plan:
    """The fits that settings ask for. Tables are opened once."""

    def __init__(self, settings: PredictorSettings) -> None:
        s = self.settings = settings
        metric = [] if s.metric is None else [s.metric]
        problems = [Problem.of(table, metric, s.budget, ()) for table in open_tables(s.table)]
        features = [measure(text) for text in dict.fromkeys(s.feature or ())]
        self.subjects = [Subject(problem, features, s.sizes, s.test) for problem in problems]

    def fit(self, task: Task) -> Fit:
        return Fit(self.subjects[task[0]], *task[1:])

    def tasks(self) -> tuple[list[Task], list[str]]:
        """What is to be fitted, and what is left out and why. Raises ConfigurationError where that was asked for by name."""
        tasks, notes = [], []
        for place, subject in enumerate(self.subjects):
            pairs, left_out = self._pairs(subject)
            notes += left_out
            seeds = range(self.settings.seeds)
            tasks += [(place, p, e, n, seed) for p, e in pairs for n in self.settings.sizes for seed in seeds]
        return tasks, list(dict.fromkeys(notes))

    def _pairs(self, subject: Subject) -> tuple[list[tuple[str, str]], list[str]]:
        """The predictors and encodings that fit a table and each other, and why others do not."""
        s = self.settings
        notes: list[str] = []
        encodings = list(dict.fromkeys(s.encoding or self._usual(subject)))
        for encoding in encodings:
            subject.encoding(encoding)
        found = []
        for name in dict.fromkeys(s.predictor or names("predictor")):
            mine, faults = _fitting(subject, name, encodings)
            if not mine and s.encoding is None:
                mine, faults = _fitting(subject, name, [GRAPH])
            if not mine:
                fault = next(iter(faults.values()))
                if s.predictor:
                    raise fault
                notes.append(f"{name} was left out: {fault}")
            elif s.encoding:
                notes += [f"{name} with {encoding} was left out: {fault}" for encoding, fault in faults.items()]
            found += mine
        unused = [encoding for encoding in s.encoding or () if encoding not in dict(e[::-1] for e in found)]
        if unused:
            raise ConfigurationError(f"no predictor asked for learns from `{unused[0]}`. {' '.join(dict.fromkeys(notes))}")
        return found, notes

    def _usual(self, subject: Subject) -> Sequence[str]:
        """The usual encodings that serve the table's space; its own coordinates where there is none."""
        serving = []
        for name in USUAL:
            try:
                subject.encoding(name)
            except ConfigurationError:
                continue
            serving.append(name)
        return serving or ["vector"]


def _fitting(
    subject: Subject, name: str, encodings: Sequence[str]
) -> tuple[list[tuple[str, str]], dict[str, ConfigurationError | MissingExtraError]]:
    """A predictor with those encodings that it takes, and why it does not take the others."""
    pairs: list[tuple[str, str]] = []
    faults: dict[str, ConfigurationError | MissingExtraError] = {}
    for encoding in encodings:
        try:
            subject.predictor(name, encoding)
        except (ConfigurationError, MissingExtraError) as error:
            faults[encoding] = error
        else:
            pairs.append((name, encoding))
    return pairs, faults


def predicting(settings: PredictorSettings) -> Callable[[Task], Rows]:
    """What a worker does with a task."""
    plan = Plan(settings)
    return lambda task: plan.fit(task).run()


def compare_predictors(settings: PredictorSettings, progress: Progress) -> PredictorStudy:
    """Do the fits that the folder lacks, and compare all that were asked for.

    Raises ConfigurationError for settings out of range, unknown names and predictors that cannot serve, DataError for tables
    that cannot be used.
    """
    s = settings.check()
    plan = Plan(s)
    tasks, left_out = plan.tasks()
    cells = {plan.fit(task).cell: task for task in tasks}
    with SafeRowsFile.within(s.to, PredictorStudy.results) as file:
        frame = filled(file, cells, WORK, s, Crew.of(s), lambda task: plan.fit(task).run(), (progress, "predicting"))
    study = PredictorStudy(s.to, plan.subjects, frame, left_out)
    study.write()
    return study
