"""Graphs to a vector per node, and per graph: what arch2vec and its baselines have in common. Imports torch."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor, nn

from secateur.encodings.learned.network import Embedder


class GraphSettings(Protocol):
    """What the encoder is made with: see `Arch2vecSettings`."""

    @property
    def width(self) -> int: ...
    @property
    def layers(self) -> int: ...
    @property
    def latent(self) -> int: ...
    @property
    def graph(self) -> str: ...
    @property
    def narrow(self) -> bool: ...
    @property
    def pooling(self) -> str: ...


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


class Convolution(nn.Module):
    """A graph convolution (Kipf & Welling 2016): a dense layer, normalised and rectified, on the sum of a node and its
    neighbours, weighted by degrees."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.dense = nn.Sequential(nn.Linear(before, after, bias=False), nn.BatchNorm1d(after), nn.ReLU())

    def forward(self, values: Tensor, along: Tensor) -> Tensor:
        """Values (b, nodes, before) to (b, nodes, after), with messages along matrices (b, nodes, nodes) of `by_degrees`."""
        out: Tensor = self.dense((along @ values).flatten(0, 1))
        return out.reshape(*values.shape[:2], -1)


#: Setting → layer.
LAYERS: dict[str, type[GraphLayer | Convolution]] = {"gin": GraphLayer, "gcn": Convolution}


def by_degrees(along: Tensor) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 of symmetric matrices A (b, nodes, nodes), with the degrees D of A + I."""
    looped = along + torch.eye(along.shape[1], dtype=along.dtype, device=along.device)
    scale = looped.sum(dim=2).rsqrt()
    return scale[:, :, None] * looped * scale[:, None, :]


class GraphEncoder(Embedder):
    """Graph layers, then a dense one that gives a node's vector; their sum over nodes is that of the graph."""

    s: GraphSettings

    def __init__(self, operations: int, settings: GraphSettings) -> None:
        super().__init__(settings.latent)
        widths = [operations, *[settings.width] * settings.layers, *[settings.latent] * settings.narrow]
        self.s = settings
        self.layers = nn.ModuleList(LAYERS[settings.graph](*two) for two in pairwise(widths))
        self.mean = nn.Linear(widths[-1], settings.latent)

    def values(self, edges: Tensor, operations: Tensor) -> Tensor:
        """What the last layer gives (b, nodes, its width) for graphs whose edges (b, nodes, nodes) go one way."""
        along, values = edges + edges.transpose(1, 2), operations
        if self.s.graph == "gcn":
            along = by_degrees(along)
        for layer in self.layers:
            values = layer(values, along)
        return values

    def pooled(self, means: Tensor, operations: Tensor) -> Tensor:
        """Vectors (b, latent) of graphs out of their nodes' (b, nodes, latent): the sum over nodes that are there, or, as
        published, the mean over all places."""
        there = operations.sum(dim=2, keepdim=True)
        return means.mean(dim=1) if self.s.pooling == "mean" else (means * there).sum(dim=1)

    def embed(self, means: Tensor, operations: Tensor) -> Tensor:
        """The embeddings (b, latent) of graphs out of their nodes' means: pooled, shifted and scaled."""
        return self.scaled(self.pooled(means, operations))
