"""The bench of searchers: each searches tables with many seeds, and what they find is compared."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from secateur.catalogue import explained
from secateur.errors import ConfigurationError, MissingExtraError, SecateurError, UnknownNameError
from secateur.objectives import QUANTITIES, Objective
from secateur.paths import reason
from secateur.runs.bench.rows_file import RowsFile
from secateur.runs.bench.search_results import SEARCHES, SearchStudy
from secateur.runs.bench.searching import Contender, Search
from secateur.runs.progress import Progress
from secateur.settings import MOST_TRIALS, Settings, option
from secateur.tables.searchable import SearchTable, open_table
from secateur.writing import check_writable

#: Compared where nothing else is asked for: those that propose in a few milliseconds.
USUAL = ("random", "local", "mo-rea", "nsga2")


@dataclass(frozen=True, kw_only=True)
class SearchSettings(Settings):
    """The settings of `secateur bench search`."""

    table: list[str] = option(
        about="A table by name (prune-sst2, prune-stsb, prune-mrpc, …) or a Parquet file; repeat it for several."
    )
    searcher: list[str] | None = option(
        None,
        f"{explained('searcher', 'prune')}; mo-rea:20 is one with a population of 20, local+aimed one with half of its trials "
        f"aimed at 10 to 70 % of the parameters. Repeat it for several; by default {', '.join(USUAL)}.",
    )
    objective: list[str] | None = option(
        None, "A column of the table to minimise, such as macs; repeat it for several. By default those that the table names."
    )
    seeds: int = option(30, "How often each searcher searches each table.", least=1, most=10_000)
    trials: int = option(100, "Trials per search.", least=1, most=MOST_TRIALS)
    depths: bool = option(True, "In small, a trial also brings the shallower networks that its pass contains.")
    to: Path = option(Path("bench-search"), "Folder for the searches and the page; searches already there are not run again.")

    def contradictions(self) -> list[str]:
        found = super().contradictions()
        for text in self.searcher or ():
            try:
                Contender.parse(text)
            except ConfigurationError as error:
                found += error.faults
        if not self.table:
            found.append("`table` names no table: give --table.")
        if self.to.exists() and not self.to.is_dir():
            found.append(f"`{self.to}` is a file: --to takes a folder.")
        return found


def compare_searchers(settings: SearchSettings, progress: Progress) -> SearchStudy:
    """Run the searches that the folder lacks, and compare all that were asked for.

    Raises ConfigurationError for settings out of range, unknown names and searchers that cannot serve a table, DataError for
    tables that cannot be used.
    """
    s = settings.check()
    tables = [open_table(name) for name in dict.fromkeys(s.table)]
    contenders = [Contender.parse(text) for text in dict.fromkeys(s.searcher or USUAL)]
    wanted, left_out = [], []
    for contender in contenders:
        try:
            several = [_search(table, contender, s, seed) for table in tables for seed in range(s.seeds)]
            for search in several[:: s.seeds]:
                search.searcher()
            wanted += several
        except (ConfigurationError, MissingExtraError) as error:
            if s.searcher or isinstance(error, UnknownNameError):
                raise
            left_out.append(f"{contender.name} was left out: {error}")
    file = _opened(s.to)
    try:
        with progress.bar("searching") as advance:
            for done, search in enumerate(wanted, 1):
                if search.cell not in file:
                    file.add(search.cell, search.run())
                advance(done, len(wanted))
    finally:
        with suppress(SecateurError):
            file.write()
    found = file.of([search.cell for search in wanted])
    study = SearchStudy(s.to, tables, {t.name: _objectives(t, s) for t in tables}, found, s.trials, left_out)
    study.write()
    return study


def _search(table: SearchTable, contender: Contender, s: SearchSettings, seed: int) -> Search:
    return Search(table, contender, tuple(_objectives(table, s)), seed, s.trials, s.depths)


def _objectives(table: SearchTable, s: SearchSettings) -> Sequence[Objective]:
    """What is optimised on a table. Raises UnknownNameError for a column that it does not have."""
    names = dict.fromkeys(s.objective or table.objectives)
    for name in names:
        if name not in table.table.names:
            raise UnknownNameError("column", name, table.table.names, f"They are those of the table {table.name}.")
    return [Objective(name, QUANTITIES[name].direction if name in QUANTITIES else "min") for name in names]


def _opened(to: Path) -> RowsFile:
    try:
        check_writable(to)
    except OSError as error:
        raise ConfigurationError(f"`to` cannot be written: `{to}`: {reason(error)}.") from error
    return RowsFile(to / SEARCHES)
