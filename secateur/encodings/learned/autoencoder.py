"""The variational graph isomorphism autoencoder of arch2vec (Yan 2022, section 3.3), or one with graph convolutions or without
noise. Imports torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from secateur.encodings.learned.arch2vec_settings import Arch2vecSettings
from secateur.encodings.learned.graph_encoder import GraphEncoder


class Autoencoder(GraphEncoder):
    """Graphs to a latent vector per node, and back: operations linear in it, edges by the products of two."""

    s: Arch2vecSettings

    def __init__(self, operations: int, settings: Arch2vecSettings) -> None:
        super().__init__(operations, settings.resolved())
        self.spread = nn.Linear(self.mean.in_features, self.s.latent) if self.s.variational else None
        self.decoder = nn.Linear(self.s.latent, operations)

    def encode(self, edges: Tensor, operations: Tensor) -> tuple[Tensor, Tensor | None]:
        """The means and what stands for the deviations, None where there are none, both (b, nodes, latent), of graphs whose
        edges (b, nodes, nodes) go one way."""
        values = self.values(edges, operations)
        return self.mean(values), None if self.spread is None else self.spread(values)

    def decode(self, latent: Tensor) -> tuple[Tensor, Tensor]:
        """The logits of edges (b, nodes, nodes) and operations (b, nodes, operations)."""
        return latent @ latent.transpose(1, 2), self.decoder(latent)

    def variance(self, spread: Tensor) -> Tensor:
        """The logarithm of the variance."""
        return 2 * spread if self.s.log_deviation else spread

    def divergence(self, means: Tensor, spread: Tensor) -> Tensor:
        """The Kullback-Leibler divergence (b, nodes) of each node from the standard normal distribution."""
        variance = self.variance(spread)
        return (means.square() + variance.exp() - 1 - variance).sum(dim=2) / 2

    def loss(self, edges: Tensor, operations: Tensor, noise: torch.Generator) -> Tensor:
        """The negative lower bound, weighted: cross-entropy per node and per entry of the matrix, and the divergence per node.

        Edges count above the diagonal, where a cell has them. In evaluation mode there is no noise, and where it is not
        variational neither noise nor divergence.
        """
        means, spread = self.encode(edges, operations)
        latent = means
        if self.training and spread is not None:
            latent = latent + (self.variance(spread) / 2).exp() * torch.randn(means.shape, generator=noise, device=means.device)
        if self.training and self.s.dropout:
            kept = torch.rand(means.shape, generator=noise, device=means.device) >= self.s.dropout
            latent = latent * kept / (1 - self.s.dropout)
        edge_logits, operation_logits = self.decode(latent)
        if self.s.operations == "softmax":
            named = -(operations * operation_logits.log_softmax(dim=2)).sum(dim=2).mean()
        else:
            named = binary_cross_entropy_with_logits(operation_logits, operations)
        each = binary_cross_entropy_with_logits(edge_logits, edges, reduction="none").triu(1)
        rebuilt = named + self.s.edge_weight * each.mean()
        if spread is None:
            return rebuilt
        divergence = self.divergence(means, spread).mean()
        if self.s.kl_rescaled:
            divergence = divergence / (len(edges) * edges.shape[1])
        return rebuilt + self.s.kl_weight * divergence
