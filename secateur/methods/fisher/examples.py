"""The training examples that masks are chosen and tuned on."""

from __future__ import annotations

import torch

from secateur.methods.base import Bench
from secateur.methods.ordering import scored_part

#: Those that the information is computed on, as in the paper, and those that masks are tuned on: eight times as many tuned
#: them no better (MiniLM-L6 on STS-B).
SCORED, TUNED = 2048, 256


def tuning_batches(bench: Bench) -> list[dict[str, torch.Tensor]]:
    """On the bench's device."""
    some = bench.data.batches(scored_part(bench, TUNED), 32)
    return [{name: value.to(bench.device) for name, value in batch.items()} for batch in some]
