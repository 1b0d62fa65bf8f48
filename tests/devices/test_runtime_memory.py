"""Each runtime's own memory: int8 weights are a quarter of float's, and results live from their node to their last reader."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from secateur.devices.inputs import dummy_inputs
from secateur.devices.memory import peak_memory, weight_bytes
from secateur.devices.runtime_memory import _bytes_of, _most_alive, runtime_memory
from secateur.devices.setup import Setup
from secateur.testing.models import toy_model


@pytest.fixture(scope="module")
def bert() -> Any:
    return toy_model("bert").eval()


def memory(model: Any, runtime: str) -> Any:
    return runtime_memory(model, dummy_inputs(model, 1, 16), Setup(length=16, runtime=runtime))


def test_torch_is_what_it_was(bert: Any) -> None:
    assert memory(bert, "torch") == peak_memory(bert, dummy_inputs(bert, 1, 16))


def test_int8_in_torch(bert: Any) -> None:
    from torch import nn

    linear = sum(m.weight.numel() for m in bert.modules() if isinstance(m, nn.Linear))
    assert memory(bert, "torch-int8").weights == weight_bytes(bert) - 3 * linear


def test_int8_in_onnx(bert: Any) -> None:
    pytest.importorskip("onnxruntime")
    found = memory(bert, "onnx-int8")
    assert 0.25 * weight_bytes(bert) < found.weights < 0.6 * weight_bytes(bert)
    assert 0 < found.activations < 10 * peak_memory(bert, dummy_inputs(bert, 1, 16)).activations


def test_four_bits_take_half_a_byte() -> None:
    onnx = pytest.importorskip("onnx")
    assert [_bytes_of(onnx, getattr(onnx.TensorProto, kind)) for kind in ("FLOAT", "INT8", "UINT4", "INT4")] == [4, 1, 0.5, 0.5]


def test_results_are_alive_until_they_are_read() -> None:
    def node(inputs: str, outputs: str, size: int) -> tuple[Any, dict[str, str]]:
        return SimpleNamespace(input=inputs.split(), output=outputs.split()), {"output_size": str(size)}

    # `a` is read at once, `b` by the last node, `out` stays: at most 4 + 100 beside 4 + 7.
    order = [node("in", "a b", 4), node("a", "c", 100), node("c", "d", 7), node("d b", "out", 1)]
    assert _most_alive(order, {"out"}) == 111
    assert _most_alive([node("in", "out", 3), node("in", "other unread", 5)], {"out"}) == 8
