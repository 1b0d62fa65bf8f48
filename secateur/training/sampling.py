"""The order of the training examples: from the seed and the epoch alone, so resumed runs and all processes see the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler

from secateur.rng import generator

#: Batches that are shuffled, then sorted by length, together: enough for little padding, few enough for random batches.
_TOGETHER = 50


class EpochSampler(Sampler[int]):
    """Every example once an epoch, in an order that depends on (seed, epoch) only.

    With `lengths` (tokens per example), batches hold examples of like length, and the batch with the longest example comes
    first: memory fails at once or never.
    """

    def __init__(self, size: int, batch_size: int, seed: int, lengths: Sequence[int] | None = None) -> None:
        self.size = size
        self.batch_size = batch_size
        self.seed = seed
        self.lengths = None if lengths is None else np.asarray(lengths)
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by the trainer before each epoch, also when it resumes in the middle of one."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[int]:
        rng = generator(self.seed, "examples", self.epoch)
        order = rng.permutation(self.size)
        if self.lengths is not None:
            together = self.batch_size * _TOGETHER
            parts = [order[start : start + together] for start in range(0, self.size, together)]
            order = np.concatenate([part[np.argsort(-self.lengths[part], kind="stable")] for part in parts])
            whole = self.size // self.batch_size * self.batch_size  # the last batch may be short, and stays last
            batches = order[:whole].reshape(-1, self.batch_size)
            batches = batches[rng.permutation(len(batches))]
            if len(batches):
                longest = int(np.argmax(self.lengths[batches].max(axis=1)))
                batches[[0, longest]] = batches[[longest, 0]]
            order = np.concatenate([batches.reshape(-1), order[whole:]])
        return iter(order.tolist())
