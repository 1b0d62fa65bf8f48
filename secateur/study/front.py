"""The front: the trials that no other trial beats in every objective."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import BoundError, ConfigurationError, UnknownNameError
from secateur.objectives import QUALITIES, QUANTITIES, Bound, Objective, matrix, parse_bounds
from secateur.pareto import hypervolume, non_dominated
from secateur.study.frames import frame, html
from secateur.trial import POLISH, Trial, level

if TYPE_CHECKING:
    from pandas import DataFrame

#: Members that a front's text shows.
MOST = 30


class Evaluated(Protocol):
    """What a front is made of: trials, or what a run wraps around them."""

    @property
    def architecture(self) -> Architecture: ...

    @property
    def values(self) -> Mapping[str, float]: ...


@dataclass(frozen=True, repr=False)
class Member:
    """A trial of a run, with what the run adds to it."""

    trial: Trial

    def __repr__(self) -> str:
        """What is gained first, where that is known, then what it is."""
        gain = getattr(self, "gain", None)
        values = ", ".join(f"{name} {value:.4g}" for name, value in self.values.items())
        return f"<{self.key[:8]}: {f'{gain}; ' if str(gain or '') else ''}{self.text}; {values}>"

    def _repr_html_(self) -> str:
        gain: Any = getattr(self, "gain", "")
        told = [f"<b>{escape(str(gain))}</b>", escape(gain.details())] if str(gain) else []
        lines = "<br>".join([*told, f"{self.key[:8]}: {escape(self.text)}"])
        return f"<p>{lines}</p>{html(frame([dict(self.values)], ''))}"

    @property
    def architecture(self) -> Architecture:
        return self.trial.architecture

    @property
    def text(self) -> str:
        """The architecture for people to read."""
        return str(self.architecture)

    @property
    def key(self) -> str:
        return self.trial.key

    @property
    def values(self) -> Mapping[str, float]:
        return self.trial.values

    @property
    def details(self) -> Mapping[str, float | str]:
        return self.trial.details


M = TypeVar("M", bound=Evaluated)
N = TypeVar("N", bound=Evaluated)


class Front(Generic[M]):
    """Non-dominated members, by ascending second objective (the first, where it is the only one).

    `pool` holds all complete candidates: `best` looks there where a bounded quantity is no objective. `whole` is what relative
    bounds refer to, by default the unpruned network's values.
    """

    def __init__(
        self,
        members: Sequence[M],
        objectives: Sequence[Objective],
        unpruned: Mapping[str, float],
        pool: Sequence[M] | None = None,
        whole: Mapping[str, float] | None = None,
    ) -> None:
        self.objectives = tuple(objectives)
        if not self.objectives:
            raise ConfigurationError("a front needs at least one objective.")
        self.unpruned = dict(unpruned)
        self.members = tuple(members[i] for i in _frontier(self._points(members), bool(self.objectives[1:])))
        self.pool = tuple(members if pool is None else pool)
        self.whole = dict(self.unpruned if whole is None else whole)

    @staticmethod
    def of(
        trials: Sequence[Trial], objectives: Sequence[Objective], unpruned: Mapping[str, float], budget: float | None = None
    ) -> Front[Trial]:
        """The front of a study's complete trials at a budget, by default the largest: values at others do not compare.

        Polished ones are left out for the same reason. Of trials with equal keys the last stays.
        """
        names = [o.name for o in objectives]
        found = [t for t in trials if t.complete and t.origin != POLISH and _known(t, names)]
        spent = max((level(t.budget) for t in found), default=0.0) if budget is None else budget
        chosen = {t.key: t for t in found if level(t.budget) == spent}
        return Front(list(chosen.values()), objectives, unpruned)

    def map(self, wrap: Callable[[M], N], whole: Mapping[str, float] | None = None) -> Front[N]:
        """The same front with each member wrapped (to give it further abilities)."""
        pool = {id(m): wrap(m) for m in (*self.pool, *self.members)}
        members, everything = [pool[id(m)] for m in self.members], [pool[id(m)] for m in self.pool]
        return Front(members, self.objectives, self.unpruned, everything, self.whole if whole is None else whole)

    def __iter__(self) -> Iterator[M]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, index: int) -> M:
        return self.members[index]

    def best(self, under: Mapping[str, str | float | Bound] | None = None) -> M:
        """The first of `best_first`."""
        return self.best_first(under)[0]

    def best_first(self, under: Mapping[str, str | float | Bound] | None = None) -> list[M]:
        """The members that are at most at each bound, those with the best first objective first.

        Bounds are absolute, or with a percent sign relative to the unpruned network: `best(under={"body_parameters": "50%"})`.
        `speedup` bounds the latency: `best(under={"speedup": "3x"})`. Raises BoundError, naming the nearest there is, where
        nothing meets them, and UnknownNameError for an unknown quantity.
        """
        bounds = parse_bounds(under or {})
        aims = {o.name for o in self.objectives}
        candidates = self.members if {name for name, _ in bounds} <= aims else self.pool
        if not self.pool:
            raise BoundError("the study has no complete trial yet, so there is nothing to choose from.")
        known = aims.union(*(m.values for m in self.pool))
        for name, _ in bounds:
            if name not in known:
                if name in QUANTITIES:
                    raise BoundError(f"`{name}` of these networks is not known: it was neither counted nor measured.")
                raise UnknownNameError("quantity", name, {*known, "speedup"})
        limits = [(name, bound.resolve(self.whole.get(name))) for name, bound in bounds]
        candidates = tuple(m for m in candidates if all(name in m.values for name, _ in limits))
        meeting = _within(candidates, limits)
        if not meeting:
            raise BoundError(self._unmet(candidates, under or {}, limits))
        if all(map(_luck, meeting)):  # a constant dominates what has not learned yet: that may still be the better choice
            meeting += [m for m in _within(self.pool, limits) if m not in meeting]
        # ties in the first objective go to the better second one, and so on
        order = np.lexsort((*self._points(meeting).T[::-1], np.array([_luck(m) for m in meeting])))
        return [meeting[place] for place in order.tolist()]

    def _unmet(
        self, candidates: Sequence[M], under: Mapping[str, str | float | Bound], limits: Sequence[tuple[str, float]]
    ) -> str:
        def excess(member: M) -> float:
            return sum(max(0.0, member.values[n] - limit) / (abs(self.whole.get(n, limit)) or 1.0) for n, limit in limits)

        if not candidates:
            return f"no complete trial has a value for each of `{'`, `'.join(dict(limits))}`."
        nearest = min(candidates, key=excess)
        asked = " and ".join(f"`{n}` {'≥' if n == 'speedup' else '≤'} {bound}" for n, bound in under.items())
        there = ", ".join(
            f"{name} {_shown(name, nearest.values[name])}{self._percent(name, nearest.values[name])}" for name in dict(limits)
        )
        return f"nothing that was found has {asked}. The nearest has {there}: {getattr(nearest, 'text', nearest.architecture)}."

    def _percent(self, name: str, value: float) -> str:
        whole = self.whole.get(name)
        return f" ({100 * value / whole:.3g}%)" if whole else ""

    def reference(self) -> dict[str, float]:
        """The default reference: per objective the worst of all candidates and the unpruned, plus a tenth of the range.

        It moves as trials come in: give one of your own to compare studies.
        """
        worst: dict[str, float] = {}
        for objective in self.objectives:
            seen = [objective.sign * m.values[objective.name] for m in self.pool]
            if objective.name in self.unpruned:
                seen.append(objective.sign * self.unpruned[objective.name])
            low, high = (min(seen), max(seen)) if seen else (0.0, 0.0)
            worst[objective.name] = objective.sign * (high + (0.1 * (high - low) or 1.0))
        return worst

    def hypervolume(self, reference: Mapping[str, float] | None = None) -> float:
        """The volume that the front dominates, up to the reference point (by default `reference()`)."""
        corner = self.reference() if reference is None else reference
        missing = [o.name for o in self.objectives if o.name not in corner]
        if missing:
            raise ConfigurationError([f"the reference point has no value for `{name}`." for name in missing])
        return hypervolume(self._points(self.members), matrix([corner], self.objectives)[0])

    def __repr__(self) -> str:
        names = ", ".join(objective.name for objective in self.objectives)
        lines = [f"<Front of {len(self)} by {names}>", *(f"  {member!r}" for member in self.members[:MOST])]
        return "\n".join([*lines, *([f"  … {len(self) - MOST} more"] if len(self) > MOST else [])])

    def to_pandas(self) -> DataFrame:
        """The rows of `table` as a frame, by key."""
        return frame(self.table(), "key")

    def _repr_html_(self) -> str:
        found = self.to_pandas()
        shown = [
            "gain",
            "architecture",
            *(o.name for o in self.objectives),
            *(c for c in map(str, found) if c.endswith("_share")),
        ]
        return html(found[[column for column in shown if column in found]].rename(index=lambda key: key[:8]))

    def table(self) -> list[dict[str, Any]]:
        """A row per member: its gain where that is known, trial number, architecture, all values, and each cost as a share of
        the unpruned network's."""
        rows = []
        for member in self.members:
            trial: Any = getattr(member, "trial", member)
            row: dict[str, Any] = {"gain": str(member.gain)} if hasattr(member, "gain") else {}
            row["trial"] = trial.number
            row |= {"architecture": str(member.architecture), "key": member.architecture.key, **member.values}
            for name, value in member.values.items():
                if name not in (*QUALITIES, self.objectives[0].name) and self.unpruned.get(name):
                    row[f"{name}_share"] = value / self.unpruned[name]
            rows.append(row)
        return rows

    def _points(self, members: Sequence[M]) -> np.ndarray:
        return matrix([m.values for m in members], self.objectives)


