"""One predictor fitted to some networks of a table, and judged on others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from secateur.architecture import digest
from secateur.catalogue import find, find_encoding
from secateur.encodings import Encoding
from secateur.encodings.learned import fingerprint
from secateur.errors import ConfigurationError
from secateur.predictors import Predictor
from secateur.rng import generator
from secateur.runs.bench.problem import Problem, checked
from secateur.tables.searchable import Reported

#: What is told of each fit, in this order.
FIGURES = ("spearman", "kendall", "pearson", "rmse", "nll", "within_1", "within_2", "seconds")
#: Networks to test on, where no number is given and the table has as many.
TEST = 1000
#: Fewer say nothing of ranks.
FEWEST = 10


class Subject:
    """The networks of a table: what is predicted of them, and what of them a predictor is shown.

    Raises ConfigurationError, DataError for columns or budgets that the table lacks.
    """

    def __init__(self, problem: Problem, features: Sequence[Reported], sizes: Sequence[int], test: int | None) -> None:
        self.problem, self.features = problem, tuple(features)
        for feature in features:
            checked(problem.table, feature)
        self.target = Reported(problem.objectives[0].name, problem.budget)
        values, *beside = (problem.column(one) for one in (self.target, *features))
        known = np.isfinite(np.column_stack([values, *beside])).all(axis=1)
        self.places = np.flatnonzero(known)
        self.unknown = int((~known).sum())
        #: Maximised (n,), and what goes beside the vectors (n, f).
        self.values = -problem.objectives[0].sign * values[known]
        self.beside = np.column_stack([np.zeros((len(self.places), 0)), *(column[known] for column in beside)])
        self.test = self._tested(max(sizes), test)
        self._vectors: dict[str, np.ndarray] = {}
        self._encodings: dict[str, Encoding] = {}

    def _tested(self, most: int, test: int | None) -> int:
        """How many networks are tested on. Raises ConfigurationError where the table has too few."""
        n, wanted = len(self.values), FEWEST if test is None else test
        if most + wanted > n:
            raise ConfigurationError(
                f"`train` is too large for the table `{self.problem.name}`: {most} networks to learn from and {wanted} to test "
                f"on are more than the {n} with `{self.target}`."
            )
        return min(TEST, n - most) if test is None else test

    @property
    def name(self) -> str:
        return self.problem.name

    @cached_property
    def fingerprint(self) -> str:
        return self.problem.table.table.fingerprint

    def encoding(self, name: str) -> Encoding:
        """Raises ConfigurationError where it does not serve the space."""
        if name not in self._encodings:
            self._encodings[name] = find_encoding(name)(self.problem.table.space)
        return self._encodings[name]

    def vectors(self, name: str) -> np.ndarray:
        """Of all networks (n, d)."""
        if name not in self._vectors:
            networks = self.problem.architectures
            self._vectors[name] = self.encoding(name).encode([networks[place] for place in self.places.tolist()])
        return self._vectors[name]

    def predictor(self, name: str, encoding: str) -> Predictor:
        """Made for an encoding. Raises ConfigurationError where the two do not fit, MissingExtraError."""
        kind = find("predictor", name)
        reason = kind.refuses(self.encoding(encoding))
        if reason is None and self.features and kind.for_encoding is not Predictor.for_encoding:
            reason = f"`{name}` reads graphs, and no `feature` beside them."
        if reason is not None:
            raise ConfigurationError(reason)
        made: Predictor = kind().for_encoding(self.encoding(encoding))
        return made


@dataclass(frozen=True)
class Fit:
    """A predictor with an encoding, fitted to `train` networks that a seed draws."""

    subject: Subject
    predictor: str
    encoding: str
    train: int
    seed: int

    @property
    def cell(self) -> str:
        """A digest of all that its result depends on."""
        asked = (self.predictor, self.encoding, self.train, self.seed, self.subject.test)
        shown = (self.subject.target, *self.subject.features)
        trained = [mark] if (mark := fingerprint(self.encoding)) else []
        return digest("prediction 2", self.subject.fingerprint, str(asked), *map(str, shown), *trained)

    def run(self) -> list[dict[str, Any]]:
        """One row: what was asked, and how it did. All sizes of a seed have the same test set, and the smaller their first."""
        subject = self.subject
        order = generator(self.seed, "split").permutation(len(subject.values))
        tested, learnt = order[: subject.test], order[subject.test : subject.test + self.train]
        every = subject.vectors(self.encoding)
        beside = standardised(subject.beside, learnt)
        seen, new = (np.column_stack([every[rows], beside[rows]]) for rows in (learnt, tested))
        values, truth = subject.values[learnt], subject.values[tested]
        centre, scale = values.mean(), values.std() or 1.0
        predictor = subject.predictor(self.predictor, self.encoding)
        began = time.thread_time()
        fitted = predictor.fit(seen, ((values - centre) / scale)[:, None], waiting=seen[:0], seed=self.seed)
        found: dict[str, float | None] = dict.fromkeys(FIGURES)  # of a fit that fails nothing is known
        if fitted is not None:
            means, deviations = (both[:, 0] * scale for both in fitted.predict(new))
            found = {"seconds": time.thread_time() - began, **figures(truth, means + centre, deviations)}
        asked: dict[str, Any] = {"table": subject.name, "predictor": self.predictor, "encoding": self.encoding}
        asked |= {"train": self.train, "seed": self.seed, "test": subject.test}
        return [{**asked, **found}]


def standardised(columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Columns (n, f) with mean 0 and deviation 1 over some rows."""
    spread = columns[rows].std(axis=0)
    return np.asarray((columns - columns[rows].mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def figures(truth: np.ndarray, means: np.ndarray, deviations: np.ndarray) -> dict[str, float | None]:
    """How predictions (n,) compare with the truth (n,): correlations are None where one of the two is constant.

    `nll` is the mean negative log-likelihood of the truth, `within_1` and `within_2` the shares of it that lie within so many
    deviations; of a normal distribution 0.683 and 0.954 do.
    """
    from scipy.stats import kendalltau, pearsonr, spearmanr

    varied = np.ptp(truth) > 0 and np.ptp(means) > 0
    named = {"spearman": spearmanr, "kendall": kendalltau, "pearson": pearsonr}
    found: dict[str, float | None] = {n: float(by(truth, means).statistic) if varied else None for n, by in named.items()}
    errors = np.abs(truth - means) / deviations
    found["rmse"] = float(np.sqrt(((truth - means) ** 2).mean()))
    found["nll"] = float((0.5 * np.log(2 * np.pi * deviations**2) + 0.5 * errors**2).mean())
    return {**found, **{f"within_{k}": float((errors <= k).mean()) for k in (1, 2)}}
