"""Forms of a network, scored and timed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from secateur.devices.inputs import dummy_inputs
from secateur.devices.memory import peak_memory
from secateur.devices.setup import Setup
from secateur.estimators import forms as module
from secateur.estimators.forms import judge_forms
from secateur.estimators.shared_weights import score
from secateur.export.forms import write_forms
from secateur.testing.models import toy_model
from secateur.testing.toy_task import toy_task_data

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.02)


def test_every_form_is_scored_on_the_same_data(tmp_path: Path) -> None:
    network, kind = toy_model("gpt2", "causal"), "language_modelling"
    network.save_pretrained(tmp_path)
    write_forms(network, tmp_path, onnx=True, int8=True, int4=True, kind=kind)
    data = toy_task_data(kind)
    batches = list(data.batches("validation", 5))
    seen: list[tuple[int, int]] = []
    found = judge_forms(network, tmp_path, Setup(length=7, kind=kind), (data.task, batches), advance=lambda *s: seen.append(s))
    assert [form.name for form in found.forms] == ["torch", "onnx", "int8", "int4"]
    assert found.metric == "perplexity"
    expected = score(network, data.task, batches)["perplexity"]
    torch, onnx, int8, int4 = (form.score for form in found.forms)
    assert torch == expected
    assert onnx == pytest.approx(expected, rel=1e-4)
    assert int8 == pytest.approx(expected, rel=0.3)
    assert int4 == pytest.approx(expected, rel=0.3)
    assert len({onnx, int8, int4}) == 3
    inputs = dummy_inputs(network, 1, 7, kind)
    assert found.forms[0].memory == peak_memory(network, inputs).peak
    assert all(form.memory is not None and form.memory > 0 for form in found.forms)
    assert all(form.latency is not None and 0 < form.latency < 1 for form in found.forms)
    assert found.timed == "batch 1 × 7 on the CPU, 1 thread"
    steps = 4 * (len(batches) + module.TURNS)
    assert seen == [(done + 1, steps) for done in range(steps)]


def test_a_form_that_returns_nan_is_said_and_without_data_there_is_no_score(tmp_path: Path) -> None:
    import torch

    network: Any = toy_model("bert")
    with torch.no_grad():
        network.classifier.bias.fill_(float("nan"))
    network.save_pretrained(tmp_path)
    data = toy_task_data("classification", examples=4)
    setup = Setup(length=7, threads=2)
    found = judge_forms(network, tmp_path, setup, (data.task, list(data.batches("validation", 4))))
    assert found.forms[0].score is None
    assert "model.safetensors could not be scored: the network returned NaN." in found.notes
    found = judge_forms(network, tmp_path, setup, None, "`a.csv` is gone")
    assert (found.metric, found.unscored) == ("", "`a.csv` is gone")
    assert found.timed.endswith("2 threads")
