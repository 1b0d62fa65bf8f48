"""One extrapolator, told the beginnings of some trainings of a table, and judged by their ends."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from secateur.architecture import digest
from secateur.catalogue import find
from secateur.encodings.learned import fingerprint
from secateur.errors import DataError
from secateur.predictors.curves.known import Known
from secateur.rng import generator
from secateur.runs.bench.predicting import figures
from secateur.tables.curves.material import Reading, known_curves
from secateur.tables.searchable import Reported, SearchTable

#: Trainings to test on, where there are as many.
TEST = 200


class Subject:
    """The trainings of a table by one metric. Raises DataError, ConfigurationError."""

    def __init__(self, table: SearchTable, metric: str, encoding: str | None = None, features: Sequence[Reported] = ()) -> None:
        self.table, self.metric = table, metric
        self.reading = Reading.of(table, [metric], encoding, features)
        self.known: Known = known_curves(replace(table, table=table.table.trained(0)), self.reading).firsts()
        if len(self.known.budgets) < 2:
            raise DataError(f"`{table.name}` has curves of one point: there is no beginning that an end could be told from.")
        self.maximised = table.objective(metric).direction == "max"

    @property
    def name(self) -> str:
        return self.table.name

    @cached_property
    def fingerprint(self) -> str:
        trained = fingerprint(self.reading.encoding) or ""
        return digest(self.table.table.fingerprint, str(self.reading), str(self.maximised), trained)

    def seen(self, share: float) -> int:
        """How many points of a curve a share of the training has: that of the budget nearest to it, before the last."""
        budgets = self.known.budgets
        return int(np.argmin(np.abs(budgets[:-1] - share * budgets[-1]))) + 1


@dataclass(frozen=True)
class Extrapolation:
    """An extrapolator that knows `train` whole curves, which a seed draws, and others up to a `share`."""

    subject: Subject
    extrapolator: str
    share: float
    train: int
    test: int
    seed: int

    @property
    def cell(self) -> str:
        """A digest of all that its result depends on."""
        asked = (self.extrapolator, self.share, self.train, self.test, self.seed)
        return digest("extrapolation 2", self.subject.fingerprint, str(asked))

    def run(self) -> list[dict[str, Any]]:
        """One row: what was asked, and how it did. Deviations that are not known make no figures of calibration."""
        known, subject = self.subject.known, self.subject
        order = generator(self.seed, "split").permutation(len(known))
        tested, learnt = order[: self.test], order[self.test : self.test + self.train]
        curves, seen = known.curves[:, 0], subject.seen(self.share)
        model = find("extrapolator", self.extrapolator)(known.budgets, seen, maximised=subject.maximised, seed=self.seed)
        began = time.thread_time()
        model.learn(known.inputs[learnt], curves[learnt])
        means, deviations = model.predict(known.inputs[tested], curves[tested, :seen])
        took = time.thread_time() - began
        told = np.isfinite(deviations).all() and (deviations > 0).all()
        found = figures(curves[tested, -1], means, deviations if told else np.ones(len(means)))
        if not told:
            found |= dict.fromkeys(("nll", "within_1", "within_2"))
        asked: dict[str, Any] = {"table": subject.name, "metric": subject.metric, "extrapolator": self.extrapolator}
        budget, last = float(known.budgets[seen - 1]), float(known.budgets[-1])
        asked |= {"share": budget / last, "budget": budget, "train": self.train, "seed": self.seed}
        return [{**asked, "test": len(tested), **found, "seconds": took / max(1, len(tested))}]
