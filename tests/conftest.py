"""Property tests draw the same examples in every run; `HYPOTHESIS_PROFILE=explore pytest` draws new ones, and more of them."""

from __future__ import annotations

import os

# Toys are too small to share among threads: waiting for each other takes most of the time, above all on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
