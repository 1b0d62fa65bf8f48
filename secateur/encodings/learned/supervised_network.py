"""arch2vec's encoder with a value in the place of the decoder. Imports torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from secateur.encodings.learned.graph_encoder import GraphEncoder
from secateur.encodings.learned.supervised_settings import SupervisedSettings


class Regressor(GraphEncoder):
    """Graphs to a vector, and two dense layers from there to one number."""

    centre: Tensor
    deviation: Tensor

    def __init__(self, operations: int, settings: SupervisedSettings) -> None:
        super().__init__(operations, settings)
        self.head = nn.Sequential(nn.Linear(settings.latent, settings.width), nn.ReLU(), nn.Linear(settings.width, 1))
        self.register_buffer("centre", torch.zeros(()))
        self.register_buffer("deviation", torch.ones(()))

    def standardise(self, targets: Tensor) -> None:
        """Learn from now on targets that these (n,) are some of, with mean 0 and deviation 1."""
        spread = targets.std(correction=0)
        self.centre, self.deviation = targets.mean(), torch.where(spread > 0, spread, 1.0)

    def forward(self, edges: Tensor, operations: Tensor) -> Tensor:
        """The targets (b,) of graphs, standardised."""
        head: Tensor = self.head(self.pooled(self.mean(self.values(edges, operations)), operations))
        return head.squeeze(1)

    def loss(self, edges: Tensor, operations: Tensor, targets: Tensor) -> Tensor:
        """The mean squared error of standardised targets (b,)."""
        return mse_loss(self(edges, operations), (targets - self.centre) / self.deviation)
