"""How a study's loop shares its store with other drivers, or has it for itself."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

from secateur.errors import StudyError
from secateur.estimators.together import CacheEntry
from secateur.study.driver import BEATS, LEASE, Driver, has_died
from secateur.study.shared_store import Lease, News, SharedStore
from secateur.study.store import Store
from secateur.trial import Status, Trial

__all__ = ["LEASE", "Alone", "Shared", "sharing"]

NOTHING = News()
#: Seconds between two looks at what others do while there is nothing to do here: twice as long each time, up to the last.
LOOKS = 0.02, 1.0
#: Seconds that a driver waits at most before it asks again where another was first: twice as long each time, up to the last.
COLLISIONS = 0.01, 1.0


class Alone:
    """A store that no other driver can reach."""

    met = False

    def __init__(self, store: Store) -> None:
        self._store = store
        self._unfinished: list[Trial] = []

    def know(self, trials: Sequence[Trial]) -> None:
        """Begin with these trials, which the loop knows."""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """The loop runs in this context."""
        self._unfinished = self._store.running()
        yield

    def hear(self) -> News:
        """What other drivers have done since the last time."""
        return NOTHING

    def wait(self) -> News:
        """The same, when there is something, or a trial of theirs is lost."""
        return NOTHING

    def others(self) -> Collection[Trial]:
        """What other drivers run."""
        return ()

    def lost(self) -> Trial | None:
        """A trial that nobody runs any more, begun anew here; None where there is none."""
        if not self._unfinished:
            return None
        trial = self._unfinished.pop(0)
        self._store.restart(trial)
        return trial

    def begin(self, trial: Trial) -> Trial | None:
        """Store a proposed trial; None where another driver was first to ask one of its id."""
        return self._store.begin(trial)

    def finish(self, trial: Trial, extras: Sequence[Trial], cache: Sequence[CacheEntry]) -> News:
        """Store a trial that has ended; what there is to tell of it and of what others have done."""
        return News(told=self._store.finish(trial, extras, cache))


class Shared(Alone):
    """A store that other drivers may work on, now or later.

    Each asks the trial after the last that it knows. As long as it is alone, nothing is read: whoever else asked one has taken
    its number, which `begin` finds out. From then on, what others did is read before each ask.
    """

    def __init__(self, store: SharedStore, lease: float) -> None:
        self._store: SharedStore = store
        self._lease = lease
        self._driver = Driver()
        self._chance, self._collisions = random.Random(self._driver.name), 0
        #: Whether others are known to have been at work at the same time.
        self.met = False
        self._others: dict[int, Trial] = {}
        self._leases: dict[int, Lease] = {}
        #: Leases that were seen expired, and when.
        self._expired: dict[int, tuple[Lease, float]] = {}

    def know(self, trials: Sequence[Trial]) -> None:
        self._asked = 1 + max((t.id for t in trials if t.id is not None), default=-1)
        self._told = max((t.told for t in trials if t.told is not None), default=-1)
        self._others = {t.number or 0: t for t in trials if t.status == Status.RUNNING}
        self._stale = True

    @contextmanager
    def at_work(self) -> Iterator[None]:
        name, store = self._driver.name, self._store
        self._stale = True
        with self._driver.at_work(lambda: store.renew(name, self._lease), self._lease / BEATS):
            try:
                yield
            except BaseException:
                with suppress(StudyError):
                    store.release(name)
                raise

    def hear(self) -> News:
        return self._read() if self._stale or self.met else NOTHING

    def wait(self) -> News:
        pause = LOOKS[0]
        while True:
            news = self._read()
            if news.told or news.asked or any(map(self._is_lost, self._leases)) or not self._others:
                return news
            time.sleep(pause)
            pause = min(2 * pause, LOOKS[1])

    def _read(self) -> News:
        news = self._store.news(self._driver.name, self._asked, self._told)
        self._stale = False
        self._leases = dict(news.leases or {})
        self._hold(news)
        self.met |= bool(news.asked or news.told) or any(not self._is_over(lease) for lease in self._leases.values())
        return news

    def _hold(self, news: News) -> None:
        """Know what was asked and told, and which of it others run."""
        for trial in news.asked:
            self._asked = 1 + (trial.id or 0)
            self._others[trial.number or 0] = trial
        for trial in news.told:
            self._told = trial.told or 0
            self._others.pop(trial.number or 0, None)
            self._leases.pop(trial.number or 0, None)

    def others(self) -> Collection[Trial]:
        return self._others.values()

    def lost(self) -> Trial | None:
        for number in sorted(filter(self._is_lost, self._leases)):
            lease = self._leases.pop(number)
            trial = self._others[number]
            if self._store.claim(trial, lease, self._driver.name, self._lease):
                del self._others[number]
                return trial
        return None

    def _is_lost(self, number: int) -> bool:
        """Whether nobody runs a trial: its driver is known to have died, or its lease expired and stays so while one that is
        alive would renew it. A server that was away has let leases expire, too."""
        lease = self._leases[number]
        if number not in self._others or self._is_over(lease):
            return number in self._others
        if lease.seconds > 0:
            return False
        seen, since = self._expired.get(number, (None, 0.0))
        if seen is None or seen.expires != lease.expires:
            self._expired[number] = lease, time.monotonic()
            return False
        return time.monotonic() - since > 2 * self._lease / BEATS

    @staticmethod
    def _is_over(lease: Lease) -> bool:
        return lease.owner is None or has_died(lease.owner)

    def begin(self, trial: Trial) -> Trial | None:
        begun = self._store.lend(trial, self._driver.name, self._lease, others=self.met)
        if begun is None:  # as many may ask at once, each waits for a random while: else most of them would be late again
            self.met = True
            time.sleep(self._chance.random() * min(COLLISIONS[0] * 2**self._collisions, COLLISIONS[1]))
            self._collisions = min(self._collisions + 1, 10)
        else:
            self._collisions = 0
            self._asked = (begun.id or 0) + 1
        return begun

    def finish(self, trial: Trial, extras: Sequence[Trial], cache: Sequence[CacheEntry]) -> News:
        told = self._store.settle(trial, extras, cache, self._told)
        news = News(told=told)
        if any(t.id not in (None, trial.id) for t in told):  # others have told theirs since: what they asked comes first
            self.met = True
            news = self._store.news(self._driver.name, self._asked, self._told)
        self._hold(news)
        return news


def sharing(store: Store, lease: float) -> Alone:
    """How a loop works on this store."""
    return Shared(store, lease) if isinstance(store, SharedStore) else Alone(store)
