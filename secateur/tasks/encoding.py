"""Text files as text, whatever wrote them: UTF-8, UTF-16 or UTF-32, plain or compressed."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from secateur.errors import DataError, one_line
from secateur.paths import reason, regular

#: What a file begins with → its encoding. UTF-32's mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Bytes that are looked at to tell the encoding.
_LOOK = 4096


class _ZeroByteError(ValueError):
    """A character that no text has."""


class _Text(io.TextIOWrapper):
    """Text that ends with an error where a zero byte comes: readers would take it for the end of a field or of the file."""

    def read(self, size: int | None = -1, /) -> str:
        return _sound(super().read(size))

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # also what iterating calls
        return _sound(super().readline(size))


def _sound(text: str) -> str:
    if "\0" in text:
        raise _ZeroByteError("it has zero bytes, as binary files do")
    return text


@contextlib.contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """The file, or what is compressed in it (.gz), as text with its line ends. What goes wrong in reading is a DataError."""
    if not regular(path):
        raise DataError(f"`{path}` is not a file.")
    try:
        with contextlib.ExitStack() as stack:
            data: IO[bytes] = stack.enter_context(path.open("rb"))
            if path.name.lower().endswith(".gz"):
                data = stack.enter_context(gzip.GzipFile(fileobj=data))  # type: ignore[arg-type]
            buffered = io.BufferedReader(data, _LOOK)  # type: ignore[type-var]
            text = stack.enter_context(_Text(buffered, encoding=_encoding(buffered.peek(_LOOK)[:_LOOK]), newline=""))
            try:
                yield text
            except UnicodeDecodeError as error:
                place = buffered.tell() - len(error.object) + error.start
                raise _undecoded(path, f"{error.reason} at byte {place:,}") from None
            except _ZeroByteError as error:
                raise _undecoded(path, str(error)) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"`{path}` is not a valid .gz file: {one_line(error)}.") from None
    except OSError as error:
        raise DataError(f"`{path}` cannot be read: {reason(error)}.") from None


def _undecoded(path: Path, why: str) -> DataError:
    return DataError(f"`{path}` is neither UTF-8 nor UTF-16 ({why}). Convert it, for example: iconv -f latin1 -t utf-8.")


def _encoding(head: bytes) -> str:
    """The encoding of a file that begins so. UTF-16 without its mark shows by zeros in every other byte."""
    marked = next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)
    if marked is not None:
        return marked
    first, second = head[::2].count(0), head[1::2].count(0)
    few = max(1, len(head) // 20)
    if second >= few and not first:
        return "utf-16-le"
    return "utf-16-be" if first >= few and not second else "utf-8-sig"  # spreadsheets mark UTF-8, too
