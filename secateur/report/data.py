"""What a report is made of: plain data, so that tables and figures can be tested without a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from secateur.objectives import ERROR, PERPLEXITY, QUALITIES, QUANTITIES, scored
from secateur.report.numbers import finite

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class RunData:
    """What the reports of all kinds of run share. All values are plain JSON.

    `objectives`: as the user wrote them, bounds included (`latency<=20ms`).
    `directions`: objective → min or max; what is not named has the direction that its quantity has everywhere.
    `trials`: number, id (None where nobody asked), origin, status, key, architecture (text), values, details, reason, seconds.
    `front`: key, architecture (text), values, details, and what the kind of run adds.
    `journal`: stage, status, seconds.
    `unfinished`: of a run that is not done, stage (in which it is, or stopped; "" before the first), progress and reason (text,
    may be empty), and resume: the command that goes on with it.
    `load_code`: the lines that go on with a member of the front; `{key}` in it stands for the member's key.
    """

    title: str
    created: str
    version: str
    settings: dict[str, Any]
    device: str
    objectives: list[str]
    trials: list[Row]
    front: list[Row]
    directions: dict[str, str] = field(default_factory=dict)
    journal: list[Row] = field(default_factory=list)
    unfinished: dict[str, str] | None = None
    notes: list[str] = field(default_factory=list)
    load_code: str = ""

    @property
    def objective_names(self) -> list[str]:
        """The objectives without their bounds."""
        return [re.split(r"[<>=\s]", text.strip(), maxsplit=1)[0] for text in self.objectives]

    def direction(self, quantity: str) -> str:
        """Whether less (`min`) or more (`max`) of a quantity is better."""
        known = QUANTITIES[quantity].direction if quantity in QUANTITIES else "min"
        return self.directions.get(quantity, known)

    def sign(self, quantity: str) -> float:
        """+1 where smaller is better, −1 where larger is: sign × value is always minimised."""
        return -1.0 if self.direction(quantity) == "max" else 1.0

    @property
    def yardsticks(self) -> list[Row]:
        """The networks that the front is compared with: rows with values."""
        return []

    @property
    def quantities(self) -> list[str]:
        """Every quantity that the front's members have values for: the objectives first, then in the usual order."""
        known = list(dict.fromkeys([*self.objective_names, *QUANTITIES]))
        rows = [*self.yardsticks, *self.front]
        seen = {name for row in rows for name, value in row["values"].items() if value is not None}
        return [name for name in known if name in seen] + sorted(seen.difference(known))


@dataclass(frozen=True, kw_only=True)
class ReportData(RunData):
    """A pruning run, ready to be shown. Every objective is better when smaller.

    `task`: name, kind, main (the main metric's name), metrics (names), sizes (train, validation, test → examples).
    `shape`: layers, heads and units of the unpruned network.
    `unpruned`: values (error on validation data, parameters, …), test (metrics on test data, or None).
    `trials` and `front` also have plan (`Plan.as_dict()`).
    `front` also: test (metrics or None), polished (None, or values and test), weights (shared or polished: the better, which an
    export writes), gain (`Gain.as_dict()`), gain_text, best (whether no other is better with these weights: the Pareto front),
    and chance (whether it is no better than chance).
    `lead`: what was gained and what it cost, in a line; `lead_about`: by which network; `lead_key`: its key; `lead_details`:
    the gain in units. `cards`: limit (a share of `budget`) and the key of the best within it.
    `chance`, `chance_test`: the score of an answer that ignores its input, on validation and on test data, or None.
    `doubt`: what to say first where the unpruned network is no better than chance.
    `curves`: name → rows with step, loss and further numbers, in the order in which they were trained.
    `importance`: heads (L, H) and units (L, U), scores by original index; order_heads and order_units, the original index at
    each place. None where nothing was ordered.
    `formats`: `format_rows` of the networks that the run names and of the unpruned one; `formats_about`: what the numbers are.
    """

    task: dict[str, Any]
    shape: dict[str, int]
    unpruned: Row
    lead: str = ""
    lead_about: str = ""
    lead_details: str = ""
    lead_key: str | None = None
    doubt: str | None = None
    chance: float | None = None
    chance_test: float | None = None
    cards: list[Row] = field(default_factory=list)
    curves: dict[str, list[Row]] = field(default_factory=dict)
    importance: dict[str, Any] | None = None
    formats: list[Row] = field(default_factory=list)
    formats_about: str = ""

    @property
    def metric(self) -> str:
        """What scores are: the main metric's name, of which `error` is 1 minus, or perplexity."""
        return str(self.task.get("main") or "score")

    @property
    def metric_title(self) -> str:
        """The same for people."""
        return self.metric.replace("_", " ")

    @property
    def yardsticks(self) -> list[Row]:
        return [self.unpruned]

    @property
    def quality(self) -> str:
        """The quantity that says how good a network is: `error`, or `perplexity` where that is an objective."""
        return PERPLEXITY if PERPLEXITY in self.objective_names else ERROR

    @property
    def chance_value(self) -> float | None:
        """The same quantity of an answer that ignores its input, on validation data."""
        return None if self.chance is None else scored(self.quality, self.chance)  # 1 − (1 − error) is the error again

    def by_luck(self, values: Mapping[str, Any]) -> bool:
        """Whether what was found on validation data is no better than chance, as far as both are known."""
        value = finite(values.get(self.quality))
        return self.chance is not None and value is not None and self._no_better(scored(self.quality, value))

    def _no_better(self, score: float) -> bool:
        assert self.chance is not None
        return score >= self.chance if self.quality == PERPLEXITY else score <= self.chance

    @property
    def costs(self) -> list[str]:
        """The quantities other than those that say how good a network is."""
        return [name for name in self.quantities if name not in QUALITIES]

    @property
    def budget(self) -> str | None:
        """The quantity that shares ('at most 50 %') are taken of: the body's parameters where they are known."""
        whole = self.unpruned["values"]
        candidates = ["body_parameters", "parameters", *self.costs]
        return next((name for name in candidates if name in self.costs and (whole.get(name) or 0) > 0), None)


@dataclass(frozen=True, kw_only=True)
class DesignReportData(RunData):
    """A design run, ready to be shown.

    `trials` and `front` also have choices: the architecture's (backbone, width, heads and inner per layer, embedding, factor).
    `front` also: measured (whether its latency was measured; else it is the latency model's), predicted_latency (or None),
    gain (`Gain.as_dict()`, against the network called `published`) and gain_text.
    `baselines`: name (`GPT-2 small, 6 layers`), family (`GPT-2 small`), layers, key, architecture (text), choices, values.
    `latency_model`: None where every candidate was measured; else mean_error and max_error (relative, on networks that it was
    not fitted on), seconds (the fit took), networks (it was fitted on), and points: rows with predicted and measured seconds of
    the networks that it was checked on (may be left out).
    """

    baselines: list[Row] = field(default_factory=list)
    published: str = ""
    latency_model: dict[str, Any] | None = None

    @property
    def yardsticks(self) -> list[Row]:
        return self.baselines

    @property
    def proxy(self) -> str:
        """The quantity that stands for quality: the first objective to be maximised."""
        largest = [name for name in self.objective_names if self.direction(name) == "max"]
        return largest[0] if largest else "decoder_parameters"

    @property
    def costs(self) -> list[str]:
        """The costs that the front is compared by: the minimised objectives, then latency and memory where they are known."""
        names = [name for name in self.objective_names if self.direction(name) == "min"]
        known = self.quantities
        return list(dict.fromkeys([*names, *(name for name in ("latency", "memory") if name in known)]))
