"""Runs whose trials are evaluated on a Ray cluster: the same networks have the same values."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import secateur
from secateur.errors import ConfigurationError, StudyError
from secateur.runs.bench.workers import on_ray
from secateur.runs.stages import estimators_of
from secateur.study.executors.ray_cluster import load_ray

pytest.importorskip("ray")
ray = load_ray()
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("brief", "cluster")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """One Ray for all tests of this file; a run takes the connection that there is."""
    ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=100 * 2**20, logging_level="ERROR")
    yield
    ray.shutdown()


def values(run: Any) -> dict[str, Any]:
    """Key and budget → values of what the searcher asked for."""
    found = {t.point: (str(t.status), dict(t.values)) for t in run.trials if t.id is not None}
    run.close()
    return found


def test_shared_weights_are_searched_by_two_workers(quick_prune: Any, tmp_path: Path) -> None:
    """Bounds are shares of the unpruned network, which is evaluated once, before the workers begin."""
    changes = {"objectives": ["error", "body_parameters<=90%"], "searcher": "random", "depths": False, "trials": 5}
    changes |= {"epochs": 1.0, "order": False, "polish": False, "formats": False}
    alone = quick_prune(tmp_path / "alone", **changes)
    both = quick_prune(tmp_path / "both", executor="ray", workers=2, **changes)
    assert any("2 workers on a Ray cluster searched in parallel" in note for note in both.notes)
    events = [json.loads(line) for line in (tmp_path / "both" / "log.jsonl").read_text().splitlines()]
    pids = {event["pid"] for event in events if event["event"] == "worker started"}
    assert len(pids) in (1, 2)  # on a busy machine one may have done it all before the other has started
    assert both.unpruned == alone.unpruned
    assert values(both) == values(alone)


def test_trained_candidates_go_on_where_they_stopped(quick_prune: Any, tmp_path: Path) -> None:
    """MO-ASHA on standard NAS with one worker tries what it tries without Ray."""
    changes: dict[str, Any] = {"method": "standard", "searcher": "mo-asha", "trials": 8, "r_min": 0.5, "eta": 2, "epochs": 1.0}
    changes |= {"trial_epochs": 2.0, "polish": False, "formats": False}
    there = quick_prune(tmp_path / "there", executor="ray", **changes)
    assert any(t.continues is not None for t in there.trials)
    there.front[-1].save(tmp_path / "pruned")
    assert values(there) == values(quick_prune(tmp_path / "alone", **changes))


def test_a_design_run_measures_on_a_node_like_this_one(quick_design: Any, tmp_path: Path) -> None:
    """One node, one worker: two would disturb each other."""
    changes = {"objectives": ["decoder_parameters", "latency"], "searcher": "random", "trials": 3, "measure": "all"}
    with pytest.raises(ConfigurationError, match="`workers` must be at most 1 when latency is measured: one on each node"):
        quick_design(tmp_path / "run", executor="ray", workers=2, address="auto", **changes)
    assert not (tmp_path / "run").exists()
    run = quick_design(tmp_path / "run", executor="ray", **changes)
    assert all(t.values["latency"] > 0 for t in run.trials if t.complete)
    run.close()


def test_a_bench_on_ray_finds_the_same(tmp_path: Path) -> None:
    given: dict[str, Any] = {"table": ["prune-sst2"], "searcher": ["random"], "seeds": 4, "queries": 3, "progress": False}
    beside = secateur.bench_search(**given, executor="ray", workers=2, to=tmp_path / "ray").frame
    alone = secateur.bench_search(**given, workers=1, to=tmp_path / "alone").frame
    same, other = (frame.drop(columns="seconds").reset_index(drop=True) for frame in (beside, alone))
    assert len(same) >= 12
    assert same.equals(other)


def test_tasks_on_ray_come_back_with_their_places() -> None:
    assert dict(on_ray("operator:itemgetter", 1, [(0, place**2) for place in range(7)], 2)) == {p: p**2 for p in range(7)}
    with pytest.raises(
        StudyError, match=r"the workers that did a task died again and again: its process died; out of memory\?"
    ):
        list(on_ray("functools:partial", os._exit, [3], 1))
    with pytest.raises(ConfigurationError, match="`workers` must be at most 2 on this cluster"):
        list(on_ray("functools:partial", int, ["1"] * 3, 3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"executor": "dask"}, "unknown executor `dask`. Known: processes, ray"),
        ({"address": "auto"}, "`address` is for the executor `ray`, got `processes`"),
        ({"gpus_per_trial": 0.5}, "`gpus_per_trial` is for the executor `ray`"),
        ({"executor": "ray", "address": "ray://head:10001"}, "`address` must be host:port or auto, got `ray://head:10001`"),
        ({"executor": "ray", "gpus_per_trial": 1.5}, "`gpus_per_trial` must be a part of one GPU or a whole number"),
        ({"executor": "ray", "gpus_per_trial": 0.5, "device": "cpu"}, "`gpus_per_trial` is 0.5, but `device` is cpu"),
        ({"executor": "ray", "gpus_per_trial": 0.5, "device": "auto"}, "`gpus_per_trial` is 0.5, but this machine has no GPU"),
        ({"executor": "ray", "device": "cuda:0"}, "`device` must be auto, cpu or cuda where Ray chooses the GPU, got cuda:0"),
        ({"workers": 9_000}, "`workers` must be at most .* on this machine, got 9000. A Ray cluster may have more"),
        ({"executor": "ray", "workers": 90_000}, "`workers` must be at least 1 and at most 10,000, got 90000"),
        ({"executor": "ray", "address": "127.0.0.1:1"}, "`address` is 127.0.0.1:1, but this process is connected to Ray"),
    ],
)
def test_what_does_not_go_together(quick_design: Any, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    if "this machine has no GPU" in message and torch.cuda.is_available():
        pytest.skip("needs a machine without a GPU")
    with pytest.raises(ConfigurationError, match=message):
        quick_design(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()
    if "device" not in changes and "gpus_per_trial" not in changes and "127" not in message:
        with pytest.raises(ConfigurationError, match=message):
            secateur.bench_search(table=["prune-sst2"], to=tmp_path / "bench", **changes)


def test_a_folder_that_a_node_does_not_see() -> None:
    with pytest.raises(StudyError, match=r"`/nowhere` is not there on .*: keep runs in a folder that all nodes share"):
        estimators_of("/nowhere", {})