def _within(members: Sequence[M], limits: Sequence[tuple[str, float]]) -> list[M]:
    """Those whose values are known and at most at each limit."""
    return [m for m in members if all(m.values.get(name, math.inf) <= limit for name, limit in limits)]


def _luck(member: Any) -> int:
    """Above 0 where its answers are no better than chance, as far as that is known: such are chosen last."""
    return int(getattr(member, "luck", 0))


def _shown(name: str, value: float) -> str:
    """A value in the unit that bounds are written in."""
    scale, unit = {"s": (1e3, " ms"), "B": (1e-6, " MB")}.get(QUANTITIES[name].unit if name in QUANTITIES else "", (1, ""))
    return f"{value * scale:,.6g}{unit}" if unit else f"{value:,.9g}"


def _known(trial: Trial, names: Sequence[str]) -> bool:
    """Whether the trial has a finite number for each name: no study stores another, but a file may have been edited."""
    return all(math.isfinite(trial.values.get(name, math.nan)) for name in names)


def _frontier(points: np.ndarray, several: bool) -> list[int]:
    """The indices of the non-dominated points (n, m), one of each set of equal ones, in the front's order."""
    first: dict[bytes, int] = {}
    for index in np.flatnonzero(non_dominated(points)):
        first.setdefault((points[index] + 0.0).tobytes(), int(index))  # + 0.0: −0 and 0 are the same point
    lead = 1 if several else 0
    return sorted(first.values(), key=lambda i: (points[i, lead], *points[i]))
