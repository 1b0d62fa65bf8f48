"""The grid of `secateur bench pruning`: which cells each experiment needs, and under which names their rows go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from secateur.catalogue import with_budgets
from secateur.runs.bench.cells import Cell, Pruned, Row, Searched, Sizes, Trained
from secateur.runs.bench.pruning_settings import SEPARATE, SHARED, PruningSettings

#: Two-stage search as in the papers: all parameters count, and a trial is one network.
PAPERS: dict[str, Any] = {"objectives": ["error", "parameters"], "depths": False, "aimed": 0.0, "polish": False}


@dataclass(frozen=True)
class View:
    """Rows of a cell that an experiment asks for: under which `arm` they go, and which they are."""

    experiment: str
    arm: str
    cell: Cell
    chosen: Callable[[Row], bool] = lambda _: True

    def rows(self, folder: Path) -> list[Row]:
        said = {"experiment": self.experiment, "arm": self.arm, **self.cell.facts}
        return [{**said, **row} for row in self.cell.rows(folder / self.cell.name) if self.chosen(row)]


def views(s: PruningSettings) -> list[View]:
    """What all experiments ask for, repetition by repetition. A super-network that several ask for is trained once."""
    asked = [view for seed in s.seeds for model in s.model for task in s.task for view in _views(s, model, task, seed)]
    trained: dict[str, list[tuple[str, int]]] = {}
    for view in asked:
        if isinstance(view.cell, Trained):
            known = trained.setdefault(view.cell.name, [])
            known += [search for search in view.cell.searches if search not in known]
    return [
        replace(v, cell=replace(v.cell, searches=tuple(trained[v.cell.name]))) if isinstance(v.cell, Trained) else v
        for v in asked
    ]


def _views(s: PruningSettings, model: str, task: str, seed: int) -> Iterator[View]:
    common = {"model": model, "data": task, "seed": seed, "device": s.device, "measure": False}

    def given(method: str, **more: Any) -> dict[str, Any]:
        return {**common, "method": method, **s.changes(method), **more}

    def trained(experiment: str, arm: str, searcher: str, trials: int, **more: Any) -> View:
        settings = given(SHARED, **{"space": "small", "strategy": "full", **PAPERS, **s.changes(SHARED), **more, "trials": 1})
        settings["searcher"] = "random"
        # What the run itself tries does not matter: its super-network is searched afterwards.
        cell = Trained(settings, ((searcher, trials),))
        return View(experiment, arm, cell, lambda row: (row["searcher"], row["of"]) == (searcher, trials))

    for experiment in s.experiments:
        if experiment == "spaces":
            for space in s.compared("space"):
                yield trained(experiment, space, "random", s.samples, space=space)
                if seed == s.seeds[0] and task == s.task[0]:
                    yield View(experiment, space, Sizes(given(SHARED, space=space), s.sizes))
        elif experiment == "strategies":
            for strategy in s.compared("strategy"):
                yield trained(experiment, strategy, "random", s.samples, strategy=strategy)
        elif experiment == "searchers":
            for searcher in s.compared("searcher"):
                if SHARED in s.methods and not _trains(searcher):
                    yield trained(experiment, searcher, searcher, s.trials)
            for searcher in [*s.compared("searcher"), *_further(s)] if SEPARATE in s.methods else ():
                settings = {**PAPERS, "space": "small", **(_within(s) or {"trials": s.trials}), **s.changes(SEPARATE)}
                yield View(experiment, searcher, Searched(given(SEPARATE, **{**settings, "searcher": searcher})))
        elif experiment == "methods" or seed == s.seeds[0]:
            for method in s.methods:
                settings = {"polish_at": s.levels, **_within(s), **s.changes(method)}
                cell = Pruned(given(method, **settings), tuple(s.levels))
                yield View(experiment, method, cell, _fronts if experiment == "fronts" else _levels)


def _levels(row: Row) -> bool:
    return row["kind"] in ("level", "unpruned")


def _fronts(row: Row) -> bool:
    return row["kind"] in ("front", "unpruned")


def _within(s: PruningSettings) -> dict[str, Any]:
    return {} if s.seconds is None else {"seconds": s.seconds}


def _trains(searcher: str) -> bool:
    """Whether a searcher stops trainings early, so that there is nothing for it to do on shared weights."""
    return with_budgets(searcher)


def _further(s: PruningSettings) -> list[str]:
    """The papers' searcher for candidates that are trained, which shared weights have no use for, unless some are named."""
    return ["mo-asha"] if s.searcher is None else []
