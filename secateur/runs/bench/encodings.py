"""The bench of encodings: each serves the parts of a search that depend on one (White et al. 2020; Yan 2022, chapter 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.catalogue import check_encoding, listed, names
from secateur.errors import ConfigurationError, MissingExtraError
from secateur.paths import no_folder
from secateur.runs.bench.asked import faults, no_table
from secateur.runs.bench.encodings_results import EncodingStudy
from secateur.runs.bench.filling import filled
from secateur.runs.bench.problem import measure
from secateur.runs.bench.rows_file import SafeRowsFile
from secateur.runs.bench.search import HOW, WORK, Plan, SearchSettings
from secateur.runs.bench.search_results import SearchStudy
from secateur.runs.bench.workers import Crew
from secateur.runs.progress import Progress
from secateur.runs.settings import SearchRunSettings
from secateur.settings import MOST_TRIALS, Settings, option, shared
from secateur.study.executors.settings import executor_faults

#: What depends on an encoding, and the searchers in which nothing else does.
SUBROUTINES = {"sample": ("random",), "perturb": ("local", "mo-rea"), "predict": ("dngo", "bananas")}
#: Fitted in the cube of the time that the others take.
GP = "bo-gp"


@dataclass(frozen=True, kw_only=True)
class EncodingSettings(Settings):
    """The settings of `secateur bench encodings`."""

    table: list[str] = shared(SearchSettings, "table")
    encoding: list[str] | None = option(
        None,
        f"{listed('encoding')}, or the folder of one that `secateur encode pretrain` made, with a slash in it. Repeat it for "
        "several; by default all that have a name and serve the table.",
    )
    subroutine: list[str] | None = option(
        None,
        "What an encoding is used for: sample (random draws), perturb (steps of local search and of evolution) or predict "
        "(Bayesian optimisation and BANANAS). Repeat it for several; by default all.",
        known=tuple(SUBROUTINES),
    )
    gp: bool = option(False, f"In predict, {GP} as well: a Gaussian process takes the longest.")
    objective: list[str] | None = shared(SearchSettings, "objective")
    budget: float | None = shared(SearchSettings, "budget")
    report: list[str] | None = shared(SearchSettings, "report")
    seeds: int = shared(SearchSettings, "seeds", 200, about="How often each searcher searches each table with each encoding.")
    queries: int = option(150, "Networks that a search asks for.", least=1, most=MOST_TRIALS, flag="--queries --trials")
    until_best: bool = shared(SearchSettings, "until_best")
    workers: int | None = shared(SearchSettings, "workers")
    executor: str = shared(SearchRunSettings, "executor", panel=HOW)
    address: str | None = shared(SearchRunSettings, "address", panel=HOW)
    to: Path = option(
        Path("bench-encodings"), "Folder for the searches and the page; searches already there are not run again."
    )

    def contradictions(self) -> list[str]:
        found = super().contradictions() + executor_faults(self.executor, self.workers, self.address)
        readings: list[Callable[[], Any]] = [lambda t=text: check_encoding(t) for text in self.encoding or ()]  # type: ignore[misc]
        readings += [lambda t=text: measure(t) for text in self.report or ()]  # type: ignore[misc]
        found += faults(readings) + no_table(self.table) + no_folder(self.to)
        if self.gp and "predict" not in self.used:
            found.append("`gp` is a part of `predict`, which `subroutine` does not name.")
        return found

    @property
    def used(self) -> dict[str, tuple[str, ...]]:
        """Each subroutine that is asked for → its searchers."""
        found = {name: SUBROUTINES[name] for name in SUBROUTINES if name in (self.subroutine or SUBROUTINES)}
        return {name: (*found[name], *([GP] if self.gp and name == "predict" else [])) for name in found}

    @property
    def encodings(self) -> list[str]:
        return list(dict.fromkeys(self.encoding or names("encoding")))

    def searches(self) -> SearchSettings:
        """The searches of all searchers with all encodings: those of an encoding together, as they share what is kept of it."""
        every = [f"{searcher}:{encoding}" for encoding in self.encodings for some in self.used.values() for searcher in some]
        alike = {
            name: getattr(self, name)
            for name in ("table", "objective", "budget", "report", "seeds", "queries", "until_best", "workers", "to")
        }
        return SearchSettings(searcher=every, depths=False, **alike)


def compare_encodings(settings: EncodingSettings, progress: Progress) -> EncodingStudy:
    """Run the searches that the folder lacks, and compare all that were asked for.

    Raises ConfigurationError for settings out of range, unknown names and encodings asked for that cannot serve a table,
    StudyError for a folder that holds no trained encoding, DataError for tables that cannot be used.
    """
    s = settings.check()
    searches = s.searches().check()
    plan = Plan(searches)
    places, left_out = _serving(s, plan)
    seeds = range(s.seeds)
    tasks = [(place, problem, seed) for place in places for problem in range(len(plan.problems)) for seed in seeds]
    cells = {plan.search(task).cell: task for task in tasks}
    with SafeRowsFile.within(s.to, SearchStudy.results) as file:
        run = lambda task: plan.search(task).run()  # noqa: E731
        frame = filled(file, cells, WORK, searches, Crew.of(s), run, (progress, "searching"))
    found = SearchStudy(s.to, plan.problems, frame, s.queries, searches.shown_at, until_best=s.until_best)
    study = EncodingStudy(s.to, found, s.used, s.encodings, left_out)
    study.write()
    return study


def _serving(settings: EncodingSettings, plan: Plan) -> tuple[list[int], list[str]]:
    """The places of searchers whose encoding serves all tables and them, and why others do not.

    Raises what is wrong with an encoding that was asked for, where it serves none of the searchers.
    """
    places: list[int] = []
    faults: dict[str, dict[str, Exception]] = {}
    for place, contender in enumerate(plan.contenders):
        try:
            for problem in range(len(plan.problems)):
                plan.search((place, problem, 0)).searcher()
        except (ConfigurationError, MissingExtraError) as error:
            faults.setdefault(str(contender.encoding), {})[contender.searcher] = error
        else:
            places.append(place)
    searchers = [searcher for some in settings.used.values() for searcher in some]
    notes = []
    for encoding, refused in faults.items():
        first = next(iter(refused.values()))
        if len(refused) < len(searchers):
            notes += [f"{searcher}:{encoding} was left out: {error}" for searcher, error in refused.items()]
        elif settings.encoding:
            raise first
        else:
            notes.append(f"{encoding} was left out: {first}")
    if not places:
        raise ConfigurationError(notes)
    return places, notes
