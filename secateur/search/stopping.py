"""How candidates' trainings are stopped early, as it is said on the command line: `svr`, `svr:0.2`, `svr:0.2/0.5`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from secateur.catalogue import check, find
from secateur.errors import ConfigurationError
from secateur.search.base import Searcher
from secateur.search.extrapolating import Extrapolating

#: Which share of a training comes before its end is extrapolated, and the share of whole trainings that it must be among.
FEW, KEEP = 0.2, 0.5
#: How often a training is looked at before that.
POINTS = 4
_SPELT = re.compile(r"([a-z]+)(?::(0?\.\d+)(?:/(0?\.\d+|1))?)?")


@dataclass(frozen=True)
class Stopping:
    """After the share `few` of a training its end is extrapolated; it goes on where that would be in the best `keep`."""

    extrapolator: str
    few: float = FEW
    keep: float = KEEP

    @classmethod
    def parse(cls, text: str, hint: str = "") -> Self:
        """Raises ConfigurationError, UnknownNameError with the hint."""
        found = _SPELT.fullmatch(text)
        if found is None:
            raise ConfigurationError(f"`{text}` must be an extrapolator, with shares or without: svr, svr:0.2 or svr:0.2/0.5.")
        name, few, keep = found.groups()
        check("extrapolator", name, hint=hint)
        made = cls(name, float(few) if few else FEW, float(keep) if keep else KEEP)
        if not (made.few > 0 and made.keep > 0):
            raise ConfigurationError(f"`{text}`: the shares of an extrapolator must be above 0.")
        return made

    def points(self, most: float) -> list[float]:
        """Budgets at which a training of the budget `most` is looked at: the last is where its end is extrapolated."""
        return [self.few * most * part / POINTS for part in range(1, POINTS + 1)]

    def wrapped(self, searcher: Searcher, budgets: Sequence[float]) -> Extrapolating:
        """The searcher, whose trainings stop at that of the budgets that is nearest to the share. Raises ConfigurationError."""
        *before, most = sorted(budgets)
        few = min(before, key=lambda budget: abs(budget - self.few * most))
        kind = find("extrapolator", self.extrapolator)
        kind(np.array([few, most]), 1)  # a missing library is said now, not after the first trainings
        return Extrapolating(searcher, kind, budgets, few=few, keep=self.keep)
