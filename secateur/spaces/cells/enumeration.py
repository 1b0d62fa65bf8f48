"""The keys of a large space's cells, computed once and kept in the user's cache folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from secateur.writing import whole

#: Fewer are computed faster than a file is worth.
WORTH_KEEPING = 10_000
#: Bytes of a key: an MD5 sum.
WIDTH = 16


def cache_folder() -> Path:
    """Where what can be computed again is kept: `secateur` in the folder that `XDG_CACHE_HOME` names, by default `~/.cache`."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if Path(named).is_absolute() else Path.home() / ".cache") / "secateur"


def kept_keys(name: str, count: int, compute: Callable[[], Iterable[str]]) -> Iterator[str]:
    """The `count` keys, 32 hexadecimal digits each, of the file of this name, or computed where there is none that fits."""
    if count < WORTH_KEEPING:
        yield from compute()
        return
    path = cache_folder() / f"{name}.npy"
    found = _read(path, count)
    if found is None:
        found = np.frombuffer(bytes.fromhex("".join(compute())), dtype=np.uint8).reshape(count, WIDTH)
        with suppress(OSError), whole(path) as draft, draft.open("wb") as file:  # a full or read-only disk costs time only
            np.save(file, found, allow_pickle=False)
    for row in found:
        yield row.tobytes().hex()


def _read(path: Path, count: int) -> np.ndarray | None:
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    fits = isinstance(found, np.ndarray) and found.dtype == np.uint8 and found.shape == (count, WIDTH)
    return found if fits else None
