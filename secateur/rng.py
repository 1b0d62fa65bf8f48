"""Random generators, derived and passed on: nothing in Secateur draws from a global one."""

from __future__ import annotations

import zlib

import numpy as np

Generator = np.random.Generator


def generator(seed: int, *path: int | str) -> Generator:
    """The generator of one purpose: equal (seed, path) give equal streams, different paths independent ones."""
    words = [p if isinstance(p, int) else zlib.crc32(p.encode()) for p in path]
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=tuple(words)))
