"""The bench of extrapolators: each knows some whole trainings of a table, and tells the ends of others that have begun."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.catalogue import check_encoding, explained, find, listed, names
from secateur.errors import ConfigurationError
from secateur.paths import no_folder
from secateur.report.bench_page import Section, around, courses_figure
from secateur.report.numbers import spread
from secateur.report.rows import Column
from secateur.report.rows import Table as Shown
from secateur.runs.bench.asked import faults, no_table, whole_numbers
from secateur.runs.bench.extrapolation import TEST, Extrapolation, Subject
from secateur.runs.bench.filling import Rows, filled
from secateur.runs.bench.problem import measure
from secateur.runs.bench.ranks import summarised
from secateur.runs.bench.rows_file import SafeRowsFile
from secateur.runs.bench.told import Told
from secateur.runs.bench.workers import Crew
from secateur.runs.progress import Progress
from secateur.runs.settings import SearchRunSettings
from secateur.settings import Settings, option, shared
from secateur.study.executors.settings import MOST_WORKERS, executor_faults
from secateur.tables.opening import open_tables

if TYPE_CHECKING:
    import pandas

#: What a worker is made ready with.
WORK = "secateur.runs.bench.extrapolators:extrapolating"
#: The place of a table, then extrapolator, share in per cent, trainings to learn from, seed.
Task = tuple[int, str, int, int, int]
#: The figures as they are headed.
HEADS = {"kendall": "Kendall", "spearman": "Spearman", "rmse": "RMSE", "within_1": "within 1 σ", "within_2": "within 2 σ"}
#: Fewer trainings to test on say nothing of ranks.
FEWEST = 10


@dataclass(frozen=True, kw_only=True)
class ExtrapolatorSettings(Settings):
    """The settings of `secateur bench extrapolators`."""

    table: list[str] = option(about="A table with learning curves, by name or a file; repeat it for several.")
    metric: str | None = option(None, "The curve that is extrapolated; by default the first that the table optimises.")
    extrapolator: list[str] | None = option(
        None, f"{explained('extrapolator')}. Repeat it for several; by default all.", known=names("extrapolator")
    )
    share: str | list[int] = option("10,20,40", "Per cent of a training that are seen: up to the nearest point of its curve.")
    train: str | list[int] = option("20,50,100", "Whole trainings that are known.")
    encoding: str | None = option(
        None,
        f"How architectures are read: {listed('encoding')}, or the folder of a trained one. By default adjacency of cells, "
        "vector elsewhere.",
    )
    feature: list[str] | None = option(
        None, "A column that is told beside an architecture, such as parameters or a low-cost proxy; repeat it for several."
    )
    seeds: int = option(10, "How often trainings are drawn.", least=1, most=10_000)
    test: int | None = option(None, f"Trainings to test on; by default {TEST}, or all that are left.", least=3, most=10**6)
    workers: int | None = option(None, "Processes that work side by side: by default one per core.", least=1, most=MOST_WORKERS)
    executor: str = shared(SearchRunSettings, "executor", panel=None)
    address: str | None = shared(SearchRunSettings, "address", panel=None)
    to: Path = option(Path("bench-extrapolators"), "Folder for the results and the page; what is there is not done again.")

    def contradictions(self) -> list[str]:
        found = super().contradictions() + executor_faults(self.executor, self.workers, self.address)
        readings: list[Callable[[], Any]] = [lambda: self.shares, lambda: self.sizes]
        readings += [lambda t=text: measure(t) for text in self.feature or ()]  # type: ignore[misc]
        if self.encoding is not None:
            readings.append(lambda: check_encoding(str(self.encoding)))
        return found + faults(readings) + no_table(self.table) + no_folder(self.to)

    @property
    def shares(self) -> list[int]:
        """Per cent, ascending. Raises ConfigurationError."""
        found = whole_numbers("share", self.share, "10,20,40")
        if not found or found[0] < 1 or found[-1] > 99:
            raise ConfigurationError(f"`share` must lie in 1…99 per cent, got {self.share!r}.")
        return found

    @property
    def sizes(self) -> list[int]:
        """How many whole trainings are known, ascending. Raises ConfigurationError."""
        found = whole_numbers("train", self.train, "20,50")
        least = max((kind.needs for kind in _kinds(self.extrapolator)), default=0)
        if not found or found[0] < least:
            raise ConfigurationError(f"`train` must be at least {least} trainings, got {self.train!r}.")
        return found


def _kinds(asked: Sequence[str] | None) -> list[Any]:
    known = names("extrapolator")
    return [find("extrapolator", name) for name in asked or known if name in known]


class Plan:
    """What settings ask for. Tables are opened once."""

    def __init__(self, settings: ExtrapolatorSettings) -> None:
        s = self.settings = settings
        told = (s.encoding, [measure(text) for text in s.feature or ()])
        self.subjects = [Subject(table, s.metric or table.objectives[0], *told) for table in open_tables(s.table)]
        for subject in self.subjects:
            count, most = len(subject.known), max(s.sizes)
            if most + (s.test or FEWEST) > count:
                raise ConfigurationError(
                    f"`train` is too large for the table `{subject.name}`: {most} trainings to learn from and "
                    f"{s.test or FEWEST} to test on are more than its {count} networks."
                )

    def tested(self, place: int) -> int:
        return self.settings.test or min(TEST, len(self.subjects[place].known) - max(self.settings.sizes))

    def extrapolation(self, task: Task) -> Extrapolation:
        place, name, share, train, seed = task
        return Extrapolation(self.subjects[place], name, share / 100, train, self.tested(place), seed)

    def shares(self, place: int) -> list[int]:
        """Of shares that end at the same point of a table's curves, the smallest."""
        found: dict[int, int] = {}
        for share in self.settings.shares:
            found.setdefault(self.subjects[place].seen(share / 100), share)
        return list(found.values())

    def tasks(self) -> list[Task]:
        s = self.settings
        return [
            (place, name, share, train, seed)
            for place in range(len(self.subjects))
            for name in dict.fromkeys(s.extrapolator or names("extrapolator"))
            for share in self.shares(place)
            for train in (s.sizes if find("extrapolator", name).learns else s.sizes[:1])
            for seed in range(s.seeds)
        ]


