from __future__ import annotations

from typing import Any

import pytest
from torch import nn

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.estimators.building import BuildOnce
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.memory import MemoryEstimator


def architecture(layers: int, units: int = 32) -> Architecture:
    return Architecture.of("toy", {"layers": layers, "units": units}, key=f"{layers}-{units}")


def bert(arch: Architecture) -> nn.Module:
    from transformers import BertConfig, BertForSequenceClassification

    sizes: dict[str, Any] = {
        "hidden_size": 16,
        "num_attention_heads": 2,
        "vocab_size": 50,
        "intermediate_size": int(arch["units"]),
    }
    return BertForSequenceClassification(BertConfig(num_hidden_layers=int(arch["layers"]), max_position_embeddings=64, **sizes))


def test_weights_grow_with_depth_and_activations_do_not() -> None:
    # From two layers on: the embeddings' output, which transformers keeps to the end, is the first layer's own input.
    two, four = MemoryEstimator(bert, length=32).evaluate([architecture(2), architecture(4)])
    parameters = [sum(p.numel() for p in bert(architecture(n)).parameters()) for n in (2, 4)]
    assert four.details["memory_weights"] - two.details["memory_weights"] == 4 * (parameters[1] - parameters[0])
    assert four.details["memory_activations"] == two.details["memory_activations"], "a layer's activations are freed after it"
    for evaluation in (two, four):
        assert set(evaluation.values) == set(MemoryEstimator.yields)
        assert evaluation.values["memory"] == evaluation.details["memory_weights"] + evaluation.details["memory_activations"]


def test_the_peak_is_in_the_feed_forward() -> None:
    """A layer's peak is the GELU: its input and output (length × units each) and the hidden state that waits for the residual.

    The attention mask of the batch lives through all layers; it does not change with the units.
    """
    few, many = MemoryEstimator(bert, length=32).evaluate([architecture(2, units=256), architecture(2, units=512)])
    assert many.details["memory_activations"] - few.details["memory_activations"] == 2 * 32 * 256 * 4


def test_a_larger_batch_needs_more() -> None:
    small = MemoryEstimator(bert, batch=1, length=32).evaluate([architecture(1)])[0]
    large = MemoryEstimator(bert, batch=8, length=32).evaluate([architecture(1)])[0]
    ratio = large.details["memory_activations"] / small.details["memory_activations"]
    assert ratio == pytest.approx(8, rel=0.05)


def test_the_number_repeats_exactly() -> None:
    estimator = MemoryEstimator(bert, length=32)
    first, second = estimator.evaluate([architecture(2)] * 2)
    assert first == second


def test_the_fingerprint_names_all_that_the_number_depends_on() -> None:
    variants = [
        MemoryEstimator(bert),
        MemoryEstimator(bert, batch=2),
        MemoryEstimator(bert, length=16),
        MemoryEstimator(bert, kind="multiple_choice"),
        MemoryEstimator(bert, identity="another model"),
        LatencyEstimator(bert),
    ]
    assert len({variant.fingerprint for variant in variants}) == len(variants)
    assert MemoryEstimator(bert).fingerprint == variants[0].fingerprint


def test_a_network_that_cannot_run_fails_with_its_reason() -> None:
    def build(arch: Architecture) -> nn.Module:
        raise RuntimeError("no space")

    assert MemoryEstimator(build).evaluate([architecture(1)])[0].failure == "RuntimeError: no space"


def test_wrong_sizes_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="`length` must be at least 1"):
        MemoryEstimator(bert, length=0)
    with pytest.raises(ConfigurationError, match="`device`"):
        MemoryEstimator(bert, device="gpu")


def test_latency_and_memory_share_one_network() -> None:
    calls: list[str] = []

    def build(arch: Architecture) -> nn.Module:
        calls.append(arch.key)
        return bert(arch)

    once = BuildOnce(build)
    LatencyEstimator(once, length=16, max_seconds=0.2).evaluate([architecture(1)])
    MemoryEstimator(once, length=16).evaluate([architecture(1)])
    assert calls == ["1-32"]
