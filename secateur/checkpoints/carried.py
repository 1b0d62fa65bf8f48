"""Weights that are in memory already: files of a checkpoint as arrays of bytes, which a cluster's nodes can share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

#: The types of safetensors → those of torch, by name.
_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32"}
_TYPES |= {"I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool"}


def carry(folders: Iterable[Path]) -> dict[str, np.ndarray]:
    """File → its bytes, of the weights in these checkpoint folders. They are mapped: nothing is read yet."""
    files = [file for folder in folders for file in sorted(folder.absolute().glob("model*.safetensors"))]
    return {str(file): np.asarray(np.memmap(file, dtype=np.uint8, mode="r")) for file in files}


def carried(folder: str | Path, weights: Mapping[str, np.ndarray]) -> dict[str, Any] | None:
    """The tensors of a checkpoint folder, copied out of the arrays that were carried; None where its files are not there.

    They are copies: a worker that trains must not change what others read.
    """
    files = [array for name, array in weights.items() if Path(name).parent == Path(folder).absolute()]
    return {name: tensor for array in files for name, tensor in _tensors(array)} or None


def _tensors(file: np.ndarray) -> Iterable[tuple[str, Any]]:
    """Name and tensor of each in the bytes of a safetensors file: a length, a header of JSON, and all numbers."""
    import torch

    length = int.from_bytes(file[:8].tobytes(), "little")
    header = json.loads(file[8 : 8 + length].tobytes())
    for name, said in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in said["data_offsets"])
        numbers = torch.from_numpy(file[begin:end].copy())  # also aligned, which a slice need not be
        yield name, numbers.view(getattr(torch, _TYPES[said["dtype"]])).reshape(said["shape"])
