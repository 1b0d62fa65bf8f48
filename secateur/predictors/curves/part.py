"""What the parts of a model of curves have in common: they are kept in files without pickles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from secateur.errors import StudyError, one_line
from secateur.writing import whole


class Part(ABC):
    """A part that was fitted."""

    name: ClassVar[str]

    @abstractmethod
    def write(self, stem: Path) -> None:
        """Write it into files that begin with this path."""

    @classmethod
    @abstractmethod
    def read(cls, stem: Path) -> Self:
        """What was written. Raises StudyError where that is not there or is something else."""


class ArraysPart(Part):
    """A part that is a few arrays."""

    @abstractmethod
    def arrays(self) -> Mapping[str, np.ndarray]:
        """The arrays, by the names that `of` takes them by."""

    @classmethod
    @abstractmethod
    def of(cls, **arrays: np.ndarray) -> Self:
        """The part that has these arrays."""

    def write(self, stem: Path) -> None:
        write_arrays(stem, self.arrays())

    @classmethod
    def read(cls, stem: Path) -> Self:
        arrays = read_arrays(stem)
        try:
            return cls.of(**arrays)
        except (TypeError, ValueError, RuntimeError, KeyError) as error:
            raise unfit(stem.with_suffix(".safetensors"), error) from error


def write_arrays(stem: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays into one file."""
    from safetensors.numpy import save_file

    with whole(stem.with_suffix(".safetensors")) as draft:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, draft)


def read_arrays(stem: Path) -> dict[str, np.ndarray]:
    """The arrays of a file. Raises StudyError."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = stem.with_suffix(".safetensors")
    try:
        return dict(load_file(path))
    except (SafetensorError, OSError, ValueError) as error:
        raise unfit(path, error) from error


def unfit(path: Path, error: Exception) -> StudyError:
    """What to say of a file that does not hold what it should."""
    return StudyError(f"`{path}` does not hold a part of a surrogate: {one_line(error)}.")
