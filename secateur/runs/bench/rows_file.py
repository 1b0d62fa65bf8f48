"""Rows of results in one Parquet file, which grows: what is there is not computed again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from secateur.errors import ConfigurationError, DataError, MissingExtraError
from secateur.paths import reason
from secateur.study import RunLock
from secateur.tasks import files
from secateur.writing import check_writable, remove, whole

if TYPE_CHECKING:
    import pandas


class RowsFile:
    """The rows of a file and those added since; a column `cell` says which experiment a row is of. Write it at the end."""

    def __init__(self, path: Path) -> None:
        self.check()
        import pandas as pd

        self.path = path
        self.frame: pandas.DataFrame = files.read_table(path) if path.is_file() else pd.DataFrame({"cell": []}, dtype=object)
        if "cell" not in self.frame:
            raise DataError(f"`{path}` was not written by this command: it has no column `cell`. Name another folder.")
        self._known = set(self.frame["cell"])
        self._new: list[Mapping[str, Any]] = []

    @staticmethod
    def check() -> None:
        """Raise MissingExtraError where such files can be neither read nor written."""
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise MissingExtraError("pyarrow", "parquet") from None

    def __contains__(self, cell: str) -> bool:
        return cell in self._known

    def add(self, cell: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take the rows of a cell that has ended."""
        self._known.add(cell)
        self._new += [{"cell": cell, **row} for row in rows]

    def of(self, cells: Sequence[str]) -> pandas.DataFrame:
        """The rows of these cells, in this order."""
        self.write()
        order = {cell: place for place, cell in enumerate(cells)}
        found = self.frame[self.frame["cell"].isin(order)]
        return found.iloc[found["cell"].map(order).argsort(kind="stable")]

    def write(self) -> None:
        """Write what was added."""
        if not self._new:
            return
        import pandas as pd

        added = pd.DataFrame(self._new)
        self.frame = added if self.frame.empty else pd.concat([self.frame, added], ignore_index=True)
        self._new = []
        with whole(self.path) as draft:
            self.frame.to_parquet(draft, index=False, compression="zstd")


class SafeRowsFile(RowsFile):
    """What is added also goes at once to a file of lines beside it, which a process that is killed leaves to the next one."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.lines = path.with_suffix(".jsonl")
        for line in self.lines.read_text(encoding="utf-8").splitlines() if self.lines.is_file() else ():
            with suppress(ValueError):  # it was being written
                cell, rows = json.loads(line)
                if cell not in self:
                    super().add(cell, rows)

    @classmethod
    @contextmanager
    def within(cls, folder: Path, name: str) -> Iterator[Self]:
        """The file of a folder, which is made and in which no other process may write meanwhile.

        Raises ConfigurationError where nothing can be written there, StudyError where another process does.
        """
        try:
            check_writable(folder)
        except OSError as error:
            raise ConfigurationError(f"`to` cannot be written: `{folder}`: {reason(error)}.") from error
        with RunLock(folder):
            yield cls(folder / name)

    def add(self, cell: str, rows: Sequence[Mapping[str, Any]]) -> None:
        with self.lines.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps([cell, rows]))  # it begins a line also where the one before was not ended
        super().add(cell, rows)

    def write(self) -> None:
        super().write()
        remove(self.lines)
