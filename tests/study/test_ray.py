"""The Ray executor: trials on a cluster of several nodes, each told exactly once, whatever is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from secateur.architecture import Architecture
from secateur.devices.device import describe_device
from secateur.errors import ConfigurationError, MissingExtraError, SecateurError, StudyError, UnknownNameError
from secateur.study import Ray, Recipe, Stop, Store, create_store, open_store
from secateur.study.executors import ray_pool
from secateur.study.executors.ray_cluster import Place, RayCluster, load_ray
from secateur.study.executors.ray_executor import Alike
from secateur.study.executors.ray_pool import RayPool, Work
from secateur.study.memory_store import MemoryStore
from secateur.testing import toy_study as toys
from secateur.trial import Status, Trial

pytest.importorskip("ray")
ray = load_ray()
pytestmark = pytest.mark.slow

TOYS, LOOKING = "secateur.testing.toy_study:together", "secateur.testing.toy_study:looking"
GONE = toys.SPACE.make({"heads": 1, "units": 1, "layers": 0})
DEEP = toys.SPACE.make({"heads": 1, "units": 1, "layers": 2})
STORE = 100 * 2**20


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """One Ray for all tests of this file: a head with two CPUs that notices within seconds that a node is gone."""
    from ray.cluster_utils import Cluster

    impatient = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000, "health_check_failure_threshold": 3}
    head = {"num_cpus": 2, "object_store_memory": STORE, "include_dashboard": False, "_system_config": impatient}
    made = Cluster(initialize_head=True, head_node_args=head)
    ray.init(address=made.address, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


def running(number: int, architecture: Architecture = DEEP) -> Trial:
    return Trial(number, architecture, Status.RUNNING, number=number + 1)


def asked(store: Store) -> list[Trial]:
    return [t for t in store.trials() if t.id is not None]


def told_once(store: Store) -> None:
    """Every trial was told once, in an order without gaps, and no number is there twice."""
    trials = store.trials()
    assert sorted(t.told for t in trials) == list(range(len(trials)))
    assert [t.id for t in asked(store)] == list(range(len(asked(store))))


def undisturbed(trials: int) -> list[tuple[Any, ...]]:
    """The story of a study in this process that nothing happened to."""
    store = MemoryStore()
    toys.study(store).run(Stop(trials=trials))
    return toys.story(store)


class First(toys.Random):
    """First the network without layers."""

    def _propose(self, rng: Any) -> Architecture | None:
        return GONE if self.asked == 0 else super()._propose(rng)


class Events(list[dict[str, Any]]):
    """What an executor notes."""

    def __call__(self, event: str, /, **fields: Any) -> None:
        self.append({"event": event, **fields})

    def of(self, event: str) -> list[dict[str, Any]]:
        return [one for one in self if one["event"] == event]


def test_a_study_by_two_workers(cluster: Any, tmp_path: Path) -> None:
    events = Events()
    with create_store(tmp_path / "s.db") as store, Ray(Recipe(TOYS, {"slow": 0.1}), 2, note=events) as executor:
        study, until = toys.study(store, executor=executor), time.monotonic() + 60
        study.run(Stop(trials=20))
        assert len(asked(store)) == 20
        while len(events.of("worker started")) < 2 and time.monotonic() < until:  # one may start when the other has done all
            study.run(Stop(trials=len(asked(store)) + 4))
        told_once(store)
        for trial in store.trials():
            assert trial.complete
            assert trial.values["error"] == toys.Error.error(trial.architecture)
    pids = {event["pid"] for event in events.of("worker started")}
    assert len(pids) == 2
    # What workers print comes together, with who printed it.
    assert {event["pid"] for event in events.of("printed")} <= pids
    lines = {event["line"] for event in events.of("printed")}
    assert lines <= {f"evaluating {t.key}" for t in asked(store)}
    assert lines
    assert not [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).name() == "ray::_Worker.work"]


def test_weights_travel_once_and_are_shared(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight megabytes are in the object store once, and both workers read them there."""
    from ray._private.internal_api import memory_summary

    weights = np.ones(2**20)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    here = RayCluster()
    with RayPool(here, Work(LOOKING, "given", {"weights": weights}), here.places(2)) as pool:
        found: list[dict[str, Any]] = []
        until = time.monotonic() + 60
        while len({one["pid"] for one in found}) < 2 and time.monotonic() < until:  # one may start later than the other
            for name in range(2):
                pool.submit(name, "weights")
            found += [pool.take()[1] for _ in range(2)]
        assert len({one.pop("pid") for one in found}) == 2
        shared = {"given": "given", "sum": 2.0**20, "writeable": False, "shared": True, "folder": os.getcwd(), "threads": "1"}
        assert all(one == shared for one in found)
        assert "Plasma memory usage 8 MiB," in memory_summary(stats_only=True)


