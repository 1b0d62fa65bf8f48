from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from torch import nn

from secateur.architecture import Architecture
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError, EvaluationFailure
from secateur.estimators import latency
from secateur.estimators.building import BuildOnce
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.memory import MemoryEstimator


def test_the_details_say_how_it_was_measured(toy: Any, bert: Any) -> None:
    (found,) = LatencyEstimator(bert, Setup(length=32, seconds=0.05, runtime="torch-int8")).evaluate([toy(1)])
    details = found.details
    assert float(details["latency_low"]) <= found.values["latency"] <= float(details["latency_high"])
    assert details["latency_clock"] in ("cpu", "wall")
    assert float(details["latency_repeats"]) >= 1
    assert min(float(details["latency_wall"]), float(details["latency_cpu"])) > 0
    assert {details["latency_steady"], details["latency_loaded"]} <= {0.0, 1.0}
    assert float(details["latency_spread"]) >= 0


def test_the_network_is_measured_in_eval_mode_without_gradients_on_the_tokens_asked_for(toy: Any) -> None:
    seen: dict[str, Any] = {}

    class Probe(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.config = type("Config", (), {"vocab_size": 9, "pad_token_id": 0})()

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            seen.update(shape=tuple(input_ids.shape), training=self.training, inference=torch.is_inference_mode_enabled())
            seen["threads"] = torch.get_num_threads()
            return input_ids * attention_mask

    setup = Setup(batch=3, length=5, threads=2, kind="multiple_choice", seconds=0.05)
    LatencyEstimator(lambda arch: Probe().train(), setup).evaluate([toy(1)])
    assert seen == {"shape": (3, 4, 5), "training": False, "inference": True, "threads": 2}


#: Settings → the fingerprints that earlier versions gave latency and memory. They are keys of stored numbers.
FINGERPRINTS: list[tuple[dict[str, Any], str, str]] = [
    ({}, "fc1c9076a977c2e3", "fea7cb659950a7c6"),
    ({"threads": 2}, "340c8c6de26f0f3f", "fea7cb659950a7c6"),
    ({"batch": 3}, "75a6936a422d8ae6", "7fd69403ee5fb233"),
    ({"length": 16}, "91822aa5a10c984b", "0710af05ddf1db28"),
    ({"kind": "multiple_choice"}, "4e46181e48bb3560", "dc884841882cce87"),
    ({"runtime": "torch-int8"}, "1f92f4cc6357dbbd", "fea7cb659950a7c6"),
    ({"runtime": "onnx-int8", "batch": 2, "length": 192, "kind": "language_modelling"}, "0677f61cad3b18c4", "8d1c35d290a3f5ba"),
]


@pytest.mark.parametrize(("settings", "timed", "followed"), FINGERPRINTS)
def test_the_fingerprint_names_all_that_the_number_depends_on_and_stays(
    settings: dict[str, Any], timed: str, followed: str, bert: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latency, "describe_device", lambda device: "cpu: Imaginary, 2 cores")
    monkeypatch.setattr(torch, "__version__", "1.2.3")
    monkeypatch.setattr("importlib.metadata.version", lambda name: "4.5.6")
    setup = Setup(**settings)
    assert LatencyEstimator(bert, setup, identity="toy").fingerprint == timed
    assert MemoryEstimator(bert, setup, identity="toy").fingerprint == followed
    assert LatencyEstimator(bert, setup, identity="another model").fingerprint != timed
    assert MemoryEstimator(bert, setup, identity="another model").fingerprint != followed


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, EvaluationFailure, ValueError])
@pytest.mark.parametrize("kind", [LatencyEstimator, MemoryEstimator])
def test_a_network_that_cannot_run_fails_with_its_reason(kind: Any, error: type[Exception], toy: Any) -> None:
    def build(arch: Architecture) -> nn.Module:
        raise error("no space")

    (failed,) = kind(build, Setup()).evaluate([toy(1)])
    assert failed.failure == f"{error.__name__}: no space"


def test_what_the_user_must_mend_is_raised(toy: Any, bert: Any) -> None:
    for kind in (LatencyEstimator, MemoryEstimator):
        with pytest.raises(ConfigurationError, match="`length` must be at most 64"):
            kind(bert, Setup(length=65)).evaluate([toy(1)])
        with pytest.raises(ConfigurationError, match="`threads`"):
            kind(bert, Setup(threads=0))
        with pytest.raises(ConfigurationError, match="cuda:99 is not available"):
            kind(bert, Setup(device="cuda:99"))


def test_a_measured_network_is_freed(toy: Any, bert: Any) -> None:
    built: list[weakref.ref[nn.Module]] = []

    def build(arch: Architecture) -> nn.Module:
        network = bert(arch)
        built.append(weakref.ref(network))
        return network

    MemoryEstimator(build, Setup(length=8)).evaluate([toy(1)])
    LatencyEstimator(build, Setup(length=8, seconds=0.01)).evaluate([toy(1), toy(2)])
    gc.collect()
    assert [reference() for reference in built] == [None] * 3


def test_build_once_builds_each_architecture_once_in_a_row_and_holds_one(toy: Any) -> None:
    calls: list[str] = []

    def build(arch: Architecture) -> nn.Module:
        calls.append(arch.key)
        return nn.Linear(1, 1)

    once = BuildOnce(build)
    first = once(toy(1))
    assert once(toy(1)) is first
    reference = weakref.ref(first)
    del first
    once(toy(2))
    gc.collect()
    assert reference() is None
    once.clear()
    once(toy(2))
    assert calls == ["1-32", "2-32", "2-32"]