def extrapolating(settings: ExtrapolatorSettings) -> Callable[[Task], Rows]:
    """What a worker does with a task."""
    plan = Plan(settings)
    return lambda task: plan.extrapolation(task).run()


@dataclass(frozen=True)
class ExtrapolatorStudy(Told):
    """What `secateur bench extrapolators` found. `frame` has a row per draw."""

    title = "How extrapolators compare"
    results, page = "extrapolations.parquet", "extrapolators.html"

    folder: Path
    subjects: Sequence[Subject]
    frame: pandas.DataFrame
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[dict[str, Any]]:
        """A row per table, share, number of trainings and extrapolator: means over draws and standard errors."""
        found = []
        keys = ["table", "share", "train", "extrapolator"]
        for asked, draws in self.frame.groupby(keys, sort=False):
            row: dict[str, Any] = {**dict(zip(keys, asked, strict=True)), "seeds": len(draws)}
            row |= {"train": int(row["train"]), "budget": float(draws["budget"].iloc[0]), "test": int(draws["test"].iloc[0])}
            found.append({**row, **summarised(draws, (*HEADS, "nll", "seconds"))})
        return found

    def as_dict(self) -> dict[str, Any]:
        return {"folder": self.folder, "extrapolations": self.rows(), "notes": self.said()}

    def said(self) -> list[str]:
        told = [
            f"{one.name}: {one.metric} at the end of {len(one.known):,} networks' trainings, told from their beginnings."
            for one in self.subjects
        ]
        told.append(
            "Means over draws ± standard errors; RMSE is in the metric's own unit. Of a normal distribution 0.683 and 0.954 "
            "lie within one and two deviations σ; time is that of one training, what was learnt before included."
        )
        return [*told, *self.notes]

    def shown(self) -> Shown:
        columns = [Column("table", "table")] if len(self.subjects) > 1 else []
        columns += [
            Column("share", "seen", "share"),
            Column("train", "known", "integer"),
            Column("extrapolator", "extrapolator"),
        ]
        columns += [*(Column(name, head, "score") for name, head in HEADS.items()), Column("seconds", "time", "seconds")]
        lines = []
        for row in sorted(self.rows(), key=lambda r: (r["table"], r["share"], r["train"])):
            line = {name: row[name] for name in ("table", "share", "train", "extrapolator", "seconds")}
            lines.append({**line, **{name: spread(row[name], row[f"{name}_error"]) for name in HEADS}})
        return Shown(columns, lines)

    def sections(self) -> Iterator[Section]:
        """The table, and Kendall's τ and calibration over what is known, for each share."""
        yield Section("Extrapolators", "", self.shown())
        rows = self.rows()
        order = list(dict.fromkeys(row["extrapolator"] for row in rows))
        for name in ("kendall", "within_1"):
            drawn = {}
            for table, share in dict.fromkeys((row["table"], row["share"]) for row in rows):
                series = {}
                for one in order:
                    mine = [r for r in rows if (r["table"], r["share"], r["extrapolator"]) == (table, share, one)]
                    at, means, errors = (np.array([r[n] for r in mine], dtype=float) for n in ("train", name, f"{name}_error"))
                    series[one] = (at, *around(means, np.nan_to_num(errors)))
                drawn[f"{share:.0%} of {table}"] = courses_figure(series, "whole trainings known", HEADS[name], order)
            yield Section(f"{HEADS[name]} over trainings known", "Bands are standard errors.", figures=drawn)


def compare_extrapolators(settings: ExtrapolatorSettings, progress: Progress) -> ExtrapolatorStudy:
    """Do what the folder lacks, and compare all that was asked for.

    Raises ConfigurationError for settings out of range and tables that are too small, DataError for tables that cannot be used.
    """
    s = settings.check()
    plan = Plan(s)
    cells = {plan.extrapolation(task).cell: task for task in plan.tasks()}
    with SafeRowsFile.within(s.to, ExtrapolatorStudy.results) as file:
        run = lambda task: plan.extrapolation(task).run()  # noqa: E731
        frame = filled(file, cells, WORK, s, Crew.of(s), run, (progress, "extrapolating"))
    study = ExtrapolatorStudy(s.to, plan.subjects, frame)
    study.write()
    return study