def test_what_workers_print_comes_in_whole_lines(cluster: Any) -> None:
    events, here = Events(), RayCluster()
    with RayPool(here, Work("secateur.testing.toy_study:speaking", 0.4), here.places(1), note=events) as pool:
        pool.submit(0, "a line in pieces")
        assert pool.take() == (0, 16)
        until = time.monotonic() + 20
        while len(events.of("printed")) < 2 and time.monotonic() < until:  # a busy machine brings them later
            pool.submit(1, "")
            pool.take()
    assert {event["line"].strip() for event in events.of("printed")} - {""} == {"a line in pieces"}
    assert {event["stream"] for event in events.of("printed") if event["line"].strip()} == {"stdout", "stderr"}


def test_recipes_take_arrays(cluster: Any) -> None:
    with Ray(Recipe(TOYS, {}, {"weights": np.array([0.5, 0.25])}), 1) as executor:
        executor.submit(running(0), {}, True)
        assert executor.take().trial.values["error"] == toys.Error.error(DEEP) + 0.75
        with pytest.raises(StudyError, match="no trial was submitted"):
            executor.take()


def test_a_worker_that_is_killed_is_replaced(cluster: Any, tmp_path: Path) -> None:
    """A trial that kills its worker once is begun again and succeeds; another kills two, and has failed."""
    events = Events()
    with Ray(Recipe(TOYS, {"folder": str(tmp_path), "deaths": 3}), 2, note=events) as executor:
        for name in ("death-1", "death-2"):
            (tmp_path / name).touch()
        executor.submit(running(0, GONE), {}, True)
        executor.submit(running(1), {}, True)
        outcomes = {o.trial.id: o for o in (executor.take(), executor.take())}
        assert [outcomes[n].trial.status for n in (0, 1)] == ["complete", "complete"]
        (lost,) = events.of("worker lost")
        assert (lost["reason"], lost["again"]) == ("its process died; out of memory?", True)
        for name in ("death-0", "death-1"):
            (tmp_path / name).unlink()
        store = MemoryStore()
        toys.study(store, First, executor=executor).run(Stop(trials=3))
        reason = "the workers that evaluated it died 2 times: its process died; out of memory?"
        assert [(t.status, t.reason) for t in asked(store)] == [("failed", reason), ("complete", None), ("complete", None)]
        told_once(store)


def test_a_worker_killed_from_outside_changes_nothing(cluster: Any) -> None:
    """SIGKILL in mid-trial, with one worker: the same trials, in the same order."""
    events, store = Events(), MemoryStore()

    def kill(event: str, /, **fields: Any) -> None:
        events(event, **fields)
        if event == "worker started" and len(events.of(event)) == 1:
            threading.Timer(0.5, os.kill, (fields["pid"], signal.SIGKILL)).start()

    with Ray(Recipe(TOYS, {"slow": 0.2}), 1, note=kill) as executor:
        toys.study(store, executor=executor).run(Stop(trials=8))
    assert len(events.of("worker lost")) == 1
    assert len(events.of("worker started")) == 2
    assert toys.story(store) == undisturbed(8)


def test_a_node_killed_in_mid_trial_changes_nothing(cluster: Any) -> None:
    """The one worker is on the larger node, which dies: it goes on with the same trials on the smaller one."""
    events, store = Events(), MemoryStore()
    node = cluster.add_node(num_cpus=3, object_store_memory=STORE)
    cluster.wait_for_nodes()
    far = node.node_id

    def kill(event: str, /, **fields: Any) -> None:
        events(event, **fields)
        if event == "printed" and len(events.of(event)) == 1:
            threading.Thread(target=cluster.remove_node, args=(node,), kwargs={"allow_graceful": False}).start()

    with Ray(Recipe(TOYS, {"slow": 1.0}), 1, note=kill) as executor:
        toys.study(store, executor=executor).run(Stop(trials=5))
    (lost,) = events.of("worker lost")
    assert lost["reason"] in ("its node died", "its node cannot be reached")
    assert far not in [there["NodeID"] for there in ray.nodes() if there["Alive"]]
    assert toys.story(store) == undisturbed(5)


def driver(folder: Path, trials: int, address: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "secateur.testing.toy_study", str(folder), str(trials), "1", address]
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths})


