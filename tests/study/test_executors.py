"""Executors: trials in other processes, each told exactly once, whatever dies."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, MissingExtraError, SecateurError, StudyError, UnknownNameError
from secateur.estimators.together import CacheEntry, Together
from secateur.study import Inline, Processes, Recipe, Stop, Store, Study, create_store, open_store
from secateur.study.memory_store import MemoryStore
from secateur.testing import toy_study as toys
from secateur.trial import Status, Trial

pytestmark = pytest.mark.slow

TOYS = "secateur.testing.toy_study:together"
GONE = toys.SPACE.make({"heads": 1, "units": 1, "layers": 0})
DEEP = toys.SPACE.make({"heads": 1, "units": 1, "layers": 2})


def running(number: int, architecture: Architecture = DEEP) -> Trial:
    return Trial(number, architecture, Status.RUNNING, number=number + 1)


def asked(store: Store) -> list[Trial]:
    return [t for t in store.trials() if t.id is not None]


@pytest.fixture(scope="module")
def executor() -> Iterator[Processes]:
    """Two processes for all tests in which none of them dies."""
    with Processes(Recipe(TOYS), 2) as made:
        yield made


def told_once(store: Store) -> None:
    """Every trial was told once, in an order without gaps, and no point is there twice."""
    trials = store.trials()
    assert sorted(t.told for t in trials) == list(range(len(trials)))
    ids = [t.id for t in asked(store)]
    assert ids == list(range(len(ids)))


def test_inline_evaluates_in_the_order_of_submission() -> None:
    inline = Inline(toys.together())
    assert inline.workers == 1
    for number in (4, 2):
        inline.submit(running(number), {}, True)
    assert [inline.take().trial.id for _ in range(2)] == [4, 2]
    inline.submit(running(1), {}, True)
    inline.close()
    inline.submit(running(3), {}, True)
    assert inline.take().trial.id == 3, "what was submitted before the end is evaluated after it"


def test_a_study_by_two_processes(executor: Processes, tmp_path: Path) -> None:
    reported = []
    with create_store(tmp_path / "s.db") as store:
        study = toys.study(store, executor=executor, on_trial=reported.append)
        study.run(Stop(trials=20))
        told_once(store)
        trials = asked(store)
        assert len(trials) == len(reported) == 20
        assert sorted(reported, key=lambda t: t.id) == trials
        assert reported == sorted(trials, key=lambda t: t.told)
        for trial in store.trials():
            assert trial.complete
            assert trial.values["error"] == toys.Error.error(trial.architecture)
        assert study.searcher.history == sorted(store.trials(), key=lambda t: t.told)
        # What was told, in the order it was told, makes the same searcher.
        again = toys.study(store, executor=executor).searcher
        assert again.history == study.searcher.history
        assert again.ask(3) == study.searcher.ask(3)


def test_as_many_at_once_as_there_are_workers(executor: Processes) -> None:
    most = 0

    class Watched(toys.Random):
        def ask(self, n: int = 1) -> list[Trial]:
            nonlocal most
            found = super().ask(n)
            most = max(most, len(self.pending))
            return found

    store = MemoryStore()
    toys.study(store, Watched, executor=executor).run(Stop(trials=7))
    assert most == 2
    assert len(asked(store)) == 7, "more trials began than were wanted"
    toys.study(store, Watched, executor=executor).run(Stop(budget=9))
    assert len(asked(store)) == 9


def test_what_is_known_and_what_is_wanted_reach_the_worker(executor: Processes) -> None:
    known = {"error": CacheEntry(DEEP.key, "error", {"error": 0.125}, {"from": "cache"})}
    executor.submit(running(0), known, True)
    executor.submit(running(1), {}, False)
    outcomes = {o.trial.id: o for o in (executor.take(), executor.take())}
    assert outcomes[0].trial.values["error"] == 0.125
    assert outcomes[0].trial.details == {"from": "cache"}
    assert outcomes[1].trial.values["error"] == toys.Error.error(DEEP)
    assert outcomes[1].extras == ()
    assert outcomes[1].cache
    assert outcomes[1].trial.number == 2


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    """The first trial kills its process once and succeeds, then another one twice and has failed."""
    store = MemoryStore()
    recipe = Recipe(TOYS, {"folder": str(tmp_path), "deaths": 3})
    with Processes(recipe, 2) as executor:
        for name in ("death-1", "death-2"):
            (tmp_path / name).touch()
        executor.submit(running(0, GONE), {}, True)
        executor.submit(running(1), {}, True)
        outcomes = {o.trial.id: o for o in (executor.take(), executor.take())}
        assert [outcomes[n].trial.status for n in (0, 1)] == ["complete", "complete"]
        assert outcomes[0].trial.values["error"] == toys.Error.error(GONE)
        for name in ("death-0", "death-1"):
            (tmp_path / name).unlink()
        study = toys.study(store, First, executor=executor)
        study.run(Stop(trials=3))
        reason = "the process that evaluated it died 2 times (exit code -9); out of memory?"
        assert [(t.status, t.reason) for t in asked(store)] == [("failed", reason), ("complete", None), ("complete", None)]
        told_once(store)
        # A number that failed once has all its attempts again.
        (tmp_path / "death-0").unlink()
        executor.submit(running(0, GONE), {}, True)
        assert executor.take().trial.complete


class First(toys.Random):
    """First the network without layers."""

    def _propose(self, rng: Any) -> Architecture | None:
        return GONE if self.asked == 0 else super()._propose(rng)


def test_an_error_of_the_users_reaches_the_caller(tmp_path: Path) -> None:
    store = MemoryStore()
    with Processes(Recipe(TOYS, {"refuse": True}), 2) as executor:
        study = toys.study(store, First, executor=executor)
        with pytest.raises(UnknownNameError, match=r"unknown metric `acuracy`. Did you mean `accuracy`\?") as caught:
            study.run(Stop(trials=4))
        assert caught.value.faults == [str(caught.value)]
        assert asked(store)[0].status == "running"
        # Mended, the same study goes on with what was under way: nothing is told twice.
        executor.recipe = Recipe(TOYS)
        study.run(Stop(trials=6))
        assert [t.status for t in asked(store)] == ["complete"] * 6
        told_once(store)


@pytest.mark.parametrize(
    ("recipe", "error", "message"),
    [
        (
            Recipe("secateur.nowhere:make"),
            ConfigurationError,
            "`secateur.nowhere:make` is not a function that makes estimators",
        ),
        (Recipe("secateur.testing.toy_study:none"), ConfigurationError, "is not a function that makes estimators"),
        (Recipe("together"), ConfigurationError, "`together` is not a function"),
        (Recipe(TOYS, {"wrong": 1}), StudyError, "a worker could not make its estimators: TypeError: .*'wrong'"),
    ],
)
def test_a_recipe_that_makes_nothing_is_said(recipe: Recipe, error: type[SecateurError], message: str) -> None:
    with Processes(recipe, 1) as executor:
        executor.submit(running(0), {}, True)
        with pytest.raises(error, match=message):
            executor.take()


def test_recipes_take_arguments_and_arrays() -> None:
    weights = np.array([0.5, 0.25])
    made = Recipe(TOYS, {"deaths": 0}, {"weights": weights}).make()
    (trial,) = made.evaluate([DEEP])
    assert trial.values["error"] == toys.Error.error(DEEP) + 0.75
    sent = pickle.loads(pickle.dumps(Recipe(TOYS, {}, {"weights": weights})))
    assert np.array_equal(sent.arrays["weights"], weights)
    with Processes(sent, 1) as executor:
        executor.submit(running(0), {}, True)
        assert executor.take().trial.values == trial.values


def test_at_least_one_worker() -> None:
    with pytest.raises(ConfigurationError, match="`workers` must be at least 1, got 0"):
        Processes(Recipe(TOYS), 0)


@pytest.mark.parametrize(
    "error",
    [
        ConfigurationError(["one.", "two."]),
        UnknownNameError("space", "smal", ["small"]),
        MissingExtraError("botorch", "bo"),
        StudyError("the disk is full"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross_processes(error: SecateurError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_a_killed_parent_resumes_exactly(tmp_path: Path) -> None:
    """kill -9 of a study with two workers, twice: it proposes what a searcher does that was told the same, in that order."""
    for lines in (6, 5, None):
        command = [sys.executable, "-m", "secateur.testing.toy_study", str(tmp_path), "24", "2"]
        paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths})
        assert child.stdout is not None
        if lines is None:
            assert child.stdout.read().endswith("done\n")
            assert child.wait() == 0
        else:
            for _ in range(lines):
                child.stdout.readline()
            child.send_signal(signal.SIGKILL)
            child.wait()
        child.stdout.close()
    with open_store(tmp_path / "study.db") as store:
        trials = store.trials()
        told_once(store)
    assert len([t for t in trials if t.id is not None]) == 24
    history = sorted(trials, key=lambda t: t.told)
    proposals = {t.id: t for t in trials}
    known = dict(line.split() for line in (tmp_path / "asked.txt").read_text().splitlines())
    replayed = toys.Learner(toys.SPACE, toys.OBJECTIVES, seed=3)
    for number in range(24):
        while len(replayed.history) < int(known[str(number)]):
            replayed.tell(history[len(replayed.history)])
        (proposal,) = replayed.ask()
        assert proposal.architecture == proposals[number].architecture, f"proposal {number} is another one"


def test_an_executor_brings_its_own_estimators() -> None:
    inline = Inline(Together([toys.Count()]))
    with pytest.raises(ConfigurationError, match="its own estimators and bounds"):
        Study(MemoryStore(), toys.Random(toys.SPACE, toys.OBJECTIVES), [toys.Error()], toys.OBJECTIVES, executor=inline)
    store = MemoryStore()
    study = Study(store, toys.Random(toys.SPACE, toys.OBJECTIVES), [], toys.OBJECTIVES, executor=inline)
    study.run(Stop(trials=2))
    assert [(t.status, t.reason) for t in store.trials()] == [("failed", "`error` has no finite value")] * 2
