"""Eight-bit weights for an ONNX file."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from secateur.errors import ExportError, one_line
from secateur.export.onnx import need


@dataclass(frozen=True)
class Quantised:
    """`ratio` is the new file's size over the old one's. Constant-filled weights are stored once: judge on real ones only."""

    path: Path
    ratio: float


def quantise_int8(source: str | Path, target: str | Path) -> Quantised:
    """Write `source` with int8 weights, one scale per output channel; activations are quantised as it runs (dynamically)."""
    need("onnx", "onnxruntime")
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    source, target = Path(source), Path(target)
    if not source.is_file():
        raise ExportError(f"`{source}` is not a file: int8 needs an ONNX file.")
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)  # it warns on the root logger about its own pre-processing
    try:
        graph = onnx.load(source)
        # The quantiser turns weights over; the shapes that the exporter noted for them would then be taken for a contradiction.
        del graph.graph.value_info[:]
        beside = source.with_name(source.name + ".data").exists()
        quantize_dynamic(graph, target, weight_type=QuantType.QInt8, per_channel=True, use_external_data_format=beside)
    except Exception as error:  # protobuf's and the quantiser's kinds: all mean that this file is no graph it understands
        raise ExportError(f"`{source}` could not be quantised: {one_line(error)}.") from error
    finally:
        root.setLevel(level)
    return Quantised(target, _size(target) / _size(source))


def _size(path: Path) -> int:
    """Bytes of the graph and of the weights beside it."""
    beside = path.with_name(path.name + ".data")
    return path.stat().st_size + (beside.stat().st_size if beside.exists() else 0)