def test_a_killed_driver_resumes_exactly(cluster: Any, tmp_path: Path) -> None:
    """SIGKILL of the driver, first of one with a cluster of its own, of which nothing is left, then of one that had joined
    another's: the study that goes on is that of a driver that was never killed."""
    for address, trials in (("local", 4), (cluster.address, 4), (cluster.address, None)):
        child = driver(tmp_path, 16, address)
        assert child.stdout is not None
        if trials is None:
            assert child.stdout.read().endswith("done\n")
            assert child.wait() == 0
        else:
            for _ in range(1 + trials):
                assert child.stdout.readline()
            family = psutil.Process(child.pid).children(recursive=True)
            assert bool(family) == (address == "local")
            child.send_signal(signal.SIGKILL)
            child.wait()
            _, alive = psutil.wait_procs(family, timeout=90)
            assert not alive
        child.stdout.close()
    with open_store(tmp_path / "study.db") as store:
        told_once(store)
        assert toys.story(store) == undisturbed(16)
    events = [event["event"] for event in toys.read_log(tmp_path / "log.jsonl")]
    assert events.count("worker started") == 3
    assert "printed" in events


def test_an_error_of_the_users_reaches_the_caller(cluster: Any) -> None:
    store = MemoryStore()
    with Ray(Recipe(TOYS, {"refuse": True}), 2) as executor:
        study = toys.study(store, First, executor=executor)
        with pytest.raises(UnknownNameError, match=r"unknown metric `acuracy`. Did you mean `accuracy`\?"):
            study.run(Stop(trials=4))
        assert asked(store)[0].status == "running"
        # Mended, the same study goes on with what was under way: nothing is told twice.
        executor.recipe = Recipe(TOYS)
        study.run(Stop(trials=6))
        assert [t.status for t in asked(store)] == ["complete"] * 6
        told_once(store)


@pytest.mark.parametrize(
    ("recipe", "error", "message"),
    [
        (Recipe("secateur.nowhere:make"), ConfigurationError, "`secateur.nowhere:make` is not a function that makes"),
        (Recipe(TOYS, {"wrong": 1}), StudyError, "could not be made ready: TypeError: .*'wrong'"),
    ],
)
def test_a_recipe_that_makes_nothing_is_said(cluster: Any, recipe: Recipe, error: type[SecateurError], message: str) -> None:
    with Ray(recipe, 1) as executor:
        executor.submit(running(0), {}, True)
        with pytest.raises(error, match=message):
            executor.take()


def test_what_cannot_be_done_or_sent_is_said(cluster: Any) -> None:
    here = RayCluster()
    with RayPool(here, Work("builtins:eval", "lambda task: eval(task)"), here.places(1)) as pool:
        with pytest.raises(StudyError, match="no task was submitted"):
            pool.take()
        pool.submit("a", "1 / 0")
        with pytest.raises(StudyError, match="could not do its task: ZeroDivisionError: division by zero"):
            pool.take()
        pool.submit("b", "__import__('threading').Lock()")
        with pytest.raises(StudyError, match="what a worker found could not be sent"):
            pool.take()
        pool.submit("c", "1 + 1")
        assert pool.take() == ("c", 2)


