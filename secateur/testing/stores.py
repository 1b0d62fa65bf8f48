"""The contract of every Store, as a test class: subclass it and give `store` and `again` as fixtures.

    class TestMemory(StoreContract):
        @pytest.fixture
        def store(self):
            return MemoryStore({"seed": 0})

        @pytest.fixture
        def again(self):
            return lambda store: store

`store` is new, made with the settings {"seed": 0}. `again` closes a store and opens it as another process would; one that ends
with its process is given back as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from secateur.architecture import Architecture
from secateur.errors import StudyError
from secateur.estimators.together import CacheEntry
from secateur.study import SharedStore, StageRow, Stop, Store
from secateur.testing import toy_study
from secateur.trial import MEASURED, POLISH, SWEEP, Status, Trial

Again = Callable[[Store], Store]


def asked(number: int = 0, key: str = "", **facts: Any) -> Trial:
    """A trial as a searcher proposes it."""
    choices = {"heads": 2, "units": [1, 2], "name": "é", "share": 0.1}
    return Trial(number, Architecture.of("toy", choices, key or f"key{number}"), Status.RUNNING, **facts)


def ended(trial: Trial, status: str = Status.COMPLETE, **facts: Any) -> Trial:
    """The trial with an ending."""
    return replace(trial, status=status, **{"values": {"error": 0.25}, **facts})


def extra(key: str, **facts: Any) -> Trial:
    """A result that came for free."""
    return replace(asked(0, key), id=None, status=Status.COMPLETE, origin=SWEEP, values={"error": 0.5}, **facts)


def timeless(trials: Sequence[Trial]) -> list[Trial]:
    """The trials but for when they were."""
    return [replace(t, started=0.0, finished=None) for t in trials]


class StoreContract:
    """What a study relies on, whatever the store."""

    def test_all_of_a_trial_comes_back(self, store: Store, again: Again) -> None:
        begun = store.begin(asked(budget=9.0, continues=3))
        assert begun.number is not None
        assert (begun.id, begun.budget, begun.continues, begun.status, begun.told) == (0, 9.0, 3, "running", None)
        curve = ((1.0, {"error": 0.5}), (3.0, {"error": 0.3, "loss": 1.5}))
        facts: dict[str, Any] = {"details": {"batches": 3.0, "metric": "accuracy"}, "curve": curve, "seconds": 12.5}
        (trial,) = store.finish(ended(begun, values={"error": 0.1, "parameters": 7.0}, **facts))
        assert trial.started == begun.started
        assert trial.finished is not None
        assert trial.finished >= trial.started
        wanted = replace(asked(budget=9.0, continues=3), number=begun.number, status=Status.COMPLETE, told=0)
        wanted = replace(wanted, values={"error": 0.1, "parameters": 7.0}, **facts)
        assert timeless([trial]) == [wanted]
        assert isinstance(trial.status, Status)
        assert again(store).trials() == [trial]

    def test_every_status_comes_back(self, store: Store, again: Again) -> None:
        store.finish(ended(store.begin(asked(0)), Status.FAILED, values={}, reason="out of memory: é"))
        store.finish(ended(store.begin(asked(1)), Status.INFEASIBLE, values={"parameters": 9.0}, reason="parameters 9 > 8"))
        store.begin(asked(2))
        trials = again(store).trials()
        assert [(t.status, t.reason) for t in trials] == [
            ("failed", "out of memory: é"),
            ("infeasible", "parameters 9 > 8"),
            ("running", None),
        ]
        assert [dict(t.values) for t in trials] == [{}, {"parameters": 9.0}, {}]
        assert [t.finished is None for t in trials] == [False, False, True]

    def test_the_order_of_telling_is_kept(self, store: Store, again: Again) -> None:
        first, second = store.begin(asked(0)), store.begin(asked(1))
        told = store.finish(ended(second), [extra("a"), extra("b", budget=3.0)])
        assert [(t.id, t.key, t.told, t.origin) for t in told] == [
            (1, "key1", 0, "asked"),
            (None, "a", 1, "sweep"),
            (None, "b", 2, "sweep"),
        ]
        assert [t.told for t in store.finish(ended(first))] == [3]
        trials = again(store).trials()
        assert [(t.key, t.told, t.budget) for t in trials] == [
            ("key0", 3, None),
            ("key1", 0, None),
            ("a", 1, None),
            ("b", 2, 3.0),
        ]
        numbers = [t.number or 0 for t in trials]
        assert numbers == sorted(set(numbers))

    def test_only_a_running_trial_ends_and_nothing_comes_with_another(self, store: Store) -> None:
        begun = store.begin(asked())
        assert "complete, infeasible or failed, got `running`" in _refused(lambda: store.finish(begun), ValueError)
        store.finish(ended(begun))
        cache = [CacheEntry("a", "f", {"error": 0.5})]
        for wrong in (ended(begun, Status.FAILED), replace(ended(begun), number=99), replace(ended(begun), number=None)):
            message = _refused(lambda w=wrong: store.finish(w, [extra("a")], cache))  # type: ignore[misc]
            assert f"trial {wrong.number} is not running" in message
        assert [(t.status, t.told) for t in store.trials()] == [("complete", 0)]
        assert store.known("a") == {}

    def test_a_proposal_begins_once(self, store: Store) -> None:
        store.begin(asked())
        _refused(lambda: store.begin(asked(key="another")))
        assert len(store.trials()) == 1

    def test_what_runs_is_listed_and_can_start_anew(self, store: Store, again: Again) -> None:
        for number in (0, 1, 2):
            begun = store.begin(asked(number))
            if number == 1:
                store.finish(ended(begun), [extra("a")])
        store = again(store)
        before = store.running()
        assert [t.id for t in before] == [0, 2]
        assert before == [t for t in store.trials() if t.status == "running"]
        store.restart(before[0])
        after = store.running()
        assert after[0].started > before[0].started
        assert after[1] == before[1]
        assert timeless(after) == timeless(before)

    def test_added_results_are_told_only_where_wanted(self, store: Store, again: Again) -> None:
        store.finish(ended(store.begin(asked())))
        polished = replace(extra("b"), origin=POLISH, details={"epochs": 3.0}, seconds=2.0, curve=((1.0, {"error": 0.4}),))
        lost = replace(extra("c"), origin=MEASURED, status=Status.FAILED, reason="lost", values={})
        numbers = [store.add(polished), store.add(lost, told=True), store.add(replace(polished, budget=2.0))]
        trials = again(store).trials()
        assert [t.number for t in trials[1:]] == numbers
        assert [t.told for t in trials] == [0, None, 1, None]
        assert timeless(trials[1:]) == [
            replace(polished, number=numbers[0]),
            replace(lost, number=numbers[1], told=1),
            replace(polished, number=numbers[2], budget=2.0),
        ]
        assert "got `running`" in _refused(lambda: store.add(asked(7)), ValueError)

    def test_what_is_known_is_replaced_by_key_and_fingerprint(self, store: Store, again: Again) -> None:
        assert store.known("a") == {}
        old = [
            CacheEntry("a", "f", {"old": 1.0}),
            CacheEntry("a", "g@3.0", {"error": 3.0}),
            CacheEntry("b", "f", {"error": 2.0}),
        ]
        store.finish(ended(store.begin(asked(0))), cache=old)
        new = CacheEntry("a", "f", {"error": 0.5}, {"batches": 3.0, "metric": "accuracy"})
        store.finish(ended(store.begin(asked(1))), cache=[CacheEntry("a", "f", {"error": 9.0}), new])
        store = again(store)
        assert store.known("a") == {"f": new, "g@3.0": old[1]}
        assert store.known("b") == {"f": old[2]}

    def test_facts(self, store: Store, again: Again) -> None:
        assert store.settings == {"seed": 0}
        assert store.get_meta("order") is None
        assert store.get_meta("order", 7) == 7
        store.set_meta("order", [[1, 2], {"a": None}])
        store.set_meta("order", [[2, 1], {"a": None, "é": 0.1}])
        store = again(store)
        assert store.get_meta("order") == [[2, 1], {"a": None, "é": 0.1}]
        assert store.settings == {"seed": 0}

    def test_curves(self, store: Store, again: Again) -> None:
        for step, loss in ((10, 2.0), (5, 3.0), (10, 1.5)):
            store.log_curve("train", step, {"loss": loss})
        store.log_curve("polish", 1, {"loss": 0.1})
        store = again(store)
        assert store.curve("train") == [(5, {"loss": 3.0}), (10, {"loss": 1.5})]
        assert store.curves() == ["polish", "train"]
        assert store.curve("none") == []

    def test_stages(self, store: Store, again: Again) -> None:
        assert store.stages() == []
        store.write_stage(StageRow("order", "running", 1.0))
        store.write_stage(StageRow("train", "stopped", 2.0, 4.5, {"step": 7}, "ValueError: é"))
        done = StageRow("order", "done", 5.0, 6.0, {"a": [1, None]})
        store.write_stage(done)
        assert again(store).stages() == [done, StageRow("train", "stopped", 2.0, 4.5, {"step": 7}, "ValueError: é")]
        assert [row.seconds for row in store.stages()] == [1.0, 2.5]

    def test_a_study_goes_on_as_if_never_stopped(self, store: Store, again: Again) -> None:
        from secateur.study.memory_store import MemoryStore

        whole = MemoryStore()
        toy_study.study(whole).run(Stop(trials=12))
        toy_study.study(store).run(Stop(trials=5))
        store = again(store)
        toy_study.study(store).run(Stop(trials=12))
        assert toy_study.story(store) == toy_study.story(whole)


class SharedStoreContract(StoreContract):
    """What several drivers rely on, beside: give `other` as a fixture, the same study as another process opens it."""

    def test_an_id_is_lent_once(self, store: SharedStore, other: SharedStore) -> None:
        mine = store.lend(asked(0, "a", budget=2.0), "me", 60)
        assert mine is not None
        assert timeless([mine]) == timeless(store.running())
        assert other.lend(asked(0, "b"), "you", 60) is None
        again = store.lend(asked(0, "a", budget=2.0), "me", 60)  # the answer to the first time was lost
        assert again is not None
        assert again.number == mine.number
        assert other.lend(asked(1, "a", budget=2.0), "you", 60) is None  # this architecture is known by now
        yours = other.lend(asked(1, "a", budget=3.0), "you", 60)
        assert yours is not None
        assert [(t.id, t.key) for t in store.trials()] == [(0, "a"), (1, "a")]

    def test_what_others_run_and_for_how_long(self, store: SharedStore, other: SharedStore) -> None:
        store.lend(asked(0), "me", 60)
        yours = other.lend(asked(1), "you", 5)
        nobodys = store.begin(asked(2))
        assert yours is not None
        news = store.news("me", 1, -1)
        assert news.leases is not None
        assert {number: lease.owner for number, lease in news.leases.items()} == {yours.number: "you", nobodys.number: None}
        assert 0 < news.leases[yours.number or 0].seconds <= 5
        assert news.leases[nobodys.number or 0].seconds < 0
        other.renew("you", 500)
        (renewed,) = (lease for lease in (store.news("me", 1, -1).leases or {}).values() if lease.owner == "you")
        assert 400 < renewed.seconds <= 500
        other.release("you")
        assert {lease.owner for lease in (store.news("me", 1, -1).leases or {}).values()} == {None}
        assert {lease.owner for lease in (store.news("you", 1, -1).leases or {}).values()} == {None, "me"}

    def test_a_lease_is_claimed_by_one_and_only_as_it_was_seen(self, store: SharedStore, other: SharedStore) -> None:
        trial = other.lend(asked(0), "you", 0.01)
        assert trial is not None
        seen = (store.news("me", 0, -1).leases or {})[trial.number or 0]
        other.renew("you", 60)
        assert not store.claim(trial, seen, "me", 60)
        seen = (store.news("me", 0, -1).leases or {})[trial.number or 0]
        assert store.claim(trial, seen, "me", 60)
        assert store.claim(trial, seen, "me", 60)  # the answer to the first time was lost
        assert not other.claim(trial, seen, "they", 60)
        assert store.running()[0].started >= trial.started
        assert not store.news("me", 1, -1).leases
        store.finish(ended(trial))
        assert not store.claim(trial, seen, "me", 60)

    def test_the_first_ending_stays(self, store: SharedStore, other: SharedStore) -> None:
        trial = store.lend(asked(0), "me", 60)
        assert trial is not None
        first = other.settle(ended(trial, values={"error": 0.1}), [extra("a")], [], -1)
        assert [(t.id, t.key, t.told) for t in first] == [(0, "key0", 0), (None, "a", 1)]
        assert store.settle(ended(trial, values={"error": 0.9}), [extra("b")], [CacheEntry("x", "f", {})], -1) == first
        assert store.settle(ended(trial, values={"error": 0.9}), [], [], 1) == []
        assert store.trials() == first
        assert store.known("x") == {}

    def test_all_are_told_in_one_order(self, store: SharedStore, other: SharedStore) -> None:
        mine, yours = store.lend(asked(0), "me", 60), other.lend(asked(1), "you", 60)
        assert mine is not None
        assert yours is not None
        theirs = other.settle(ended(yours), [extra("a", budget=1.0), extra("a", budget=2.0)], [], -1)
        told = store.settle(ended(mine), [extra("a", budget=2.0), extra("b")], [], -1)
        assert told[:3] == theirs
        assert [(t.key, t.budget, t.told) for t in told[3:]] == [("key0", None, 3), ("b", None, 4)]
        news = other.news("you", 0, 2)
        assert list(news.told) == told[3:]
        assert [t.id for t in news.asked] == [0, 1]
        assert list(store.news("me", 2, 4).told) == []


def _refused(call: Callable[[], object], kind: type[Exception] = StudyError) -> str:
    """The sentence of the error that the call must raise."""
    try:
        call()
    except kind as refusal:
        return str(refusal)
    raise AssertionError(f"a {kind.__name__} was expected, none was raised")
