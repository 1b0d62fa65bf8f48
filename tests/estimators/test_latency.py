from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from torch import nn

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, EvaluationFailure, UnknownNameError
from secateur.estimators.building import BuildOnce
from secateur.estimators.latency import LatencyEstimator


def architecture(layers: int) -> Architecture:
    return Architecture.of("toy", {"layers": layers}, key=f"layers-{layers}")


def bert(arch: Architecture) -> nn.Module:
    from transformers import BertConfig, BertForSequenceClassification

    sizes: dict[str, Any] = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 50}
    return BertForSequenceClassification(BertConfig(num_hidden_layers=int(arch["layers"]), max_position_embeddings=64, **sizes))


def estimator(build: Any = bert, **settings: Any) -> LatencyEstimator:
    return LatencyEstimator(build, **{"length": 32, "max_seconds": 0.5, **settings})


def test_deeper_networks_take_longer_and_the_details_say_how_it_was_measured() -> None:
    shallow, deep = estimator().evaluate([architecture(1), architecture(12)])
    assert deep.values["latency"] > 2 * shallow.values["latency"] > 0
    assert set(deep.values) == set(LatencyEstimator.yields)
    details = deep.details
    assert float(details["latency_low"]) <= deep.values["latency"] <= float(details["latency_high"])
    assert details["latency_clock"] == "cpu"
    assert float(details["latency_repeats"]) >= 1
    assert float(details["latency_wall"]) > 0
    assert details["latency_steady"] in (0.0, 1.0)
    assert details["latency_loaded"] in (0.0, 1.0)
    assert float(details["latency_spread"]) >= 0


def test_the_network_is_measured_in_eval_mode_without_gradients_on_the_tokens_asked_for() -> None:
    seen: dict[str, Any] = {}

    class Probe(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.config = type("Config", (), {"vocab_size": 9, "pad_token_id": 0})()

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            seen.update(shape=tuple(input_ids.shape), training=self.training, inference=torch.is_inference_mode_enabled())
            seen["threads"] = torch.get_num_threads()
            return input_ids * attention_mask

    estimator(lambda arch: Probe().train(), batch=3, length=5, threads=2, kind="multiple_choice").evaluate([architecture(1)])
    assert seen == {"shape": (3, 4, 5), "training": False, "inference": True, "threads": 2}


def test_the_fingerprint_names_all_that_the_number_depends_on() -> None:
    variants = [
        estimator(),
        estimator(threads=2),
        estimator(batch=2),
        estimator(length=16),
        estimator(kind="multiple_choice"),
        estimator(identity="another model"),
        estimator(runtime="torch-int8"),
        estimator(runtime="onnx"),
    ]
    assert len({variant.fingerprint for variant in variants}) == len(variants)
    assert estimator().fingerprint == estimator(max_seconds=1.0).fingerprint


@pytest.mark.parametrize(
    "error", [RuntimeError("no space"), MemoryError("no space"), EvaluationFailure("no space"), ValueError("no space")]
)
def test_a_network_that_cannot_run_fails_with_its_reason_and_the_next_is_measured(error: Exception) -> None:
    def build(arch: Architecture) -> nn.Module:
        if arch["layers"] == 0:
            raise error
        return bert(arch)

    failed, fine = estimator(build).evaluate([architecture(0), architecture(1)])
    assert failed.failure == f"{type(error).__name__}: no space"
    assert not failed.values
    assert fine.failure is None
    assert fine.values["latency"] > 0


def test_what_the_user_must_mend_is_raised() -> None:
    with pytest.raises(ConfigurationError, match="`length` must be at most 64"):
        estimator(length=65).evaluate([architecture(1)])
    with pytest.raises(ConfigurationError, match="`threads`"):
        estimator(threads=0)
    with pytest.raises(ConfigurationError, match="`max_seconds`"):
        estimator(max_seconds=0)
    with pytest.raises(ConfigurationError, match="`batch`"):
        estimator(batch=0)
    with pytest.raises(UnknownNameError, match="kind of task `classify`"):
        estimator(kind="classify")


def test_a_measured_network_is_freed() -> None:
    built: list[weakref.ref[nn.Module]] = []

    def build(arch: Architecture) -> nn.Module:
        network = bert(arch)
        built.append(weakref.ref(network))
        return network

    estimator(build).evaluate([architecture(1), architecture(2)])
    gc.collect()
    assert [reference() for reference in built] == [None, None]


def test_build_once_builds_each_architecture_once_in_a_row_and_holds_one() -> None:
    calls: list[str] = []

    def build(arch: Architecture) -> nn.Module:
        calls.append(arch.key)
        return nn.Linear(1, 1)

    once = BuildOnce(build)
    first = once(architecture(1))
    assert once(architecture(1)) is first
    assert calls == ["layers-1"]
    reference = weakref.ref(first)
    del first
    once(architecture(2))
    gc.collect()
    assert reference() is None
    once.clear()
    once(architecture(2))
    assert calls == ["layers-1", "layers-2", "layers-2"]


def test_the_runtime_is_used() -> None:
    found = estimator(runtime="torch-int8").evaluate([architecture(1)])[0]
    assert found.values["latency"] > 0
    assert float(found.details["latency_cpu"]) > 0
    with pytest.raises(UnknownNameError, match="unknown runtime"):
        estimator(runtime="tensorflow")
