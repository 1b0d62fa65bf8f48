"""Runs against each other, computed: one hypervolume for all, the best at each size and speed, what no run beats, seeds."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from secateur.objectives import QUANTITIES, Objective, matrix
from secateur.pareto import hypervolume, hypervolume_over_time, non_dominated
from secateur.report.data import Row
from secateur.report.numbers import show, shown_as, title
from secateur.report.rows import MARGIN, SHARES, Column, Table

#: Where the best of a run is named → the bound on it, as `--under` takes it.
SIZES = {f"{share}": ("body_parameters", f"{share}%") for share in SHARES}
SPEEDS = {f"{times}x": ("speedup", f"{times}x") for times in (2, 3, 4)}
#: What must be the same in all runs, and what follows where it is not.
CONDITIONS = {
    "metric": "their scores cannot be compared",
    "data": "their scores are for different examples",
    "network": "shares and speed-ups refer to different networks",
    "device": "their latencies cannot be compared",
    "measured": "their latencies cannot be compared",
}


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """A run, ready to be compared.

    `facts` tell runs apart (searcher, seed, …), `settings` are all that it was given but the seed. `members`: key, architecture
    (text) and values of all candidates. `asked`: the values of the complete trials asked for, in order. `best`: at each level
    the key, score and test (score on test data, or None), or None where nothing is so small or so fast.
    """

    name: str
    folder: str
    facts: Row
    settings: Row
    conditions: Row
    members: list[Row]
    asked: list[Row]
    unpruned: Row
    best: dict[str, Row | None]
    seconds: float
    finished: bool = True


@dataclass(frozen=True)
class Comparison:
    """Runs compared over `objectives`. `score`: what their scores are (a metric, or a quantity)."""

    runs: Sequence[ComparedRun]
    objectives: Sequence[Objective]
    score: str = "score"
    notes: list[str] = field(default_factory=list)

    @property
    def levels(self) -> list[str]:
        """Where any run has a best."""
        return [level for level in (*SIZES, *SPEEDS) if any(run.best.get(level) for run in self.runs)]

    @property
    def tested(self) -> bool:
        """Whether every best has a score on test data."""
        found = [best for run in self.runs for best in run.best.values() if best]
        return bool(found) and all(best["test"] is not None for best in found)

    @cached_property
    def fronts(self) -> list[list[Row]]:
        """Per run, the members that no other of it dominates, by the last objective."""
        found = []
        for run in self.runs:
            known = self._known(run.members)
            kept = non_dominated(self._points(known))
            front = [member for member, keep in zip(known, kept, strict=True) if keep]
            found.append(sorted(front, key=lambda m: float(m["values"][self.objectives[-1].name])))
        return found

    def _known(self, rows: Sequence[Row]) -> list[Row]:
        names = [o.name for o in self.objectives]
        return [row for row in rows if all(math.isfinite(row["values"].get(name, math.nan)) for name in names)]

    def _points(self, rows: Sequence[Row]) -> np.ndarray:
        return matrix([row["values"] for row in rows], self.objectives)

    @cached_property
    def _box(self) -> tuple[np.ndarray, np.ndarray]:
        """The best and the worst of every objective over all fronts and the unpruned networks, all minimised."""
        whole = self._known([{"values": run.unpruned} for run in self.runs])
        points = self._points([*(m for front in self.fronts for m in front), *whole])
        if not len(points):
            return np.zeros(len(self.objectives)), np.ones(len(self.objectives))
        low, span = points.min(axis=0), np.ptp(points, axis=0)
        return low, low + np.where(span > 0, span, 1.0)

    @property
    def reference(self) -> dict[str, float]:
        """The point that every hypervolume is taken up to: a tenth of the range beyond the worst."""
        low, high = self._box
        corner = high + MARGIN * (high - low)
        return {o.name: float(o.sign * value) for o, value in zip(self.objectives, corner, strict=True)}

    def _scaled(self, rows: Sequence[Row]) -> np.ndarray:
        """To 0…1 between the best and the worst, and then to 0…1 up to the reference."""
        low, high = self._box
        scaled: np.ndarray = (self._points(rows) - low) / (high - low) / (1 + MARGIN)
        return scaled

    def hypervolumes(self) -> list[float]:
        """Per run, the share of the box between the best of all and the reference that its front dominates: 0…1."""
        corner = np.ones(len(self.objectives))
        return [hypervolume(self._scaled(front), corner) for front in self.fronts]

    def over_trials(self) -> list[list[float]]:
        """Per run, the same share after each complete trial that was asked for: before any polishing or measuring."""
        corner = np.ones(len(self.objectives))
        known = [self._known([{"values": values} for values in run.asked]) for run in self.runs]
        return [hypervolume_over_time(self._scaled(rows), corner).tolist() for rows in known]

    @cached_property
    def unbeaten(self) -> list[Row]:
        """The members of all fronts that no member of any run dominates, with the name of their run."""
        named = [{"run": run.name, **m} for run, front in zip(self.runs, self.fronts, strict=True) for m in front]
        kept = non_dominated(self._points(named))
        found = [member for member, keep in zip(named, kept, strict=True) if keep]
        return sorted(found, key=lambda m: float(m["values"][self.objectives[-1].name]))

    @cached_property
    def rows(self) -> list[Row]:
        """A row per run."""
        found = []
        for run, front, volume in zip(self.runs, self.fronts, self.hypervolumes(), strict=True):
            row: Row = {"run": run.name, "folder": run.folder, **run.facts, "hypervolume": volume, "members": len(front)}
            row["unbeaten"] = sum(member["run"] == run.name for member in self.unbeaten)
            for level in (*SIZES, *SPEEDS):
                best = run.best.get(level) or {}
                row |= {f"{what}_at_{level}": best.get(what) for what in ("score", "test", "key")}
            found.append(row | {"seconds": run.seconds, "finished": run.finished})
        return found

    @cached_property
    def groups(self) -> list[list[int]]:
        """The runs (by their place) that differ by their seed alone, together."""
        found: dict[str, list[int]] = {}
        for i, run in enumerate(self.runs):
            found.setdefault(json.dumps(run.settings, sort_keys=True, default=str), []).append(i)
        return list(found.values())

    def group_name(self, group: Sequence[int]) -> str:
        """What tells a group from the others: its settings that differ between groups."""
        several = [self.runs[one[0]].settings for one in self.groups]
        own = self.runs[group[0]].settings
        differ = [name for name in own if any(other.get(name) != own[name] for other in several)]
        facts = self.runs[group[0]].facts
        values = {name: facts.get(name, own[name]) for name in sorted(differ, key=lambda name: name not in facts)}
        told = [f"{name} {', '.join(map(str, v)) if isinstance(v, list) else v}" for name, v in values.items()]
        more = f" and {len(told) - 3} other settings" if len(told) > 3 else ""
        return ", ".join(told[:3]) + more or "all runs"

    def group_rows(self) -> list[Row]:
        """Of runs that differ by their seed alone: mean and standard deviation (n − 1) of every figure."""
        names = [f"{what}_at_{level}" for level in (*SIZES, *SPEEDS) for what in ("score", "test")]
        found = []
        for group in self.groups:
            if len(group) < 2:
                continue
            row: Row = {"group": self.group_name(group), "runs": len(group), "names": [self.runs[i].name for i in group]}
            for name in ("hypervolume", *names, "seconds"):
                values = [self.rows[i][name] for i in group if self.rows[i][name] is not None]
                row[f"{name}_mean"] = statistics.fmean(values) if values else None
                row[f"{name}_std"] = statistics.stdev(values) if len(values) > 1 else None
            found.append(row)
        return found

    # As tables

    @property
    def same(self) -> Row:
        """The facts that all runs share."""
        first = self.runs[0].facts
        return {n: v for n, v in first.items() if n != "seed" and all(run.facts.get(n) == v for run in self.runs)}

    def _score_columns(self, suffix: str = "") -> list[Column]:
        what, how = "test" if self.tested else "score", shown_as(self.score) if self.score in QUANTITIES else "score"
        titles = {level: f"{level} %" if level in SIZES else f"{level[:-1]} ×" for level in self.levels}
        return [Column(f"{what}_at_{level}{suffix}", text, how) for level, text in titles.items()]

    def runs_table(self) -> Table:
        """The runs: what tells them apart, then their figures."""
        names = [name for name in self.runs[0].facts if name not in self.same]
        columns = [Column("run", "run"), *(Column(name, title(name)) for name in names)]
        columns += [Column("hypervolume", "hypervolume", "score"), Column("shown", "unbeaten", "score")]
        rows = [{**row, "shown": f"{row['unbeaten']} of {row['members']}"} for row in self.rows]
        return Table([*columns, *self._score_columns(), Column("seconds", "time", "seconds")], rows)

    def groups_table(self) -> Table:
        """Runs that differ only in their seed: mean ± standard deviation."""
        figures = [Column("hypervolume", "hypervolume", "score"), *self._score_columns(), Column("seconds", "time", "seconds")]
        rows = []
        for group in self.group_rows():
            row: Row = {"group": group["group"], "runs": group["runs"]}
            for column in figures:
                mean, deviation = (group[f"{column.name}_{what}"] for what in ("mean", "std"))
                told = f" ± {show(deviation, column.shown_as)}" if deviation is not None else ""
                row[column.name] = None if mean is None else f"{show(mean, column.shown_as)}{told}"
            rows.append(row)
        return Table([Column("group", "group"), Column("runs", "runs", "integer"), *figures], rows)

    def unbeaten_table(self) -> Table:
        """What no run beats."""
        columns = [Column("run", "run"), Column("key", "key"), Column("architecture", "architecture")]
        names = list(dict.fromkeys([*(o.name for o in self.objectives), "latency", "memory", "parameters"]))
        rows: list[Row] = [{**{n: m[n] for n in ("run", "key", "architecture")}, **m["values"]} for m in self.unbeaten]
        known = [name for name in names if any(row.get(name) is not None for row in rows)]
        return Table([*columns, *map(Column.of, known)], [{**dict.fromkeys(known), **row} for row in rows])


def differences(runs: Sequence[ComparedRun]) -> list[str]:
    """What keeps the runs from being compared, in sentences."""
    told = [f"{run.name} is not finished: its front may still change." for run in runs if not run.finished]
    for name, consequence in CONDITIONS.items():
        values: dict[str, list[ComparedRun]] = {}
        for run in runs:
            if run.conditions.get(name) is not None:
                values.setdefault(str(run.conditions[name]), []).append(run)
        if len(values) < 2:
            continue
        if name == "data":
            told.append(_of_data(list(values.values()), consequence))
        else:
            listed = "; ".join(f"{value} in {', '.join(run.name for run in having)}" for value, having in values.items())
            told.append(f"{title(name)} differs ({listed}): {consequence}.")
    return told


def _of_data(having: Sequence[Sequence[ComparedRun]], consequence: str) -> str:
    """Other seeds split the same data otherwise, which is no fault; all else is said."""
    runs = [run for same in having for run in same]
    sources = {(run.facts.get("data"), json.dumps(run.conditions.get("sizes"))) for run in runs}
    seeds = [{run.facts.get("seed") for run in same} for same in having]
    if len(sources) == 1 and not set.intersection(*seeds):
        return "each seed draws its own validation and test examples, so scores of different seeds are for different examples."
    return f"the runs were not scored on the same data: {consequence}."
