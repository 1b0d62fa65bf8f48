"""What runs a network while it is timed: torch or ONNX Runtime, in float32 or with quantised weights."""

from __future__ import annotations

import copy
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from secateur.anatomy.inputs import no_cache
from secateur.decoders.adaptive import Vectors
from secateur.devices.device import resolve_device
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError, MeasurementError
from secateur.export.onnx import export_onnx, need, onnx_inputs, onnx_session
from secateur.export.quantise import QUANTISERS
from secateur.export.scored import FILES


def check_setup(setup: Setup) -> torch.device:
    """The device that `setup` is for, where it can be measured here.

    Raises ConfigurationError for settings out of range and for a device that is not there or does not have the runtime,
    MissingExtraError where the runtime's libraries are not installed.
    """
    where = resolve_device(setup.check().device)
    if setup.runtime != "torch" and where.type != "cpu":
        raise ConfigurationError(
            f"`runtime` {setup.runtime} can only be measured on the CPU, got device {where}. Use runtime torch."
        )
    if setup.exported:
        need("onnx", "onnxscript", "onnxruntime")
    return where


def runtime_version(runtime: str) -> str:
    """The runtime with its library's version, as it enters fingerprints: `torch 2.9.1`, `onnx-int8, onnxruntime 1.22.0`."""
    if runtime.startswith("onnx"):
        return f"{runtime}, onnxruntime {metadata.version('onnxruntime')}"
    return f"{'' if runtime == 'torch' else runtime + ', '}torch {torch.__version__}"


@contextmanager
def running(model: nn.Module, inputs: Mapping[str, Tensor], setup: Setup) -> Iterator[Callable[[], object]]:
    """Yield a function that runs `model` once on `inputs` by the setup's runtime. Files of an export are gone afterwards.

    No runtime keeps a cache of keys and values. ONNX Runtime's thread count is fixed when its session is made, so it is
    needed here; torch's is the caller's to set.
    """
    options = no_cache(model)
    if setup.runtime == "torch":
        yield lambda: model(**inputs, **options)
    elif setup.runtime == "torch-int8":
        small = int8_copy(model)
        yield lambda: small(**inputs, **options)
    else:
        with tempfile.TemporaryDirectory(prefix="secateur-onnx-") as folder:
            session = onnx_session(exported(model, Path(folder), setup), setup.threads)
            feed = onnx_inputs(session, inputs)
            yield lambda: session.run(None, feed)


def exported(model: nn.Module, folder: Path, setup: Setup) -> Path:
    """The network as the file that the setup's runtime reads. Raises MeasurementError for one that is not of transformers."""
    if not hasattr(model, "config"):
        name = type(model).__name__
        raise MeasurementError(f"`{name}` cannot be exported: its runtime must be torch or torch-int8, got {setup.runtime}.")
    path, form = export_onnx(model, folder / FILES["onnx"], kind=setup.kind), setup.runtime.removeprefix("onnx-")
    return QUANTISERS[form](path, folder / FILES[form]).path if form in QUANTISERS else path


def int8_copy(model: nn.Module) -> nn.Module:
    """A copy on the CPU whose linear layers hold int8 weights; their inputs are quantised as it runs (dynamically).

    transformers' `Conv1D` (GPT-2's linear layer, stored transposed) becomes a linear layer first. Adaptive embeddings and
    the softmax that shares their tables stay as they are. Raises MeasurementError where this
    torch has no kernels for it.
    """
    small = copy.deepcopy(model).cpu().float().eval()
    for parent in list(small.modules()):
        for name, child in list(parent.named_children()):
            if type(child).__name__ == "Conv1D":
                setattr(parent, name, _linear_of(child))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces to move this to another package
        try:
            from torch.ao.quantization import default_dynamic_qconfig, quantize_dynamic

            layers = dict.fromkeys(_called_layers(small), default_dynamic_qconfig)
            quantised: nn.Module = quantize_dynamic(small, layers, dtype=torch.qint8, inplace=True)
        except (ImportError, RuntimeError) as error:
            raise MeasurementError(
                f"`runtime` torch-int8 does not work with torch {torch.__version__} on this machine "
                f"({' '.join(str(error).split())[:120]}). Use onnx-int8."
            ) from error
    return quantised


def _called_layers(model: nn.Module) -> list[str]:
    """The names of the linear layers that are only ever called. An adaptive embedding also reads its projections' weights."""
    read = {id(inside) for module in model.modules() if isinstance(module, Vectors) for inside in module.modules()}
    return [name for name, module in model.named_modules() if isinstance(module, nn.Linear) and id(module) not in read]


def _linear_of(layer: Any) -> nn.Linear:
    """The linear layer that computes what a `Conv1D` (weight (in, out), bias (out,)) does."""
    inside, outside = layer.weight.shape
    linear = nn.Linear(inside, outside, bias=True, device="meta")
    linear.weight = nn.Parameter(layer.weight.detach().t().contiguous(), requires_grad=False)
    linear.bias = nn.Parameter(layer.bias.detach().clone(), requires_grad=False)
    return linear
