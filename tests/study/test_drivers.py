"""Several drivers on one study: each trial is run by one of them, and when one dies, its trials run again elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from secateur.errors import ConfigurationError
from secateur.study import Stop, Study, create_store, open_store
from secateur.study.driver import Driver, has_died
from secateur.study.memory_store import MemoryStore
from secateur.testing import toy_study as toys
from secateur.trial import Status

TRIALS = 24

#: A driver in a process of its own: it prints a line when a trial of its own begins. `machine`: where it says it runs.
DRIVER = """
import sys, time
from secateur.study import Stop, driver, open_store
from secateur.testing import toy_study as toys

where, trials, pause, lease, machine = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
if machine:
    driver._machine = lambda: machine

def before(architecture):
    print("begun", architecture.key, flush=True)
    time.sleep(pause)

with open_store(where) as store:
    toys.study(store, error=toys.Error(before=before), lease=lease).run(Stop(trials=trials))
print("done", flush=True)
"""


@pytest.fixture(params=["file", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A study that is there: in a file, or on a server."""
    place = str(tmp_path / "study.db") if request.param == "file" else str(request.getfixturevalue("postgres"))
    create_store(place).close()
    return place


@pytest.fixture
def start() -> Iterator[Callable[..., Any]]:
    started: list[subprocess.Popen[str]] = []

    def begin(where: str, pause: float = 0.0, lease: float = 60.0, machine: str = "", trials: int = TRIALS) -> Any:
        command = [sys.executable, "-c", DRIVER, where, str(trials), str(pause), str(lease), machine]
        paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths}))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def check(where: str, trials: int = TRIALS) -> None:
    """Every trial that was asked for is there once, with what its architecture should have, and was told once."""
    with open_store(where) as store:
        found = store.trials()
    asked = [t for t in found if t.id is not None]
    assert sorted(t.id for t in asked if t.id is not None) == list(range(trials))
    assert len({t.point for t in found}) == len(found), "an architecture is there twice"
    assert all(t.complete for t in asked)
    assert sorted(t.told for t in found if t.told is not None) == list(range(len(found)))
    assert all(t.values["error"] == toys.Error.error(t.architecture) for t in found)


def drive(where: str, studies: list[Study], **options: Any) -> None:
    with open_store(where) as store:
        options.setdefault("error", toys.Error(before=lambda architecture: time.sleep(0.005)))
        studies.append(toys.study(store, lease=30.0, **options))
        studies[-1].run(Stop(trials=TRIALS))


