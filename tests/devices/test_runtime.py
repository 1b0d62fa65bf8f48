from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from secateur.decoders import Builder, Sizes
from secateur.devices import RUNTIMES, check_runtime, dummy_inputs, measure_latency, runtime_version
from secateur.devices.latency import measure_model
from secateur.devices.runtime import int8_copy, running
from secateur.errors import ConfigurationError, MeasurementError, MissingExtraError, UnknownNameError
from secateur.spaces.decoder import architecture


def network(backbone: str = "gpt2", embedding: int = 0) -> nn.Module:
    build = Builder(Sizes(vocabulary=60, positions=32))
    return build(architecture(backbone, 16, (2, 4), (32, 48), embedding, 2 if embedding else 1))


@pytest.mark.parametrize("runtime", ["torch", "torch-int8"])
def test_no_cache_is_kept(runtime: str) -> None:
    model = network()
    inputs = dummy_inputs(model, 2, 12, "language_modelling")
    with torch.inference_mode(), running(model, inputs, runtime=runtime) as run:
        found: Any = run()
        assert model(**inputs).past_key_values is not None
    assert found.past_key_values is None


def test_memories_are_left_to_the_model() -> None:
    model = network("transformer_xl")
    inputs = dummy_inputs(model, 2, 12, "language_modelling")
    model.config.recurrence = 5
    with torch.inference_mode(), running(model, inputs) as run:
        found: Any = run()
    assert found.mems[0].shape == (2, 5, 16)


@pytest.mark.parametrize(
    ("backbone", "runtime"),
    [
        ("gpt2", "torch"),
        ("gpt2", "torch-int8"),
        ("transformer_xl", "torch-int8"),
        ("gpt2", "onnx-int8"),
        ("transformer_xl", "onnx"),
    ],
)
def test_every_runtime_computes_the_same_network(backbone: str, runtime: str) -> None:
    model = network(backbone, embedding=8)
    inputs = dummy_inputs(model, 2, 12)
    with torch.inference_mode(), running(model, inputs, runtime=runtime) as run:
        found: Any = run()
        expected = model(**inputs).logits
    logits = torch.as_tensor(found[0] if runtime.startswith("onnx") else found.logits)
    assert logits.shape == expected.shape
    allowed = 1e-4 if not runtime.endswith("int8") else 0.1
    assert float((logits - expected).abs().max()) < allowed
    if runtime.endswith("int8"):
        assert not torch.equal(logits, expected), "weights of 8 bits"


def test_an_int8_copy_has_int8_layers_and_leaves_the_original_alone() -> None:
    model = network()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    small = int8_copy(model)
    kinds = [type(module).__module__ for module in small.modules() if type(module).__name__ == "Linear"]
    assert len(kinds) == 2 * 4 + 1, "four in each layer, and the output"
    assert all(kind.startswith("torch.ao") for kind in kinds)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_without_kernels_int8_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.ao.quantization", None)
    with pytest.raises(MeasurementError, match="torch-int8 does not work with torch"):
        int8_copy(network())


@pytest.mark.parametrize("runtime", ["torch", "torch-int8"])
def test_a_latency_names_its_runtime_and_has_both_clocks(runtime: str) -> None:
    latency = measure_model(network(), length=8, kind="language_modelling", runtime=runtime, max_seconds=0.3)
    assert latency.runtime == runtime
    assert runtime in str(latency)
    assert latency.median > 0
    assert latency.wall > 0
    assert latency.cpu > 0


def test_onnx_runtime_gets_the_threads_and_exported_files_are_gone_afterwards(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import onnxruntime

    seen: list[int] = []
    session = onnxruntime.InferenceSession

    def spy(path: str, options: Any, **rest: Any) -> Any:
        seen.append(options.intra_op_num_threads)
        return session(path, options, **rest)

    monkeypatch.setattr(onnxruntime, "InferenceSession", spy)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    latency = measure_model(network(), length=8, kind="language_modelling", runtime="onnx-int8", threads=2, max_seconds=0.3)
    assert seen == [2]
    assert (latency.runtime, latency.threads) == ("onnx-int8", 2)
    assert list(tmp_path.iterdir()) == []


def test_unknown_and_unfit_runtimes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean `onnx-int8`"):
        check_runtime("onnx_int8")
    with pytest.raises(ConfigurationError, match="on the CPU only"):
        check_runtime("onnx", torch.device("cuda"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    check_runtime("torch")
    with pytest.raises(MissingExtraError, match=r"secateur\[onnx\]"):
        check_runtime("onnx")


def test_versions_tell_runtimes_apart() -> None:
    assert len({runtime_version(runtime) for runtime in RUNTIMES}) == len(RUNTIMES)
    assert runtime_version("torch") == f"torch {torch.__version__}"


def test_what_comes_before_a_run_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    clock = {"now": 0.0}
    for name in ("perf_counter", "thread_time", "process_time"):
        monkeypatch.setattr(time, name, lambda: clock["now"])

    def advance(seconds: float) -> None:
        clock["now"] += seconds

    latency = measure_latency(lambda: advance(0.001), before=lambda: advance(0.01))
    assert latency.median == pytest.approx(0.001)
    assert latency.cpu == pytest.approx(0.001)
