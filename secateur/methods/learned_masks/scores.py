"""Real-valued masks of three levels: layers (the paper's edges), heads and groups of units (operations), single units (rows of
the weights). What is kept is what is above a threshold on every level that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from secateur.spaces.pruning import Shape
from secateur.supernet.step import step

#: Units of a group, about: those of like importance in a layer.
GROUP = 64
#: Where scores of layers and groups begin; those of heads and units begin between 0 and this, by importance.
BEGIN = 1.0


@dataclass(frozen=True)
class Switches:
    """0 or 1 for each head (L, H) and unit (L, U)."""

    heads: torch.Tensor
    units: torch.Tensor

    @property
    def attention(self) -> torch.Tensor:
        """Whether each layer has any head, (L,)."""
        return self.heads.amax(dim=1)

    @property
    def feed_forward(self) -> torch.Tensor:
        """Whether each layer has any unit, (L,)."""
        return self.units.amax(dim=1)

    def masks(self) -> tuple[np.ndarray, np.ndarray]:
        """Heads and units that are kept, as bool."""
        return self.heads.detach().cpu().numpy() > 0.5, self.units.detach().cpu().numpy() > 0.5


class Scores(nn.Module):
    """The scores of a network's parts. Those of heads (L, H) and units (L, U) begin as the ranks of their importance."""

    def __init__(self, shape: Shape, heads: np.ndarray, units: np.ndarray) -> None:
        super().__init__()
        groups = max(1, shape.units // GROUP)
        ranks = units.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
        #: Which group of its layer a unit is in, (L, U).
        self.register_buffer("members", torch.from_numpy(ranks * groups // shape.units))
        #: What `spending` multiplies a broken budget by.
        self.register_buffer("multiplier", torch.zeros(()))
        self.layers = nn.Parameter(torch.full((shape.layers,), BEGIN))
        self.groups = nn.Parameter(torch.full((shape.layers, groups), BEGIN))
        self.heads = nn.Parameter(torch.from_numpy(_ranked(heads)))
        self.units = nn.Parameter(torch.from_numpy(_ranked(units)))

    members: torch.Tensor
    multiplier: torch.Tensor

    def above(self, threshold: float = 0.0) -> Switches:
        """What is above the threshold."""
        layers = step(self.layers - threshold)[:, None]
        groups = step(self.groups - threshold).gather(1, self.members)
        return Switches(layers * step(self.heads - threshold), layers * groups * step(self.units - threshold))


def _ranked(importance: np.ndarray) -> np.ndarray:
    """Ranks among all (L, k) as numbers in (0, BEGIN], the most important the highest."""
    ranks = importance.ravel().argsort(kind="stable").argsort(kind="stable").reshape(importance.shape)
    return ((ranks + 1) * BEGIN / importance.size).astype(np.float32)
