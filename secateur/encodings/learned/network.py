"""What the networks of all learners are: modules whose embeddings are shifted and scaled to 0…1. Imports torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Embedder(nn.Module):
    """A network that gives cells embeddings of a length, which predictors want in 0…1."""

    low: Tensor
    range: Tensor

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.register_buffer("low", torch.zeros(dimensions))
        self.register_buffer("range", torch.ones(()))

    @property
    def dimensions(self) -> int:
        """The length of an embedding."""
        return len(self.low)

    def scaled(self, embeddings: Tensor) -> Tensor:
        """Embeddings (b, dimensions), shifted and scaled."""
        return (embeddings - self.low) / self.range

    def scale(self, embeddings: Tensor) -> None:
        """Shift and scale from now on so that these (n, dimensions), which were neither, lie in 0…1. All dimensions are scaled
        alike: distances keep their proportions."""
        low, high = embeddings.amin(dim=0), embeddings.amax(dim=0)
        self.low, self.range = low, (high - low).max().clamp(min=1e-6)
