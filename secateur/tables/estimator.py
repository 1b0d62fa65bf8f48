"""A table as an estimator: a search on it costs milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar

from secateur.architecture import Architecture, digest
from secateur.errors import EvaluationFailure, UnknownNameError
from secateur.estimators.base import Estimator, Evaluation
from secateur.tables.table import Table


class TableEstimator(Estimator):
    """Answers from a table: the values at the budget asked, and what that training took.

    Where a trial names no budget, it is `budget`, by default the end of training.

    `yields`: the names of columns or curves; or quantity → such a name, where a search calls it otherwise. Values are means
    over the seeds, or those of one `seed`. An architecture that the table does not hold, or without one of the values, fails.
    `beside` names the architectures whose values come with one for free (the shallower depths of a pass).
    """

    cost: ClassVar[int] = 0

    def __init__(
        self,
        table: Table,
        yields: Sequence[str] | Mapping[str, str],
        *,
        seed: int | None = None,
        budget: float | None = None,
        beside: Callable[[Architecture], Sequence[Architecture]] = lambda _: (),
    ) -> None:
        self.columns = dict(yields) if isinstance(yields, Mapping) else {name: name for name in yields}
        for name in self.columns.values():
            if name not in table.names:
                raise UnknownNameError("column", name, table.names)
            table.require(name, budget)
        self.table, self.seed, self.budget, self.beside = table, seed, budget, beside
        self.yields = tuple(self.columns)

    @property
    def fingerprint(self) -> str:
        return digest("table", self.table.fingerprint, str(self.columns), str((self.seed, self.budget)))

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return [self._evaluation(architecture, self.budget if budget is None else budget) for architecture in architectures]

    def _evaluation(self, architecture: Architecture, budget: float | None) -> Evaluation:
        key = architecture.key
        table, seed = self.table.asked(architecture, self.seed)
        try:
            values = self._values(architecture, budget)
        except EvaluationFailure as failure:
            return Evaluation(failure=str(failure))
        curve: dict[float, dict[str, float]] = {}
        for name, column in self.columns.items():
            if column in table.curves:
                for at, value in zip(*table.curve(key, column, budget, seed=seed), strict=True):
                    curve.setdefault(float(at), {})[name] = float(value)
        return Evaluation(
            values,
            extra=tuple(self._beside(architecture, budget)),
            curve=tuple(sorted(curve.items(), key=lambda point: point[0])),
            seconds=table.seconds_to(key, budget, seed=seed),
        )

    def _values(self, architecture: Architecture, budget: float | None) -> dict[str, float]:
        table, seed = self.table.asked(architecture, self.seed)
        key = architecture.key
        known = table.values(key, budget, seed=seed, names=self.columns.values())
        missing = [column for column in self.columns.values() if column not in known]
        if missing:
            at = "" if budget is None else f" at budget {budget:g}"
            raise EvaluationFailure(f"`{self.table.where}` has no `{missing[0]}` of the network `{key}`{at}.")
        return {name: known[column] for name, column in self.columns.items()}

    def _beside(self, architecture: Architecture, budget: float | None) -> Iterator[tuple[Architecture, dict[str, float]]]:
        for other in self.beside(architecture):
            with suppress(EvaluationFailure):  # nobody asked for it
                yield other, self._values(other, budget)
