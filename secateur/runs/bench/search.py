"""The bench of searchers: each searches tables with many seeds, and what they find is compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.catalogue import listed
from secateur.errors import ConfigurationError, MissingExtraError, UnknownNameError
from secateur.paths import no_folder
from secateur.runs.bench.asked import faults, no_table, whole_numbers
from secateur.runs.bench.contenders import Contender
from secateur.runs.bench.filling import filled
from secateur.runs.bench.flagged import flags
from secateur.runs.bench.problem import Problem, measure
from secateur.runs.bench.rows_file import SafeRowsFile
from secateur.runs.bench.search_results import SearchStudy
from secateur.runs.bench.searching import ARCHITECTURE, Search
from secateur.runs.bench.workers import Crew
from secateur.runs.progress import Progress
from secateur.runs.settings import SearchRunSettings
from secateur.settings import MOST_TRIALS, Settings, option, shared
from secateur.study.executors.settings import MOST_WORKERS, executor_faults
from secateur.tables.opening import open_tables

if TYPE_CHECKING:
    import pandas

#: Compared where nothing else is asked for: those that propose in a few milliseconds.
USUAL = ("random", "local", "mo-rea", "nsga2")
#: Queries of a search where nothing else stops it.
QUERIES = 100
#: The topic of the help that has what few need.
HOW = "How searches run"
#: What a worker is made ready with.
WORK = "secateur.runs.bench.search:searching"


@dataclass(frozen=True, kw_only=True)
class SearchSettings(Settings):
    """The settings of `secateur bench search`."""

    table: list[str] = option(
        about="A table by name (prune-sst2, prune-stsb, prune-mrpc, nb201 once imported, …), a file, or the folder of a "
        "surrogate, with a slash in it; repeat it for several."
    )
    searcher: list[str] | None = option(
        None,
        f"{listed('searcher', 'bench')}; mo-rea:20 is one with a population of 20, mo-rea:20/5 one that draws samples of 5 "
        f"from it, bananas:path one with another encoding, local:path one with steps in an encoding, local+aimed one with half "
        f"of its trials aimed at 10 to 70 % of the parameters, local+svr one that stops trainings early "
        f"({listed('extrapolator')}; local+svr:0.2/0.5: after a fifth, and half goes on). Repeat it for several; by default "
        f"{', '.join(USUAL)}.",
    )
    objective: list[str] | None = option(
        None, "A column of the table to optimise, such as macs; repeat it for several. By default those that the table names."
    )
    budget: float | None = option(
        None,
        "The budget of an evaluation, such as epochs; by default what the table names, else all of the training.",
        above=0,
        most=10**9,
    )
    report: list[str] | None = option(
        None,
        "With one objective: a column that is told of the best network found, such as test@200 for its value at budget 200; "
        "repeat it for several. By default those that the table names.",
    )
    seeds: int = option(30, "How often each searcher searches each table.", least=1, most=10_000)
    queries: int | None = option(
        None, f"Networks that a search asks for: {QUERIES} by default.", least=1, most=MOST_TRIALS, flag="--queries --trials"
    )
    seconds: float | None = option(
        None,
        "Simulated seconds of a search, on a table that has times, in the place of a number of queries.",
        above=0,
        most=10**10,
    )
    at: str | list[int] | None = option(
        None, "After how many queries (or seconds) results are told, such as 50,100,150; by default after each quarter."
    )
    until_best: bool = option(
        False,
        "A search ends once it has found the best network of its table, which needs one objective and queries: what is told of "
        "the best network is then the same in less time. Cumulative regret is told as far as all searches went.",
        flag="--until-best",
        panel=HOW,
    )
    depths: bool = option(True, "In small, a trial also brings the shallower networks that its pass contains.", panel=HOW)
    workers: int | None = option(
        None, "Processes that search side by side: by default one per core.", panel=HOW, least=1, most=MOST_WORKERS
    )
    executor: str = shared(SearchRunSettings, "executor", panel=HOW)
    address: str | None = shared(SearchRunSettings, "address", panel=HOW)
    to: Path = option(Path("bench-search"), "Folder for the searches and the page; searches already there are not run again.")

    def contradictions(self) -> list[str]:
        found = super().contradictions() + executor_faults(self.executor, self.workers, self.address)
        readings: list[Callable[[], Any]] = [lambda t=text: Contender.parse(t) for text in self.searcher or ()]  # type: ignore[misc]
        readings += [lambda t=text: measure(t) for text in self.report or ()]  # type: ignore[misc]
        if self.sound("queries", "seconds"):
            readings.append(lambda: self.shown_at)
        found += faults(readings) + no_table(self.table)
        if self.queries is not None and self.seconds is not None:
            found.append("`queries` and `seconds` both say when a search ends: give one of them.")
        if self.until_best and self.seconds is not None:
            found.append("`until_best` goes with `queries`, not with `seconds`.")
        return found + no_folder(self.to)

    @property
    def end(self) -> float:
        """The queries, or the simulated seconds, of a search."""
        return self.seconds or self.queries or QUERIES

    @property
    def shown_at(self) -> list[int]:
        """After how many queries or seconds results are told. Raises ConfigurationError."""
        if self.at is None:
            return sorted({max(1, round(self.end * quarter / 4)) for quarter in (1, 2, 3, 4)})
        found = whole_numbers("at", self.at, "50,100,150")
        if not found or found[0] < 1 or found[-1] > self.end:
            unit = "queries" if self.seconds is None else "seconds"
            raise ConfigurationError(f"`at` must lie in 1…{self.end:g}, the {unit} of a search, got {self.at!r}.")
        return found


class Plan:
    """The searches that settings ask for. Tables are opened once."""

    def __init__(self, settings: SearchSettings) -> None:
        s = self.settings = settings
        self.contenders = [Contender.parse(text) for text in dict.fromkeys(s.searcher or USUAL)]
        self.problems = [Problem.of(table, s.objective or (), s.budget, s.report) for table in open_tables(s.table)]
        if s.until_best:
            _check_best(self.problems)

    def search(self, task: tuple[int, int, int]) -> Search:
        """The search of a contender on a problem with a seed, each by its place."""
        contender, problem, seed = task
        s = self.settings
        queries = None if s.seconds else s.queries or QUERIES
        end = (queries, s.seconds, s.depths, s.until_best)
        return Search(self.problems[problem], self.contenders[contender], seed, *end)

    def tasks(self) -> tuple[list[tuple[int, int, int]], list[str]]:
        """What is to be searched, and who is left out as nobody asked for it.

        Raises ConfigurationError where somebody was asked for that cannot serve.
        """
        tasks, left_out = [], []
        for place, contender in enumerate(self.contenders):
            try:
                for problem in range(len(self.problems)):
                    self.search((place, problem, 0)).searcher()
            except (ConfigurationError, MissingExtraError) as error:
                if self.settings.searcher or isinstance(error, UnknownNameError):
                    raise
                left_out.append(f"{contender.name} was left out: {error}")
                continue
            tasks += [(place, p, seed) for p in range(len(self.problems)) for seed in range(self.settings.seeds)]
        return tasks, left_out


def _check_best(problems: list[Problem]) -> None:
    """Raise ConfigurationError where a table has no best network that a search could end at."""
    for problem in problems:
        if len(problem.objectives) > 1:
            raise ConfigurationError(f"`until_best` needs one objective, got {len(problem.objectives)} on `{problem.name}`.")
        if problem.table.table.answers_all:
            raise ConfigurationError(
                f"`until_best` needs a table whose networks are all known; `{problem.name}` is a surrogate, which answers for "
                "every network when it is asked."
            )


def searching(settings: SearchSettings) -> Callable[[tuple[int, int, int]], list[dict[str, Any]]]:
    """What a worker does with a task."""
    plan = Plan(settings)
    return lambda task: plan.search(task).run()


def _spelt(frame: pandas.DataFrame, table: str) -> list[str]:
    """The architectures that searches of a table have seen, where rows spell them."""
    if ARCHITECTURE not in frame:
        return []
    return [str(text) for text in frame.loc[frame["table"] == table, ARCHITECTURE].dropna().unique()]


def compare_searchers(settings: SearchSettings, progress: Progress) -> SearchStudy:
    """Run the searches that the folder lacks, and compare all that were asked for.

    Raises ConfigurationError for settings out of range, unknown names and searchers that cannot serve a table, DataError for
    tables that cannot be used.
    """
    s = settings.check()
    plan = Plan(s)
    tasks, left_out = plan.tasks()
    cells = {plan.search(task).cell: task for task in tasks}
    with SafeRowsFile.within(s.to, SearchStudy.results) as file:
        frame = filled(file, cells, WORK, s, Crew.of(s), lambda task: plan.search(task).run(), (progress, "searching"))
    problems = [problem.knowing(_spelt(frame, problem.name)) for problem in plan.problems]
    notes = [*left_out, *flags(problems, plan.contenders)]
    study = SearchStudy(s.to, problems, frame, s.end, s.shown_at, s.seconds is not None, notes, s.until_best)
    study.write()
    return study