def test_a_worker_that_cannot_start_is_said(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here, events = RayCluster(), Events()
    with RayPool(here, Work(LOOKING), [Place(1, node="ab" * 28)], events) as pool:
        pool.submit("a", "")
        with pytest.raises(StudyError, match="no worker can start on the Ray cluster"):
            pool.take()
    assert len(events.of("worker failed to start")) == 1
    monkeypatch.setattr(ray_pool, "versions", lambda: {"secateur": "0.0", "Python": "3.9"})
    with RayPool(here, Work(LOOKING), here.places(1)) as pool:
        pool.submit("a", "")
        with pytest.raises(ConfigurationError, match=r"has secateur .* but this machine secateur 0.0, Python 3.9. Install the"):
            pool.take()


def test_there_must_be_room(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here = RayCluster()
    assert here.places(1) == [Place(2)]
    assert here.places(2) == [Place(1)] * 2
    with pytest.raises(ConfigurationError, match=r"`workers` must be at most 2 on this cluster, which has 2 CPUs and 0 GPUs"):
        here.places(3)
    with pytest.raises(ConfigurationError, match=r"`gpus_per_trial` is 0.25, but the cluster has no GPU. Leave it out"):
        here.places(1, 0.25)
    with pytest.raises(ConfigurationError, match=r"`gpus_per_trial` must be a part of one GPU or a whole number, got 1.5"):
        here.places(1, 1.5)
    with pytest.raises(ConfigurationError, match="`workers` must be at least 1, got 0"):
        Ray(Recipe(TOYS), 0)
    # GPUs that Ray is told of, on two nodes: a part of one is never made of two.
    nodes = [{"Resources": {"CPU": 8.0, "GPU": 1.0}}, {"Resources": {"CPU": 4.0, "GPU": 2.0}}]
    monkeypatch.setattr(here, "nodes", lambda: nodes)
    assert here.places(3, 1) == [Place(2, 1)] * 3
    assert here.places(6, 0.4) == [Place(1, 0.4)] * 6
    with pytest.raises(ConfigurationError, match=r"`workers` must be at most 6 on .* \(1 CPU and 0.4 of a GPU for each"):
        here.places(7, 0.4)
    assert here.places(1, 2) == [Place(4, 2)]
    with pytest.raises(ConfigurationError, match="`workers` must be at most 1 on this cluster"):
        here.places(2, 2)


def test_a_part_of_a_gpu_is_what_ray_gives(cluster: Any) -> None:
    """On a node that says it has one GPU, four workers with a quarter each run at once, and a fifth has no room."""
    node = cluster.add_node(num_cpus=5, num_gpus=1, object_store_memory=STORE)
    cluster.wait_for_nodes()
    try:
        here, events = RayCluster(), Events()
        with pytest.raises(ConfigurationError, match="`workers` must be at most 4 on this cluster"):
            here.places(5, 0.25)
        work = Work("builtins:eval", "lambda task: (__import__('os').environ['CUDA_VISIBLE_DEVICES'], task)")
        with RayPool(here, work, here.places(4, 0.25), events) as pool:
            for number in range(4):
                pool.submit(number, number)
            assert sorted(pool.take()[1] for _ in range(4)) == [("0", number) for number in range(4)]
    finally:
        cluster.remove_node(node)


def test_measurements_are_made_on_nodes_like_this_one(cluster: Any) -> None:
    """A node whose processes may use one core less is another device: no latency is measured there."""
    cores = os.sched_getaffinity(0)
    if len(cores) < 2:
        pytest.skip("needs two cores")
    os.sched_setaffinity(0, {min(cores)})
    try:
        node = cluster.add_node(num_cpus=2, object_store_memory=STORE)
    finally:
        os.sched_setaffinity(0, cores)
    cluster.wait_for_nodes()
    try:
        alike = Alike(describe_device, ("cpu",))
        with pytest.raises(ConfigurationError) as caught:
            Ray(Recipe(TOYS), 2, alike=alike).check()
        mine = describe_device("cpu")
        other = mine.replace(f"{len(cores)} cores", "1 core")
        assert f"must be at most 1 when latency is measured: one on each node that is like this one ({mine})" in str(
            caught.value
        )
        assert f"Others differ: {other}." in str(caught.value)
        (place,) = RayCluster().places_alike(1, 0.0, alike.describe, alike.given)
        assert place.node == ray.get_runtime_context().get_node_id()
        with Ray(Recipe(TOYS), 1, alike=alike) as executor:
            executor.submit(running(0), {}, True)
            assert executor.take().trial.complete
    finally:
        cluster.remove_node(node)


def test_an_address_that_does_not_answer() -> None:
    """Neither where nothing listens, nor where something does that says nothing: one line, within seconds."""
    code = "from secateur.study.executors.ray_cluster import RayCluster; import sys; RayCluster(sys.argv[1])"
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        for address, message in (
            ("127.0.0.1:1", "`address` 127.0.0.1:1 does not answer: [Errno 111] Connection refused. Start Ray there with"),
            (f"127.0.0.1:{port}", f"`address` 127.0.0.1:{port} does not answer as a Ray cluster does. Start Ray there"),
            ("ray://somewhere:1", "`address` must be host:port or auto, got `ray://somewhere:1`. Start the command on"),
        ):
            began = time.monotonic()
            done = subprocess.run([sys.executable, "-c", code, address], capture_output=True, text=True, check=False)
            assert message in done.stderr.splitlines()[-1]
            assert time.monotonic() - began < 30, "15 s on a machine that has nothing else to do"


def test_another_cluster_than_that_of_the_process(cluster: Any) -> None:
    assert not RayCluster(cluster.address).own
    with pytest.raises(ConfigurationError, match=r"`address` is 127.0.0.1:1, but this process is connected to Ray at "):
        RayCluster("127.0.0.1:1")


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"`ray` is not installed. Install it with: pip install 'secateur\[ray\]'"):
        Ray(Recipe(TOYS), 1)
