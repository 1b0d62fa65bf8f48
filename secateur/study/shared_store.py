"""A store that several drivers work on at once, each with trials of its own: a running trial is lent to one of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from secateur.estimators.together import CacheEntry
from secateur.study.store import Store
from secateur.trial import Trial


@dataclass(frozen=True)
class Lease:
    """Who runs a trial, None where nobody says so, and the `seconds` left, by the store's clock, to say so again."""

    owner: str | None
    expires: float | None
    seconds: float


@dataclass(frozen=True)
class News:
    """What others did: `asked`, in the order of their ids, and `told`, in the order told. A trial may be in both. `leases` are
    those of others, by the trial's number."""

    asked: Sequence[Trial] = ()
    told: Sequence[Trial] = ()
    leases: dict[int, Lease] | None = None


class SharedStore(Store):
    """What several drivers need beside a store. Each method may be repeated where its answer was lost: it happens once."""

    @abstractmethod
    def lend(self, trial: Trial, owner: str, seconds: float, *, others: bool = True) -> Trial | None:
        """Begin a proposed trial, lent to its owner for so long; None where another has begun one of this id, or, where there
        are `others`, its architecture is known at this budget by now."""

    @abstractmethod
    def renew(self, owner: str, seconds: float) -> None:
        """From now on, all that an owner runs is lent to it for so long."""

    @abstractmethod
    def claim(self, trial: Trial, lease: Lease, owner: str, seconds: float) -> bool:
        """Begin a running trial anew and lend it to this owner, unless its lease is no longer this one; whether it was."""

    @abstractmethod
    def release(self, owner: str) -> None:
        """What an owner runs, anyone may claim at once. A store that is away is not waited for."""

    @abstractmethod
    def settle(self, trial: Trial, extras: Sequence[Trial], cache: Sequence[CacheEntry], after: int) -> list[Trial]:
        """End a running trial as `finish` does, but for extras that are known by now; all that was told after this place.

        Where the trial has ended already, the first ending stays.
        """

    @abstractmethod
    def news(self, owner: str, asked: int, after: int) -> News:
        """Trials of this id and later ones, those told after this place, and the leases of all but this owner."""
