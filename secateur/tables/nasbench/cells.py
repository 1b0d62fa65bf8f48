"""The cells of a published table's rows, made and checked one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, DataError
from secateur.spaces.base import Space


def made(path: Path, space: Space, rows: Iterable[Mapping[str, Any]], each: str = "row") -> list[Architecture]:
    """The architecture of each row's choices. Raises DataError with the row, or what `each` is called, and the rule that its
    cell breaks."""
    found = []
    for row, choices in enumerate(rows, 1):
        try:
            found.append(space.make(choices))
        except ConfigurationError as error:
            raise DataError(f"`{path}`, {each} {row}: {error}") from error
    return found


def spelt(bits: str, ops: Sequence[str]) -> dict[str, Any]:
    """The choices of a cell of NAS-Bench-101 by its matrix, bits row by row, and its operations."""
    values = [int(bit) if bit in "01" else bit for bit in bits]
    return {"matrix": [values[i : i + len(ops)] for i in range(0, len(values), len(ops))], "ops": list(ops)}


def agree(path: Path, architectures: Iterable[Architecture], keys: Iterable[str], each: str = "row") -> None:
    """Raise DataError with the first row whose key is not the hash of its cell."""
    for row, (architecture, key) in enumerate(zip(architectures, keys, strict=True), 1):
        if architecture.key != key:
            raise DataError(f"`{path}`, {each} {row}: its key is `{key}`, but the hash of its cell is `{architecture.key}`.")
