from __future__ import annotations

import json
from typing import Any

import pytest
from torch import nn

from secateur.devices.measurement import Measurement, kind_of, measure_checkpoint
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError, MeasurementError
from secateur.testing.models import toy_model


def measured(network: nn.Module, generate: int = 0, **settings: Any) -> Measurement:
    return measure_checkpoint("toy", lambda _: network, Setup(**{"length": 16, "seconds": 0.05, **settings}), generate)


def test_latency_memory_and_parameters() -> None:
    network = toy_model("bert")
    found = measured(network, batch=2)
    assert found.parameters == sum(p.numel() for p in network.parameters())
    assert (found.latency.batch, found.latency.length, found.latency.threads) == (2, 16, 1)
    # Beside the parameters, BERT keeps two integer tables of its positions as buffers.
    assert found.memory.weights == 4 * found.parameters + 2 * 64 * 8
    assert found.memory.peak == found.memory.weights + found.memory.activations > found.memory.weights
    assert found.generation is None
    assert json.loads(json.dumps(found.as_dict()))["memory"]["peak"] == found.memory.peak
    assert f"{found.parameters:,}" in str(found)


@pytest.mark.parametrize(
    ("family", "head", "kind"),
    [
        ("bert", "classification", "classification"),
        ("bert", "multiple_choice", "multiple_choice"),
        ("gpt2", "causal", "language_modelling"),
        ("llama", "causal", "language_modelling"),
    ],
)
def test_the_kind_of_task_is_told_by_the_head(family: str, head: str, kind: str) -> None:
    assert kind_of(toy_model(family, head)) == kind


def test_multiple_choice_is_measured_with_its_answers() -> None:
    network = toy_model("bert", "multiple_choice")
    shapes = []
    network.register_forward_pre_hook(lambda _, __, given: shapes.append(given["input_ids"].shape), with_kwargs=True)
    measured(network, length=8)
    assert set(shapes) == {(1, 4, 8)}


@pytest.mark.parametrize("runtime", ["torch", "torch-int8"])
def test_prompt_and_generation_are_measured_apart(runtime: str) -> None:
    found = measured(toy_model("gpt2", "causal"), 4, length=32, runtime=runtime)
    assert found.generation is not None
    assert (found.generation.prompt.length, found.generation.token.length) == (32, 1)
    assert found.latency.runtime == found.generation.token.runtime == runtime
    assert "tokens per second" in str(found)
    assert json.loads(json.dumps(found.as_dict()))["generation"]["tokens"] == 4


def test_what_cannot_be_run_is_said() -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    with pytest.raises(MeasurementError, match="`BertForSequenceClassification`"):
        measured(toy_model("bert"), 3)
    sizes: dict[str, Any] = {"d_model": 16, "d_kv": 8, "num_heads": 2, "d_ff": 32, "num_layers": 1, "vocab_size": 50}
    with pytest.raises(MeasurementError, match="`T5ForConditionalGeneration` could not be run on token ids"):
        measured(T5ForConditionalGeneration(T5Config(**sizes)))
    with pytest.raises(ConfigurationError, match="at most 64"):
        measured(toy_model("bert"), length=65)


def test_all_faults_are_reported_before_anything_loads() -> None:
    with pytest.raises(ConfigurationError) as caught:
        measure_checkpoint("toy", lambda _: 1 / 0, Setup(batch=0, length=0, threads=0, seconds=0, runtime="onnx"), 4)  # type: ignore[arg-type,return-value]
    assert len(caught.value.faults) == 5
    with pytest.raises(ConfigurationError, match="is not available"):
        measure_checkpoint("toy", lambda _: 1 / 0, Setup(device="cuda:99"))  # type: ignore[arg-type,return-value]
