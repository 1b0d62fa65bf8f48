"""What the teacher's layers read and write on a few batches of training data: what blocks are distilled on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from secateur.architecture import digest
from secateur.rng import generator
from secateur.supernet import Supernet
from secateur.supernet.evaluating import in_evaluation_mode
from secateur.supernet.recording import LayerCalls, recorded
from secateur.tasks import TaskData

#: Examples of a batch; fewer where texts are long: the states before all layers of so many tokens are in memory.
BATCH, TOKENS = 32, 32_768


def drawn_batches(data: TaskData, count: int, seed: int) -> list[dict[str, torch.Tensor]]:
    """So many batches of training examples, each of like length, in random order; one of each example where these are few."""
    rng = generator(seed, "zoo")
    order = rng.permutation(len(data.train))
    lengths = np.asarray(data.train.lengths)[order]
    size = max(1, min(BATCH, len(order) // count, int(TOKENS / count / lengths[: count * BATCH].mean())))
    batches = list(data.batches(data.train.chosen(order[: count * size]), size))
    return [batches[place] for place in rng.permutation(len(batches))]


@dataclass(frozen=True)
class Features:
    """Per batch, the hidden states before each layer and after the last, and how layers are called."""

    passes: Sequence[tuple[list[torch.Tensor], LayerCalls]]

    @classmethod
    def of(cls, supernet: Supernet, batches: Sequence[dict[str, torch.Tensor]]) -> Features:
        """Of the whole network, without dropout, on its device."""
        device = next(supernet.model.parameters()).device
        with in_evaluation_mode(supernet.model), torch.no_grad():
            found = [recorded(supernet, {name: value.to(device) for name, value in batch.items()}) for batch in batches]
        return cls(found)

    def __len__(self) -> int:
        return len(self.passes)


def batches_digest(batches: Sequence[dict[str, torch.Tensor]]) -> str:
    """A digest of all that is in batches, their order included."""
    parts = [(name, value) for batch in batches for name, value in sorted(batch.items())]
    return digest(*(f"{name} {tuple(value.shape)}".encode() + value.cpu().numpy().tobytes() for name, value in parts))
