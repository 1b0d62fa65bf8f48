"""The Ray executor: trials on a cluster of several nodes, each told exactly once, whatever is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, MissingExtraError, SecateurError, StudyError, UnknownNameError
from secateur.study import Ray, Recipe, RunLog, Stop, Store, create_store, open_store
from secateur.study.executors.ray_cluster import Place, RayCluster, address_fault
from secateur.study.executors.ray_executor import Alike
from secateur.study.executors.ray_pool import RayPool, Work
from secateur.study.memory_store import MemoryStore
from secateur.testing import toy_study as toys
from secateur.trial import Status, Trial

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow

TOYS = "secateur.testing.toy_study:together"
GONE = toys.SPACE.make({"heads": 1, "units": 1, "layers": 0})
DEEP = toys.SPACE.make({"heads": 1, "units": 1, "layers": 2})
ROOM = 100 * 2**20


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """One Ray for all tests of this file: a head with two CPUs that notices within seconds that a node is gone."""
    from ray.cluster_utils import Cluster

    impatient = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
    head = {"num_cpus": 2, "object_store_memory": ROOM, "include_dashboard": False, "_system_config": impatient}
    made = Cluster(initialize_head=True, head_node_args=head)
    ray.init(address=made.address, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def executor(cluster: Any) -> Iterator[Ray]:
    with Ray(Recipe(TOYS), 2) as made:
        yield made


def running(number: int, architecture: Architecture = DEEP) -> Trial:
    return Trial(number, architecture, Status.RUNNING, number=number + 1)


def asked(store: Store) -> list[Trial]:
    return [t for t in store.trials() if t.id is not None]


def told_once(store: Store) -> None:
    """Every trial was told once, in an order without gaps, and no number is there twice."""
    trials = store.trials()
    assert sorted(t.told for t in trials) == list(range(len(trials)))
    assert [t.id for t in asked(store)] == list(range(len(asked(store))))


def test_a_study_by_two_workers(executor: Ray, tmp_path: Path) -> None:
    with create_store(tmp_path / "s.db") as store:
        study = toys.study(store, executor=executor)
        study.run(Stop(trials=20))
        told_once(store)
        assert len(asked(store)) == 20
        for trial in store.trials():
            assert trial.complete
            assert trial.values["error"] == toys.Error.error(trial.architecture)
