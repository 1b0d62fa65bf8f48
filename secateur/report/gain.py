"""What a network gains over the one it comes from, and at what price: the line that users read first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from secateur.objectives import PERPLEXITY, kept_share
from secateur.report.numbers import SPACE, finite, ratio, show, shown_as, signed, significant

#: Before and after.
Pair = tuple[float, float]
#: The quantities that a gain compares.
COSTS = ("latency", "memory", "parameters", "body_parameters", "prompt_latency", "token_latency")


@dataclass(frozen=True, kw_only=True)
class Gain:
    """Each pair is (before, after); None where it is not known. `score` is in the metric's own unit, larger is better, on
    `data` (validation or test); `chance` is the score of an answer that ignores its input, on the same data. `perplexity` is
    a language model's, smaller is better; where `metric` is perplexity there is no `score`, and `chance` is one. `predicted`:
    latency and memory come from networks measured beside this one, not from this one.
    """

    latency: Pair | None = None
    memory: Pair | None = None
    parameters: Pair | None = None
    body_parameters: Pair | None = None
    prompt_latency: Pair | None = None
    token_latency: Pair | None = None
    score: Pair | None = None
    metric: str = "score"
    data: str = "validation"
    chance: float | None = None
    perplexity: Pair | None = None
    predicted: bool = False

    @property
    def speedup(self) -> float | None:
        """How many times faster."""
        return self.latency[0] / self.latency[1] if self.latency and self.latency[1] > 0 else None

    def smaller(self, quantity: str = "parameters") -> float | None:
        """The share of a quantity that is gone."""
        pair: Pair | None = getattr(self, quantity)
        return 1 - pair[1] / pair[0] if pair and pair[0] > 0 else None

    @property
    def points(self) -> float | None:
        """What it costs: hundredths of the metric, negative where the score is lower than before."""
        return 100 * (self.score[1] - self.score[0]) if self.score else None

    @property
    def kept(self) -> float | None:
        """The share of what the unpruned network learned above chance that is left; of perplexities by their logarithms."""
        if self.metric == PERPLEXITY and self.perplexity is not None and self.chance is not None:
            before, after, chance = ({PERPLEXITY: value} for value in (*self.perplexity, self.chance))
            return finite(kept_share(PERPLEXITY, chance, before, after))
        if self.score is None or self.chance is None or self.score[0] <= self.chance:
            return None
        return (self.score[1] - self.chance) / (self.score[0] - self.chance)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for tables and JSON."""
        found: dict[str, Any] = {"speedup": self.speedup}
        found |= {f"{name}_smaller": self.smaller(name) for name in ("memory", "parameters", "body_parameters")}
        for name in (*COSTS, "score", "perplexity"):
            found[f"unpruned_{name}"], found[name] = getattr(self, name) or (None, None)
        found |= {"points": self.points, "kept_above_chance": self.kept, "chance": self.chance}
        return found | {"metric": self.metric, "data": self.data, "latency_predicted": self.predicted}

    def __str__(self) -> str:
        """`2.9 × faster, 33 % smaller (layers by 69 %), −3.1 points`."""
        parts = [faster(self.speedup, self.predicted), self._smaller(), self.price()]
        return ", ".join(part for part in parts if part)

    def _smaller(self) -> str:
        whole, body = self.smaller(), self.smaller("body_parameters")
        if whole is None:
            return ""
        return f"{percent(whole)} smaller" + (f" (layers by {percent(body)})" if body is not None else "")

    def price(self) -> str:
        """`−3.1 points`; of a language model `perplexity 8.1 → 9.4`."""
        if self.perplexity is not None:
            return f"perplexity {significant(self.perplexity[0])} → {significant(self.perplexity[1])}"
        return "" if self.points is None else f"{signed(self.points)} points"

    def cost(self) -> str:
        """What is lost, after "costs": `3.1 points`, `nothing`."""
        if self.perplexity is not None:
            return f"{signed(self.perplexity[1] - self.perplexity[0]).lstrip('+')} of perplexity"
        if self.points is None:
            return "an unknown amount"
        return "nothing" if self.points >= 0 else f"{abs(self.points):.1f} points"

    def _chance(self) -> str:
        return significant(self.chance or 0.0) if self.metric == PERPLEXITY else f"{self.chance:.3f}"

    def details(self) -> str:
        """The same in the quantities' own units: `42.0 → 14.2 ms, …`."""
        told = [] if self.perplexity is None else [f"{self.price()} on {self.data} data"]
        names = {"prompt_latency": "per prompt", "token_latency": "per token"}
        for name in ("latency", *names, "memory", "parameters"):
            pair: Pair | None = getattr(self, name)
            if pair is not None:
                told.append(f"{names.get(name, name)} {between(pair, shown_as(name))}")
        if self.score is not None:
            metric = self.metric.replace("_", " ")
            told.append(f"{metric} {self.score[0]:.3f} → {self.score[1]:.3f} on {self.data} data")
        if self.kept is not None:
            told.append(f"{percent(self.kept)} of what it had learned above chance ({self._chance()})")
        return ", ".join(told)


def gain_of(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    scores: Mapping[str, Any],
    predicted: Mapping[str, Any] | None = None,
) -> Gain:
    """The gain from one network's values to another's; `scores` are Gain's other fields. What was not measured of the second
    is taken from `predicted`."""
    known = {**(predicted or {}), **after}
    pairs: dict[str, Any] = {
        n: (float(before[n]), float(known[n])) for n in COSTS if before.get(n) is not None and known.get(n) is not None
    }
    guessed = "latency" in pairs and after.get("latency") is None
    return Gain(**pairs, **scores, predicted=guessed)


def faster(times: float | None, predicted: bool = False) -> str:
    """`2.9 × faster`, `1.1 × slower`; nothing where it is not known."""
    if times is None:
        return ""
    text = f"{ratio(times)} × faster" if times >= 1 else f"{ratio(1 / times)} × slower"
    if 0.95 < times < 1.05:
        text = "as fast"
    return f"about {text} (predicted)" if predicted else text


def percent(share: float) -> str:
    return f"{100 * share:.0f} %".replace("-", "−")


def between(pair: Pair, how: str) -> str:
    """`42.0 → 14.2 ms`: the unit once where it is the same."""
    before, after = (show(value, how).replace(SPACE, " ") for value in pair)
    number, _, unit = before.partition(" ")
    return f"{number} → {after}" if unit and after.endswith(f" {unit}") else f"{before} → {after}"
