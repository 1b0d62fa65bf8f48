"""The variational graph isomorphism autoencoder of arch2vec (Yan 2022, section 3.3). Imports torch."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from secateur.encodings.learned.arch2vec_settings import Arch2vecSettings
from secateur.encodings.learned.network import Embedder


class GraphLayer(nn.Module):
    """A layer of a graph isomorphism network: two dense ones, each normalised and rectified, on (1 + ε) times a node plus the
    sum of its neighbours."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.zeros(()))
        # what is normalised needs no bias
        self.dense = nn.Sequential(
            nn.Linear(before, after, bias=False),
            nn.BatchNorm1d(after),
            nn.ReLU(),
            nn.Linear(after, after, bias=False),
            nn.BatchNorm1d(after),
            nn.ReLU(),
        )

    def forward(self, values: Tensor, along: Tensor) -> Tensor:
        """Values (b, nodes, before) to (b, nodes, after), with messages along the matrices (b, nodes, nodes)."""
        taken = (1 + self.epsilon) * values + along @ values
        out: Tensor = self.dense(taken.flatten(0, 1))
        return out.reshape(*values.shape[:2], -1)


class Autoencoder(Embedder):
    """Graphs to a latent vector per node, and back: operations linear in it, edges by the products of two."""

    def __init__(self, operations: int, settings: Arch2vecSettings) -> None:
        super().__init__(settings.latent)
        self.s = s = settings.resolved()
        widths = [operations, *[s.width] * s.layers, *[s.latent] * s.narrow]
        self.layers = nn.ModuleList(GraphLayer(*two) for two in pairwise(widths))
        self.mean, self.spread = nn.Linear(widths[-1], s.latent), nn.Linear(widths[-1], s.latent)
        self.decoder = nn.Linear(s.latent, operations)

    def encode(self, edges: Tensor, operations: Tensor) -> tuple[Tensor, Tensor]:
        """The means and what stands for the deviations, both (b, nodes, latent), of graphs whose edges (b, nodes, nodes) go
        one way."""
        along, values = edges + edges.transpose(1, 2), operations
        for layer in self.layers:
            values = layer(values, along)
        return self.mean(values), self.spread(values)

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

        Edges count above the diagonal, where a cell has them. In evaluation mode there is no noise.
        """
        means, spread = self.encode(edges, operations)
        latent = means
        if self.training:
            latent = latent + (self.variance(spread) / 2).exp() * torch.randn(means.shape, generator=noise, device=means.device)
            if self.s.dropout:
                kept = torch.rand(means.shape, generator=noise, device=means.device) >= self.s.dropout
                latent = latent * kept / (1 - self.s.dropout)
        edge_logits, operation_logits = self.decode(latent)
        if self.s.operations == "softmax":
            named = -(operations * operation_logits.log_softmax(dim=2)).sum(dim=2).mean()
        else:
            named = binary_cross_entropy_with_logits(operation_logits, operations)
        each = binary_cross_entropy_with_logits(edge_logits, edges, reduction="none").triu(1)
        divergence = self.divergence(means, spread).mean()
        if self.s.kl_rescaled:
            divergence = divergence / (len(edges) * edges.shape[1])
        return named + self.s.edge_weight * each.mean() + self.s.kl_weight * divergence

    def embed(self, means: Tensor, operations: Tensor) -> Tensor:
        """The embeddings (b, latent) of graphs out of their nodes' means: the sum over nodes that are there, or, as published,
        the mean over all places."""
        there = operations.sum(dim=2, keepdim=True)
        pooled = means.mean(dim=1) if self.s.pooling == "mean" else (means * there).sum(dim=1)
        return self.scaled(pooled)
