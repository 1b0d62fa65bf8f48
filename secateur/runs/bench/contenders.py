"""The searchers that a bench compares, by name: `local`, `mo-rea:20/5`, `bananas:path`, `local+aimed`, `local+svr:0.2/0.5`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from secateur.architecture import Architecture
from secateur.catalogue import check, check_encoding, find, find_searcher, with_budgets
from secateur.errors import ConfigurationError
from secateur.objectives import Bound
from secateur.rng import Generator
from secateur.runs.bench.problem import Problem
from secateur.search import Aim
from secateur.search.base import Searcher
from secateur.search.rungs import rungs
from secateur.search.stopping import Stopping
from secateur.spaces.pruning import PruningSpace
from secateur.spaces.pruning.sizes import aimed

#: What `+aimed` aims at: sizes of the body.
BODY = "body_parameters"
#: By what factor budgets rise: the first of these whose rungs a table has.
ETAS = (3, 2, 4)
#: What may follow a searcher's name: sizes, an encoding, or both.
DETAIL = re.compile(r"(?:([1-9]\d*)(?:/([1-9]\d*))?(?:$|:(?=.)))?([a-z][a-z-]*|(?![\d/]*$).*/.*)?")


@dataclass(frozen=True)
class Contender:
    """A searcher by name, with a population and the sample drawn from it where they are given (`mo-rea:20`, `mo-rea:20/5`),
    with another encoding than its own (`bananas:path`, or a trained one by its folder: `bananas:runs/arch2vec`; after sizes:
    `mo-rea:20/5:path`), with a share of its trials aimed at sizes where it is called so (`local+aimed`): the share and the
    sizes that `secateur prune` has by default. With an extrapolator (`local+svr`), trainings stop early that promise little
    after a share of them, and the best share of what is whole decides what does (`local+svr:0.2/0.5`)."""

    name: str
    searcher: str
    population: int | None = None
    sample: int | None = None
    encoding: str | None = None
    aimed: bool = False
    stopping: Stopping | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ConfigurationError, UnknownNameError."""
        plain, plus, more = text.partition("+")
        name, colon, detail = plain.partition(":")
        check("searcher", name, "bench")
        found = DETAIL.fullmatch(detail)
        if (plus and not more) or (colon and (not detail or not found)):
            raise ConfigurationError(
                f"`{text}` must be a searcher's name, or one with more: mo-rea:20, mo-rea:20/5, bananas:path, "
                "mo-rea:20/5:path, local+aimed, local+svr or local+svr:0.2/0.5."
            )
        population, sample, encoding = found.groups() if found else (None, None, None)
        if encoding:
            check_encoding(encoding)
        population, sample = (int(size) if size else None for size in (population, sample))
        stopping = Stopping.parse(more, "Other searchers are aimed, as in local+aimed.") if plus and more != "aimed" else None
        if stopping is not None and with_budgets(name):
            raise ConfigurationError(f"`{text}`: `{name}` stops trainings early by itself.")
        return cls(text, name, population, sample, encoding, more == "aimed", stopping)

    def build(self, problem: Problem, seed: int, trials: int, depths: bool) -> Searcher:
        """A new searcher for so many trials. Raises ConfigurationError where it cannot serve the table."""
        kind = find_searcher(self.searcher if self.encoding is None else f"{self.searcher}:{self.encoding}", "bench")
        space = problem.table.space
        given: dict[str, Any] = {"seed": seed, "take_extra": depths, **kind.sizes(trials, self.population, self.sample)}
        if self.aimed:
            given["aim"] = Aim(self._drawn(problem), find("run", "prune").settings.aimed)
        if with_budgets(self.searcher):
            given |= self._budgets(problem)
        searcher: Searcher = kind(space, problem.objectives, **given)
        return searcher if self.stopping is None else self.stopping.wrapped(searcher, self._several(problem))

    def _several(self, problem: Problem) -> tuple[float, ...]:
        """The table's budgets up to the one that drives. Raises ConfigurationError where there is only one."""
        has = problem.budgets
        if len(has) < 2:
            said = ", ".join(f"{b:g}" for b in has) or "none"
            raise ConfigurationError(
                f"`{self.name}` stops trainings early: the table `{problem.name}` needs several budgets up to the one that "
                f"drives, it has: {said}."
            )
        return has

    def _budgets(self, problem: Problem) -> dict[str, Any]:
        """The least and the largest budget and the factor between rungs, of which the table has each."""
        has = self._several(problem)
        factors = (*ETAS, *range(5, int(has[-1] / has[0]) + 2))
        eta = next(eta for eta in factors if set(rungs(has[0], has[-1], eta)) <= set(has))
        return {"least": has[0], "most": has[-1], "eta": eta}

    def _drawn(self, problem: Problem) -> Callable[[Generator], Architecture]:
        """Draws of networks just below each level. Raises ConfigurationError where the table does not hold all sizes."""
        space, table = problem.table.space, problem.table.table
        if not isinstance(space, PruningSpace) or BODY not in table.names:
            raise ConfigurationError(f"`{self.name}` needs a table with `{BODY}` of all networks of a pruning space.")
        sizes = dict(zip(table.keys, table.column(BODY).tolist(), strict=True))
        levels = find("run", "prune").settings.usual("polish_at")
        limits = [Bound.parse(level).resolve(max(sizes.values())) for level in levels]
        return aimed(space, lambda plan: sizes[plan.key], limits)
