"""What `secateur bench encodings` found: encodings by searcher and their ranks, as text, rows and a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from secateur.report.bench_page import Section, around, courses_figure
from secateur.report.charts import Figure
from secateur.report.numbers import spread
from secateur.report.rows import Column
from secateur.report.rows import Table as Shown
from secateur.runs.bench.ranks import standard_error
from secateur.runs.bench.search_courses import Arrays
from secateur.runs.bench.search_results import SearchStudy
from secateur.runs.bench.told import Told

REGRET = "regret"


@dataclass(frozen=True)
class EncodingStudy(Told):
    """What `secateur bench encodings` found. `searches` are those of all searchers with all encodings, `subroutines` names the
    searchers of each."""

    title = "How encodings compare"
    results, page = SearchStudy.results, "encodings.html"

    folder: Path
    searches: SearchStudy
    subroutines: Mapping[str, Sequence[str]]
    asked: Sequence[str]
    notes: list[str] = field(default_factory=list)

    @property
    def searchers(self) -> list[str]:
        return [searcher for some in self.subroutines.values() for searcher in some]

    @cached_property
    def encodings(self) -> list[str]:
        """Those that were searched with, in the order asked."""
        seen = {name.split(":", 1)[1] for name in self.searches.searchers}
        return [encoding for encoding in self.asked if encoding in seen]

    def courses(self, table: str, measure: str, searcher: str) -> Arrays:
        """Encoding → what searches with it had (seeds, queries)."""
        found = self.searches.regrets[table]
        arrays = found.possible if measure == REGRET else found.told[measure]
        return {e: arrays[name] for e in self.encodings if (name := f"{searcher}:{e}") in arrays}

    def measures(self, table: str) -> list[str]:
        """What is told of searches on a table: the measure reported last, and the regret."""
        return [list(self.searches.regrets[table].told)[-1], REGRET]

    @cached_property
    def ranks(self) -> dict[str, dict[str, dict[str, float]]]:
        """Table → subroutine → encoding → its mean rank by regret in the end, over seeds and the searchers that take it."""
        found: dict[str, dict[str, dict[str, float]]] = {}
        for problem in self.searches.problems:
            for subroutine, searchers in self.subroutines.items():
                places: dict[str, list[float]] = {}
                for searcher in searchers:
                    for encoding, rank in self._ranks(problem.name, searcher).items():
                        places.setdefault(encoding, []).append(rank)
                means = {e: float(np.mean(places[e])) for e in self.encodings if e in places}
                found.setdefault(problem.name, {})[subroutine] = means
        return found

    def _ranks(self, table: str, searcher: str) -> dict[str, float]:
        """Encoding → its mean rank by regret in the end over paired seeds, 1 the best, ties at their mean."""
        from scipy.stats import rankdata

        last = {encoding: regrets[:, -1] for encoding, regrets in self.courses(table, REGRET, searcher).items()}
        means = rankdata(np.stack(list(last.values())), axis=0).mean(axis=1).tolist() if last else []
        return dict(zip(last, means, strict=True))

    def rows(self) -> list[dict[str, Any]]:
        """A row per table, encoding and searcher: means over seeds in the end, standard errors, and its rank by regret."""
        last = [row for row in self.searches.rows() if row["queries"] == self.searches.shown_at[-1]]
        by_name = {(row["table"], row["searcher"]): row for row in last}
        found = []
        for problem in self.searches.problems:
            for subroutine, searchers in self.subroutines.items():
                for searcher in searchers:
                    for encoding, rank in self._ranks(problem.name, searcher).items():
                        row = {**by_name[problem.name, f"{searcher}:{encoding}"], "rank": rank}
                        said = {"table": row.pop("table"), "subroutine": subroutine, "searcher": searcher, "encoding": encoding}
                        found.append({**said, **{name: value for name, value in row.items() if name != "searcher"}})
        return found

    def as_dict(self) -> dict[str, Any]:
        """A row per table, encoding and searcher, ranks in each subroutine, and notes."""
        return {"folder": self.folder, "encodings": self.rows(), "average_ranks": self.ranks, "notes": self.said()}

    def said(self) -> list[str]:
        """What a reader must know of the figures."""
        end = self.searches.shown_at[-1]
        told = [
            f"After {end} queries: means over seeds ± standard errors. Ranks are by regret among the encodings, means over "
            "seeds and the searchers of a part; 1 is the best."
        ]
        kept = [note for note in self.searches.said() if not note.startswith("Means over seeds")]
        return [*told, *kept, *self.notes]

    def shown(self) -> Shown:
        several = len(self.searches.problems) > 1
        columns = [Column("table", "table")] if several else []
        columns += [Column("measure", ""), Column("encoding", "encoding")]
        columns += [Column(searcher, searcher, "score") for searcher in self.searchers]
        columns += [Column(f"{part} rank", f"{part} rank", "number") for part in self.subroutines]
        rows = {(row["table"], row["encoding"], row["searcher"]): row for row in self.rows()}
        lines = []
        for problem in self.searches.problems:
            for measure in self.measures(problem.name):
                for encoding in self.encodings:
                    line: dict[str, Any] = {"table": problem.name, "measure": measure, "encoding": encoding}
                    for searcher in self.searchers:
                        row = rows.get((problem.name, encoding, searcher), {})
                        line[searcher] = spread(row.get(measure), row.get(f"{measure}_error"))
                    ranks = self.ranks[problem.name] if measure == REGRET else {}
                    line |= {f"{part} rank": ranks.get(part, {}).get(encoding) for part in self.subroutines}
                    lines.append(line)
        return Shown(columns, lines)

    def sections(self) -> Iterator[Section]:
        """The table; then for each subroutine, how searches with each encoding went."""
        yield Section("Encodings", "", self.shown())
        for part, searchers in self.subroutines.items():
            for measure, late in ((REGRET, False), (None, True)):
                drawn = {}
                for problem in self.searches.problems:
                    of = measure or self.measures(problem.name)[0]
                    for searcher in searchers:
                        if arrays := self.courses(problem.name, of, searcher):
                            drawn[f"{searcher} on {problem.name}"] = self._figure(arrays, of, late)
                if drawn:
                    head = f"{part}: {REGRET if measure else 'found'}"
                    yield Section(head, "Means over seeds with their standard errors.", figures=drawn)

    def _figure(self, arrays: Arrays, y: str, late: bool) -> Figure:
        series = {n: (self.searches.grid, *around(v.mean(axis=0), standard_error(v))) for n, v in arrays.items()}
        return courses_figure(series, self.searches.unit, y, self.encodings, log=not late, late=late)