def test_drivers_take_different_trials_and_know_the_same(where: str) -> None:
    studies: list[Study] = []
    threads = [threading.Thread(target=drive, args=(where, studies)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(where)
    with open_store(where) as store:
        told = toys.told(sorted((t for t in store.trials()), key=lambda t: t.told or 0))
    for study in studies:
        assert toys.told(study.searcher.history) == told
        assert study.ended == TRIALS
        assert not study.alone
        assert not study.searcher.pending


def test_a_driver_alone_reads_nothing_of_others(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    with open_store(where) as store, MemoryStore() as memory:
        real = store.news  # type: ignore[attr-defined]
        monkeypatch.setattr(store, "news", lambda *given: reads.append(given) or real(*given))
        study = toys.study(store)
        study.run(Stop(trials=10))
        toys.study(memory).run(Stop(trials=10))
        assert toys.story(store) == toys.story(memory)
    assert len(reads) == 1  # at its beginning
    assert study.alone


@pytest.mark.parametrize(
    ("where", "machine"), [("file", ""), ("postgres", "elsewhere:0")], indirect=["where"], ids=["here", "elsewhere"]
)
@pytest.mark.slow
def test_a_driver_that_is_killed(where: str, start: Callable[..., Any], machine: str) -> None:
    """What it ran is run again by another: on its own machine at once, elsewhere when its lease has expired."""
    victim = start(where, pause=60.0, lease=1.0 if machine else 600.0, machine=machine)
    key = victim.stdout.readline().split()[1]
    other = start(where, lease=1.0)
    assert other.stdout.readline()  # it works beside the other
    if machine:
        victim.send_signal(signal.SIGKILL)
    else:
        with open_store(where) as store:
            while sum(not t.complete for t in store.trials()) > 1 or len(store.trials()) < TRIALS:
                time.sleep(0.05)  # until it waits for the last one
        victim.send_signal(signal.SIGKILL)
    lines = other.communicate(timeout=60)[0].splitlines()
    assert lines[-1] == "done"
    assert f"begun {key}" in lines
    check(where)
    with open_store(where) as store:
        assert store.trials()[0].key == key


@pytest.mark.parametrize("where", ["postgres"], indirect=True)
@pytest.mark.slow
def test_one_driver_after_the_other_finds_the_same(where: str, start: Callable[..., Any]) -> None:
    """With one driver at a time and one seed, the trials are those of a driver that was never killed."""
    for lines in (3, 1, 5):
        victim = start(where, pause=0.02)
        for _ in range(lines):
            victim.stdout.readline()
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    with open_store(where) as store, MemoryStore() as memory:
        toys.study(store).run(Stop(trials=TRIALS))
        toys.study(memory).run(Stop(trials=TRIALS))
        assert [t[1:] for t in toys.story(store)] == [t[1:] for t in toys.story(memory)]


@pytest.mark.parametrize("where", ["postgres"], indirect=True)
@pytest.mark.slow
def test_a_driver_that_comes_back_too_late(where: str, start: Callable[..., Any]) -> None:
    """It was stopped for longer than its lease, and another has run its trial: it goes on with others."""
    late = start(where, pause=0.2, lease=1.0, machine="elsewhere:0", trials=6)
    key = late.stdout.readline().split()[1]
    late.send_signal(signal.SIGSTOP)
    other = start(where, pause=0.01, lease=1.0, trials=6)
    lines = other.communicate(timeout=60)[0].splitlines()
    assert f"begun {key}" in lines
    check(where, 6)
    with open_store(where) as store:
        before = store.trials()
    late.send_signal(signal.SIGCONT)
    assert late.communicate(timeout=60)[0].splitlines()[-1] == "done"
    with open_store(where) as store:
        assert store.trials() == before


@pytest.mark.slow
def test_a_server_that_goes_away_under_two_drivers(own_postgres: str, server: Any, start: Callable[..., Any]) -> None:
    create_store(own_postgres).close()
    drivers = [start(own_postgres, pause=0.05) for _ in range(2)]
    for driver in drivers:
        driver.stdout.readline()
    for _ in range(2):
        server.stop()
        time.sleep(0.3)
        server.start()
        time.sleep(0.3)
    for driver in drivers:
        assert driver.communicate(timeout=60)[0].splitlines()[-1] == "done"
    check(own_postgres)


def test_budgets_that_others_have_spent_count(where: str) -> None:
    """A promotion may be asked by a driver that did not run what it continues."""
    studies: list[Study] = []

    def drive() -> None:
        with open_store(where) as store:
            estimators = [toys.Trained(), toys.Count()]
            searcher = toys.Halving(toys.SPACE, toys.OBJECTIVES, seed=3)
            studies.append(Study(store, searcher, estimators, toys.OBJECTIVES, toys.UNPRUNED))
            studies[-1].run(Stop(trials=TRIALS))

    threads = [threading.Thread(target=drive) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_store(where) as store:
        trials = {t.id: t for t in store.trials()}
    assert sorted(trials) == list(range(TRIALS))
    continued = [t for t in trials.values() if t.continues is not None]
    assert continued
    for trial in continued:
        first = trials[trial.continues]
        assert (first.key, first.budget) == (trial.key, (trial.budget or 0) / 3)
        assert trial.seconds == toys.Trained.seconds * ((trial.budget or 0) - (first.budget or 0))
    assert {study.seconds for study in studies} == {sum(t.seconds or 0 for t in trials.values())}


def test_what_an_interrupted_driver_ran_is_anyones(where: str) -> None:
    def interrupt(architecture: Any) -> None:
        raise KeyboardInterrupt

    with open_store(where) as store:
        with pytest.raises(KeyboardInterrupt):
            toys.study(store, error=toys.Error(before=interrupt)).run(Stop(trials=3))
        (lease,) = (store.news("me", 0, -1).leases or {}).values()  # type: ignore[attr-defined]
        assert lease.owner is None
        assert [t.status for t in store.trials()] == [Status.RUNNING]


def test_who_has_died() -> None:
    driver = Driver()
    machine, process, born, mark = driver.name.rsplit(":", 3)
    assert has_died(driver.name)  # it is not at work
    with driver.at_work(lambda: None, 1.0):
        assert not has_died(driver.name)
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    from secateur.study.driver import _born

    name = f"{machine}:{child.pid}:{_born(child.pid)}:{mark}"
    assert not has_died(name)
    assert has_died(f"{machine}:{child.pid}:1:{mark}")  # another process had its number
    child.kill()
    while not has_died(name):  # also while nobody has waited for it
        time.sleep(0.01)
    child.communicate()
    assert has_died(name)
    assert not has_died(f"elsewhere:0:{process}:{born}:{mark}")
    assert not has_died("somebody")


def test_a_driver_gives_signs_of_life() -> None:
    beats = []
    with Driver().at_work(lambda: beats.append(1), 0.01):
        while len(beats) < 3:
            time.sleep(0.01)
    count = len(beats)
    time.sleep(0.05)
    assert len(beats) == count


def test_a_lease_takes_time() -> None:
    with pytest.raises(ConfigurationError, match="`lease` must be above 0 seconds, got 0"):
        toys.study(MemoryStore(), lease=0.0)
