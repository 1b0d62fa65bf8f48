"""A list of architectures that something else chose, tried one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from secateur.architecture import Architecture
from secateur.objectives import Objective
from secateur.rng import Generator
from secateur.search.base import Searcher
from secateur.spaces.base import Space
from secateur.trial import Status, Trial


class Listed(Searcher):
    """Proposes the members of a list in their order, each network once. `choose` makes the list when it is first needed."""

    name = "listed"
    ending = "All {ended} architectures of the method were tried."

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        choose: Callable[[], Sequence[Architecture]],
        **more: Any,
    ) -> None:
        super().__init__(space, objectives, *base, **more)
        self._choose = choose

    @cached_property
    def members(self) -> Sequence[Architecture]:
        return tuple(self._choose())

    def _propose(self, rng: Generator) -> Architecture | None:
        return next((a for a in self.members if self._is_new(a)), None)

    def _next_trial(self, rng: Generator) -> Trial | None:
        architecture = self._propose(rng)  # nothing is drawn where the list is at its end
        return None if architecture is None else Trial(self.asked, architecture, Status.RUNNING)
