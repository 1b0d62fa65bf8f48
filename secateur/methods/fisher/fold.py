"""Stage 5: tuned masks become part of the weights, exactly: a factor on a projection's input is one on its columns."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from secateur.supernet.ghosts import weight_dim


@torch.no_grad()
def fold(projection: nn.Module, factors: np.ndarray) -> None:
    """Scale the part of the projection's input that belongs to each of k heads or units by its factor (k,), in place."""
    weight: nn.Parameter = projection.weight  # type: ignore[assignment]
    dim = weight_dim(projection, "in")
    wide = torch.from_numpy(factors).to(weight).repeat_interleave(weight.shape[dim] // len(factors))
    weight.mul_(wide.unsqueeze(1 - dim))
