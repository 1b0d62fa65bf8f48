"""What `secateur bench pruning` found: tables, and the pruning papers' figures on one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import MissingExtraError
from secateur.report import bench_page as drawn
from secateur.report.bench_page import Section
from secateur.report.charts import Figure
from secateur.report.rows import Column, Table
from secateur.report.terminal import say
from secateur.report.text_table import print_table, table_blocks
from secateur.runs.bench import pruning_tables as found
from secateur.runs.bench.pruning_settings import PruningSettings
from secateur.runs.bench.ranks import SAMPLES, standard_error
from secateur.runs.bench.rows_file import RowsFile
from secateur.writing import write_whole

if TYPE_CHECKING:
    import pandas

RESULTS, PAGE = "results.parquet", "pruning.html"
TITLE = "How pruning methods compare"
_VOLUME = (
    "Hypervolume of {n} random sub-networks up to (2, 2), error and parameters as quantiles over all arms and repetitions of a "
    "task: at most 4 "
)


@dataclass(frozen=True)
class PruningStudy:
    """What `secateur bench pruning` found: `frame` has all rows of the grid."""

    folder: Path
    file: RowsFile
    settings: PruningSettings
    notes: list[str] = field(default_factory=list)

    @property
    def frame(self) -> pandas.DataFrame:
        return self.file.frame

    def of(self, experiment: str, *kinds: str) -> pandas.DataFrame:
        """The rows of an experiment, of these kinds."""
        frame = self.frame
        if "experiment" not in frame:
            return frame
        return frame[(frame["experiment"] == experiment) & frame["kind"].isin(kinds)]

    # Tables: the same for the terminal, the page and other programs.

    def tables(self) -> dict[str, Table]:
        """Title → table, of the experiments that have rows."""
        made = {
            **{f"{name.capitalize()}: hypervolume": self._volumes(name) for name in ("spaces", "strategies")},
            **dict(self._races()),
            **dict(self._kept()),
        }
        return {title: table for title, table in made.items() if table.rows}

    def _volumes(self, experiment: str) -> Table:
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        tasks = []
        for (model, task), trials in self._by_task(experiment, "trial"):
            tasks += [task] if task not in tasks else []
            for arm, volumes in found.hypervolumes(trials).items():
                rows.setdefault((model, arm), {"model": model, "arm": arm})[task] = spread(volumes)
        return _table(rows.values(), {"spaces": "space", "strategies": "strategy"}[experiment], tasks)

    def _races(self) -> Iterator[tuple[str, Table]]:
        for (model, method), races in self.races().items():
            ranks = found.ranks(races)
            rows: dict[str, dict[str, Any]] = {}
            for task, race in races.items():
                for arm, regrets in race.possible.items():
                    row = rows.setdefault(arm, {"model": model, "arm": arm})
                    row[task] = spread(regrets[:, -1].tolist())
                    row["rank"] = f"{ranks[arm][-1]:.2f}" if arm in ranks else None
            yield _searchers_title(model, method), _table(rows.values(), "searcher", [*races, "rank"])

    def races(self) -> dict[tuple[str, str], dict[str, found.Race]]:
        """(model, method) → task → its searches over time."""
        made: dict[tuple[str, str], dict[str, found.Race]] = {}
        for (model, method, task), trials in _by(self.of("searchers", "trial"), "model", "method", "task"):
            made.setdefault((model, method), {})[task] = found.race(trials)
        return made

    def _kept(self) -> Iterator[tuple[str, Table]]:
        levels = self.settings.levels
        ahead = []
        for (model, task), rows in self._by_task("methods", "level", "unpruned"):
            best, arms = found.kept(rows)
            whole = rows[rows["kind"] == "unpruned"].groupby("arm")
            spent = {name: whole[name].mean().astype(float).to_dict() for name in ("seconds", "passes")}
            cells = []
            for arm, by in arms.items():
                row = {"model": model, "arm": arm, **{at: spread(by.get(at)) for at in levels}}
                cells.append({**row, **{name: by_arm[arm] for name, by_arm in spent.items()}})
            table = _table(cells, "method", levels)
            table.columns.extend([Column("seconds", "time", "seconds"), Column("passes", "passes", "number")])
            yield _methods_title(model, task, best), table
            means = {at: {arm: float(np.mean(by[at])) for arm, by in arms.items() if at in by} for at in levels}
            first = {at: max(m, key=lambda arm: m[arm]) for at, m in means.items() if m}
            ahead.append({"model": model, "arm": task, **{at: f"{arm} {means[at][arm]:.3f}" for at, arm in first.items()}})
        yield "Methods: the best at each size", _table(ahead, "task", levels)

    def _by_task(self, experiment: str, *kinds: str) -> Iterator[tuple[tuple[str, ...], pandas.DataFrame]]:
        return _by(self.of(experiment, *kinds), "model", "task")

    def rows(self) -> list[dict[str, Any]]:
        """A row per table and line."""
        return [{"table": title, **row} for title, table in self.tables().items() for row in table.rows]

    def as_dict(self) -> dict[str, Any]:
        return {"folder": self.folder, "tables": {t: table.rows for t, table in self.tables().items()}, "notes": self.notes}

    def __str__(self) -> str:
        parts = [line for title, table in self.tables().items() for line in (title, *table_blocks(table)[0], "")]
        return "\n".join([*parts, *self.notes, self._written()])

    def show(self) -> None:
        for title, table in self.tables().items():
            print_table(table, title)
            say()
        for note in self.notes:
            say(note)
        say(self._written(), whole=True)

    def _written(self) -> str:
        page = self.folder / PAGE
        return f"Written: {page if page.exists() else self.folder / RESULTS}"

    # The page.

    def write(self) -> None:
        """The page, where what draws it is installed."""
        try:
            sections = [section for section in self._sections() if section.table or section.figures]
            html = drawn.bench_html(TITLE, self.notes, sections)
        except MissingExtraError as error:  # what took long is in the other file
            self.notes.append(f"No page was written: {error}")
            return
        write_whole(html, self.folder / PAGE)

    def _sections(self) -> Iterator[Section]:
        tables = self.tables()
        volume = _VOLUME.format(n=self.settings.samples)
        yield Section(
            "Sizes of sampled sub-networks", "Parameters relative to the whole network (figure 3).", None, self._sizes()
        )
        for name, about in (
            ("spaces", "figure 5"),
            ("strategies", "figure 7; the same sub-networks for all arms of a repetition"),
        ):
            boxes = {
                f"{task}, {model}": drawn.boxes_figure(found.hypervolumes(trials), "hypervolume")
                for (model, task), trials in self._by_task(name, "trial")
            }
            yield Section(name.capitalize(), f"{volume}({about}).", tables.get(f"{name.capitalize()}: hypervolume"), boxes)
        for (model, method), races in self.races().items():
            table = tables.get(_searchers_title(model, method))
            yield Section(f"Searchers, {method}, {model}", _RACES, table, self._race_figures(races))
        yield from self._method_sections(tables)
        fronts = {f"{task}, {model}": self._front(rows) for (model, task), rows in self._by_task("fronts", "front", "unpruned")}
        yield Section("Fronts of single runs", "The first seed, on test data (figures 9 and 10).", None, fronts)

    def _sizes(self) -> dict[str, Figure]:
        made: dict[str, Figure] = {}
        for (model,), rows in _by(self.of("spaces", "size"), "model"):
            made |= {f"{arm}, {model}": drawn.histogram_figure(some["share"].tolist()) for (arm,), some in _by(rows, "arm")}
        return made

    def _race_figures(self, races: Mapping[str, found.Race]) -> dict[str, Figure]:
        ranks = found.ranks(races)
        arms = list(dict.fromkeys(arm for race in races.values() for arm in race.possible))
        steps = np.arange(1, found.STEPS + 1)
        figures = {
            "average ranks over all tasks": drawn.courses_figure(
                {arm: (steps, rank, rank, rank) for arm, rank in ranks.items()}, "time steps", "average rank", arms
            )
        }
        for task, race in races.items():
            series = {arm: (race.times, *drawn.around(v.mean(axis=0), v.std(axis=0))) for arm, v in race.possible.items()}
            figures[task] = drawn.courses_figure(series, "seconds", "regret", arms)
        return figures

    def _method_sections(self, tables: Mapping[str, Table]) -> Iterator[Section]:
        methods = self.settings.methods
        for (model, task), rows in self._by_task("methods", "level", "unpruned"):
            best, arms = found.kept(rows)
            series = {}
            for arm, by in arms.items():
                at = sorted(by, key=lambda level: float(level.rstrip("%")))
                values = [np.array(by[level]) for level in at]
                means, errors = (np.array([f(v) for v in values]) for f in (np.mean, standard_error))
                series[arm] = ([float(level.rstrip("%")) for level in at], *drawn.around(means, errors))
            table = tables.get(_methods_title(model, task, best))
            drawing = {"score kept at each size": drawn.levels_figure(series, methods)}
            yield Section(f"Methods on {task}, {model}", _METHODS, table, drawing)
        yield Section(
            "Methods: the best at each size", "By means over repetitions.", tables.get("Methods: the best at each size")
        )

    def _front(self, rows: pandas.DataFrame) -> Figure:
        fronts: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
        for (arm,), some in _by(rows[rows["kind"] == "front"], "arm"):
            ordered = some[some["test_error"].notna()].sort_values("share")
            fronts[arm] = ordered["share"].tolist(), ordered["test_error"].tolist()
        whole = rows[rows["kind"] == "unpruned"]["test_error"].min()
        return drawn.fronts_figure(fronts, float(whole), self.settings.methods)


_RACES = (
    "Regret: 4 minus the hypervolume up to (2, 2) after the quantiles of all searches of a task, over the seconds since the "
    "search began; means and standard deviations (figures 11 and 12). Ranks: means over "
    f"{SAMPLES:,} draws of a task and a repetition of each searcher (figure 6)."
)
_METHODS = (
    "The best sub-network by validation data with at most so many of the body's parameters: its score on test data as a share "
    "of the best unpruned one; means and standard errors over repetitions (figure 8). Time and passes over the training data: "
    "of all stages but measuring and reporting, on average."
)


def _searchers_title(model: str, method: str) -> str:
    return f"Searchers, {method}, {model}: regret in the end"


def _methods_title(model: str, task: str, best: float) -> str:
    return f"Methods on {task}, {model}: share of {best:.4f}, the best unpruned score on test data"


def spread(values: Sequence[float] | None) -> str | None:
    """A mean with its standard error where there are several values."""
    if not values:
        return None
    error = f" ± {float(standard_error(np.array(values))):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):.3f}{error}"


def _by(frame: pandas.DataFrame, *names: str) -> Iterator[tuple[tuple[str, ...], pandas.DataFrame]]:
    """The rows by these columns, in the order in which they appear."""
    if frame.empty:
        return
    for key, rows in frame.groupby(list(names), sort=False):
        yield tuple(map(str, key)), rows  # type: ignore[arg-type]


def _table(rows: Any, arm: str, names: Sequence[str]) -> Table:
    """Model (where there are several), arm, and the named columns, which hold text."""
    several = list(rows)
    models = {row["model"] for row in several}
    columns = [*([Column("model", "model")] if len(models) > 1 else []), Column("arm", arm)]
    columns += [Column(name, name, "score") for name in names]
    blank: dict[str, Any] = dict.fromkeys([column.name for column in columns])
    return Table(columns, [{**blank, **row} for row in several])
