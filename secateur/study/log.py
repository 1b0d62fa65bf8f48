"""`log.jsonl`: what happened in a run, a line of JSON each."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from secateur.errors import StudyError
from secateur.paths import reason


class RunLog:
    """Appends events to a file and flushes each, so that a killed run's log is whole up to its last line."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._file = self.path.open("ab+")
            if self._file.tell() > 0:
                self._file.seek(-1, 2)
                if self._file.read(1) != b"\n":  # a run was killed while it wrote: start on a line of our own
                    self._file.write(b"\n")
        except OSError as error:
            raise StudyError(f"`{self.path}` cannot be written: {reason(error)}.") from error

    def write(self, event: str, /, **fields: Any) -> None:
        """Append one event with its fields (plain JSON; anything else is written as its text)."""
        line = json.dumps({"time": round(time.time(), 3), "event": event, **fields}, default=str)
        try:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise StudyError(
                f"`{self.path}` cannot be written: {reason(error)}. The study itself is stored and can be resumed."
            ) from error

    def close(self) -> None:
        with suppress(OSError):  # what a full disk refused once, it refuses again here; `write` has said so
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
