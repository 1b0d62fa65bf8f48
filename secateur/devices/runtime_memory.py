"""What one forward pass needs in the runtime that it is measured in: torch's memory is not that of an int8 or ONNX network."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from secateur.devices.memory import Memory, peak_memory
from secateur.devices.runtime import exported, int8_copy
from secateur.devices.setup import Setup
from secateur.export.onnx import onnx_inputs


def runtime_memory(model: nn.Module, inputs: Mapping[str, Tensor], setup: Setup) -> Memory:
    """The peak of one pass in the setup's runtime: its own weights, and its own results that are alive at once."""
    if setup.runtime == "torch":
        return peak_memory(model, inputs)
    if setup.runtime == "torch-int8":
        small = int8_copy(model)
        found = peak_memory(small, inputs)
        return Memory(found.weights + sum(map(_packed_bytes, small.modules())), found.activations)
    with tempfile.TemporaryDirectory(prefix="secateur-onnx-") as name:
        return onnx_memory(exported(model, Path(name), setup), inputs, Path(name))


def _packed_bytes(module: nn.Module) -> int:
    """Bytes of the weights that a quantised layer keeps packed, and not as parameters."""
    if type(module).__name__ != "LinearPackedParams":
        return 0
    weight, bias = module._weight_bias()  # type: ignore[operator]
    return int(weight.numel() * weight.element_size()) + (0 if bias is None else int(bias.numel() * bias.element_size()))


def onnx_memory(path: Path, inputs: Mapping[str, Tensor], folder: Path) -> Memory:
    """From the graph that ONNX Runtime makes of the file, and the sizes of what its nodes give in one pass. `folder` is for
    what it writes on the way."""
    import onnx
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights")
    options.enable_profiling, options.profile_file_prefix = True, str(folder / "profile")
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    session.run(None, onnx_inputs(session, inputs))
    events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    graph = onnx.load(folder / "optimised.onnx", load_external_data=False).graph
    weights = sum(math.ceil(math.prod(w.dims) * _bytes_of(onnx, w.data_type)) for w in graph.initializer)
    nodes = {node.name: node for node in graph.node}
    ran = [event for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]
    order = [(nodes[name], event["args"]) for event in ran if (name := event["name"].removesuffix("_kernel_time")) in nodes]
    return Memory(weights, _most_alive(order, {value.name for value in graph.output}))


def _bytes_of(onnx: Any, kind: int) -> float:
    if kind in (onnx.TensorProto.INT4, onnx.TensorProto.UINT4):
        return 0.5
    return int(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind)).itemsize)


def _most_alive(order: list[tuple[Any, Mapping[str, Any]]], outputs: set[str]) -> int:
    """The most bytes of results alive at once: each from its node to the last that reads it, outputs to the end."""
    last = {name: step for step, (node, _) in enumerate(order) for name in node.input}
    alive: dict[str, int] = {}
    most = 0
    for step, (node, said) in enumerate(order):
        # A node's results are counted together, under the first of them that is read.
        kept = [name for name in node.output if name in last or name in outputs] or list(node.output)[:1]
        alive[kept[0]] = int(said["output_size"])
        last[kept[0]] = max(last.get(name, step) for name in kept)
        most = max(most, sum(alive.values()))
        for name in [n for n in alive if last[n] <= step and n not in outputs]:
            del alive[name]
    return most
