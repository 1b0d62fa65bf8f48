"""Property tests draw the same examples in every run; `HYPOTHESIS_PROFILE=explore pytest` draws new ones, and more of them.

Toys are computed with one thread: threads that wait for each other cost more than they bring, and most on a busy machine.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch loads, here and in the processes that tests start

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(autouse=True)
def _libraries_are_no_garbage() -> Iterator[None]:
    """What is alive after a test (libraries, mostly) is left out of later collections: each would take a second otherwise."""
    yield
    gc.collect()
    gc.freeze()
