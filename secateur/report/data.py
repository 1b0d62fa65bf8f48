"""What a report is made of: plain data, so that tables and figures can be tested without a run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from secateur.objectives import QUANTITIES

Row = dict[str, Any]

#: What each quantity is called in the report.
TITLES = {
    "error": "error",
    "parameters": "parameters",
    "body_parameters": "body parameters",
    "macs": "MACs",
    "latency": "latency",
    "memory": "memory",
}


def title(quantity: str) -> str:
    """A quantity's name for people."""
    return TITLES.get(quantity, quantity.replace("_", " "))


def kind(quantity: str) -> str:
    """How a quantity's numbers are shown: one of the kinds of `numbers.show`."""
    if quantity == "error":
        return "score"
    return {"s": "seconds", "B": "bytes"}.get(QUANTITIES.get(quantity, ("", ""))[0], "count")


@dataclass(frozen=True)
class ReportData:
    """A run, ready to be shown. All values are plain JSON; every objective is better when smaller.

    `task`: name, kind, main (the main metric's name), metrics (names), sizes (train, validation, test → examples).
    `objectives`: as the user wrote them, bounds included (`latency<=20ms`).
    `shape`: layers, heads and units of the unpruned network.
    `unpruned`: values (error on validation data, parameters, …), test (metrics on test data, or None).
    `trials`: number, id (None where nobody asked), origin, status, key, architecture (text), plan (`Plan.as_dict()`), values,
    details, reason, seconds.
    `front`: key, architecture, plan, values, details, test (metrics or None), polished (None, or values and test).
    `journal`: stage, status, seconds. `curves`: name → rows with step, loss and further numbers.
    `importance`: heads (L, H) and units (L, U), scores by original index; order_heads and order_units, the original index at
    each place. None where nothing was ordered.
    `load_code`: the lines that load a sub-network; `{key}` in it stands for the sub-network's key.
    """

    title: str
    created: str
    version: str
    settings: dict[str, Any]
    task: dict[str, Any]
    device: str
    objectives: list[str]
    shape: dict[str, int]
    unpruned: Row
    trials: list[Row]
    front: list[Row]
    journal: list[Row] = field(default_factory=list)
    curves: dict[str, list[Row]] = field(default_factory=dict)
    importance: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    load_code: str = ""

    @property
    def metric(self) -> str:
        """The main metric's name: `error` is 1 − this."""
        return str(self.task.get("main") or "score")

    @property
    def objective_names(self) -> list[str]:
        """The objectives without their bounds."""
        return [re.split(r"[<>=\s]", text.strip(), maxsplit=1)[0] for text in self.objectives]

    @property
    def quantities(self) -> list[str]:
        """Every quantity that the front's members have values for: the objectives first, then in the usual order."""
        known = list(dict.fromkeys([*self.objective_names, *QUANTITIES]))
        seen = {name for row in [self.unpruned, *self.front] for name, value in row["values"].items() if value is not None}
        return [name for name in known if name in seen] + sorted(seen.difference(known))

    @property
    def costs(self) -> list[str]:
        """The quantities other than the error."""
        return [name for name in self.quantities if name != "error"]

    @property
    def budget(self) -> str | None:
        """The quantity that shares ('at most 50 %') are taken of: the body's parameters where they are known."""
        whole = self.unpruned["values"]
        candidates = ["body_parameters", "parameters", *self.costs]
        return next((name for name in candidates if name in self.costs and (whole.get(name) or 0) > 0), None)
