"""Eight-bit and four-bit weights for an ONNX file."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.errors import ExportError, one_line
from secateur.export.onnx import need

#: How many weights in a row share a scale and a zero of their own in a four-bit file.
BLOCK = 32
#: Four-bit matrix products compute with eight-bit integers, as onnxruntime's documentation advises for speed on a CPU.
INTEGERS = 4


@dataclass(frozen=True)
class Quantised:
    """`ratio` is the new file's size over the old one's. Constant-filled weights are stored once: judge on real ones only."""

    path: Path
    ratio: float


def quantise_int8(source: str | Path, target: str | Path) -> Quantised:
    """Write `source` with int8 weights, one scale per output channel; activations are quantised as it runs (dynamically)."""
    need("onnx", "onnxruntime")
    source, target = Path(source), Path(target)
    with _graph_of(source) as (graph, beside):
        from onnxruntime.quantization import QuantType, quantize_dynamic

        # The quantiser turns weights over; the shapes that the exporter noted for them would then be taken for a contradiction.
        del graph.graph.value_info[:]
        quantize_dynamic(graph, target, weight_type=QuantType.QInt8, per_channel=True, use_external_data_format=beside)
    return Quantised(target, _size(target) / _size(source))


def quantise_int4(source: str | Path, target: str | Path) -> Quantised:
    """Write `source` with four-bit weights in matrix products and embeddings, a scale and a zero for each block of them."""
    need("onnx", "onnxruntime", "onnx_ir")
    source, target = Path(source), Path(target)
    with _graph_of(source) as (graph, beside):
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        quantiser = MatMulNBitsQuantizer(
            graph, bits=4, block_size=BLOCK, accuracy_level=INTEGERS, op_types_to_quantize=("MatMul", "Gather")
        )
        quantiser.process()
        quantiser.model.save_model_to_file(str(target), beside)
    return Quantised(target, _size(target) / _size(source))


#: Form → what writes it out of an ONNX file.
QUANTISERS: dict[str, Callable[[Path, Path], Quantised]] = {"int8": quantise_int8, "int4": quantise_int4}


@contextmanager
def _graph_of(source: Path) -> Iterator[tuple[Any, bool]]:
    """The file's graph, and whether its weights lie beside it. What a quantiser raises becomes an ExportError, and what it
    warns of (its own pre-processing, on the root logger) is not shown."""
    import onnx

    if not source.is_file():
        raise ExportError(f"`{source}` is not a file: quantisation needs an ONNX file.")
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        yield onnx.load(source), source.with_name(source.name + ".data").exists()
    except Exception as error:  # protobuf's and the quantiser's kinds: all mean that this file is no graph it understands
        raise ExportError(f"`{source}` could not be quantised: {one_line(error)}.") from error
    finally:
        root.setLevel(level)


def _size(path: Path) -> int:
    """Bytes of the graph and of the weights beside it."""
    beside = path.with_name(path.name + ".data")
    return path.stat().st_size + (beside.stat().st_size if beside.exists() else 0)
