from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from secateur.decoders import Builder, Sizes
from secateur.devices import runtime
from secateur.devices.inputs import dummy_inputs
from secateur.devices.latency import measure_model
from secateur.devices.runtime import check_setup, int8_copy, running, runtime_version
from secateur.devices.setup import RUNTIMES, Setup
from secateur.errors import ConfigurationError, MeasurementError, MissingExtraError
from secateur.spaces.decoder import architecture


def network(backbone: str = "gpt2", embedding: int = 0) -> nn.Module:
    build = Builder(Sizes(vocabulary=60, positions=32))
    return build(architecture(backbone, 16, (2, 4), (32, 48), embedding, 2 if embedding else 1))


@pytest.mark.parametrize("name", ["torch", "torch-int8"])
def test_no_cache_is_kept(name: str) -> None:
    model = network()
    inputs = dummy_inputs(model, 2, 12, "language_modelling")
    with torch.inference_mode(), running(model, inputs, Setup(runtime=name)) as run:
        found: Any = run()
        assert model(**inputs).past_key_values is not None
    assert found.past_key_values is None


def test_memories_are_left_to_the_model() -> None:
    model = network("transformer_xl")
    inputs = dummy_inputs(model, 2, 12, "language_modelling")
    model.config.recurrence = 5
    with torch.inference_mode(), running(model, inputs, Setup()) as run:
        found: Any = run()
    assert found.mems[0].shape == (2, 5, 16)


@pytest.mark.parametrize(("backbone", "name"), [("gpt2", "torch"), ("gpt2", "torch-int8"), ("transformer_xl", "torch-int8")])
def test_every_runtime_computes_the_same_network(backbone: str, name: str) -> None:
    model = network(backbone, embedding=8)
    inputs = dummy_inputs(model, 2, 12)
    with torch.inference_mode(), running(model, inputs, Setup(runtime=name)) as run:
        found: Any = run()
    same(found.logits, model, inputs, name)


def same(logits: torch.Tensor, model: nn.Module, inputs: dict[str, torch.Tensor], name: str) -> None:
    with torch.inference_mode():
        expected = model(**inputs).logits
    assert logits.shape == expected.shape
    allowed = 1e-4 if not name.endswith("int8") else 0.1
    assert float((logits - expected).abs().max()) < allowed
    if name.endswith("int8"):
        assert not torch.equal(logits, expected), "weights of 8 bits"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[nn.Module, Path]:
    model = network(embedding=8)
    return model, runtime.export_onnx(model, tmp_path_factory.mktemp("onnx") / "model.onnx", kind="language_modelling")


@pytest.mark.parametrize("name", ["onnx", "onnx-int8"])
def test_onnx_runtime_computes_it_too_with_the_threads_asked_for_and_leaves_no_file(
    exported: tuple[nn.Module, Path], name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import onnxruntime

    model, file = exported
    seen: list[int] = []
    session = onnxruntime.InferenceSession

    def spy(path: str, options: Any, **rest: Any) -> Any:
        seen.append(options.intra_op_num_threads)
        return session(path, options, **rest)

    monkeypatch.setattr(onnxruntime, "InferenceSession", spy)
    monkeypatch.setattr(
        runtime, "export_onnx", lambda _, path, kind: Path(shutil.copytree(file.parent, path.parent / kind)) / file.name
    )
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    setup = Setup(length=12, kind="language_modelling", runtime=name, threads=2, seconds=0.05)
    inputs = dummy_inputs(model, 2, 12, setup.kind)
    with running(model, inputs, setup) as run:
        found: Any = run()
    same(torch.as_tensor(found[0]), model, inputs, name)
    latency = measure_model(model, setup)
    assert seen == [2, 2]
    assert (latency.runtime, latency.threads) == (name, 2)
    assert list(tmp_path.iterdir()) == []


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


@pytest.mark.parametrize("name", ["torch", "torch-int8"])
def test_a_latency_names_its_runtime_and_has_both_clocks(name: str) -> None:
    latency = measure_model(network(), Setup(length=8, kind="language_modelling", runtime=name, seconds=0.05))
    assert latency.runtime == name
    assert name in str(latency)
    assert latency.median > 0
    assert latency.wall > 0
    assert latency.cpu > 0


def test_what_cannot_be_measured_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="unknown runtime"):
        check_setup(Setup(runtime="onnx_int8"))
    with pytest.raises(ConfigurationError, match="is not available"):
        check_setup(Setup(device="cuda:99"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert check_setup(Setup()) == torch.device("cpu")
    with pytest.raises(MissingExtraError, match=r"secateur\[onnx\]"):
        check_setup(Setup(runtime="onnx"))
    monkeypatch.setattr(runtime, "resolve_device", torch.device)
    with pytest.raises(ConfigurationError, match="only be measured on the CPU"):
        check_setup(Setup(device="cuda", runtime="onnx"))


def test_versions_tell_runtimes_apart() -> None:
    assert len({runtime_version(name) for name in RUNTIMES}) == len(RUNTIMES)
    assert runtime_version("torch") == f"torch {torch.__version__}"
