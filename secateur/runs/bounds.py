"""Bounds that nothing meets: refused before anything is trained where that can be known, and explained where it cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from secateur.errors import BoundError
from secateur.objectives import Objective
from secateur.report.numbers import with_unit
from secateur.trial import Trial

Values = Mapping[str, float]
#: Objectives and bounds, each with the text that the user wrote.
Asked = Sequence[tuple[Objective, str]]


def check_bounds(space: str, asked: Asked, least: Values, most: Values, unpruned: Values) -> None:
    """Raise BoundError for a bound that no architecture can meet; `least` and `most` are what there is of each quantity."""
    for o, text in asked:
        for extreme, bound, beyond, which in ((least, o.upper, 1, "smallest"), (most, o.lower, -1, "largest")):
            if bound is None or o.name not in extreme:
                continue
            if beyond * (extreme[o.name] - bound.resolve(unpruned.get(o.name))) > 0:
                raise BoundError(
                    f"nothing in the space `{space}` meets `{text}`: its {which} network has "
                    f"{_shown(o.name, extreme[o.name], unpruned)}. Relax the bound, or widen the ranges."
                )


def nothing_found(trials: Sequence[Trial], asked: Asked, count: int, unpruned: Values) -> str | None:
    """Why a search of `count` trials has no front: which bound nothing met, and how near it came. None where no trial says."""
    for o, text in asked:
        broken = [t.values[o.name] for t in trials if o.violated(t.values, unpruned)]
        if broken:
            above = o.upper is not None and min(broken) > o.upper.resolve(unpruned.get(o.name))
            near = min(broken) if above else max(broken)
            return (
                f"none of {count} trials met `{text}`. The nearest had {_shown(o.name, near, unpruned)}. "
                "Relax the bound in a new run, allow more trials, or change the ranges."
            )
    last = next((t.reason for t in reversed(trials) if t.reason), None)
    return None if last is None else f"none of {count} trials could be evaluated: {last}."


def _shown(name: str, value: float, unpruned: Values) -> str:
    whole = unpruned.get(name)
    return with_unit(name, value) + (f" ({100 * value / whole:.3g}%)" if whole else "")
