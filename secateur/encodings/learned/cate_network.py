"""The network of CATE: one encoder for each of a pair, and one for both together (Yan 2022, section 4.3). Imports torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from secateur.encodings.graph import Shape
from secateur.encodings.learned.cate_settings import CateSettings
from secateur.encodings.learned.network import Embedder
from secateur.encodings.learned.transformer import Stack, with_self


class CateNetwork(Embedder):
    """Nodes are tokens: an operation by its place, `masked`, or `absent`. The embedding is the last node's vector.

    Two things are read so that they make sense. The text's mask has a 0 where an edge leads from node i to node j, by which
    the last node, whose vector is the embedding, would attend to nothing: here a node attends to those that lead to it, and to
    itself. Its equation of a layer leaves out the sums and normalisations that every Transformer has, and that its weight decay
    speaks of.
    """

    def __init__(self, shape: Shape, settings: CateSettings) -> None:
        s, directions = settings, 2 if settings.bidirectional else 1
        super().__init__(directions * s.width)
        self.s = s
        self.masked, self.absent = shape.operations, shape.operations + 1
        self.tokens = nn.Embedding(shape.operations + 2, s.width)
        self.places = nn.Embedding(shape.nodes, s.width) if shape.ordered else None
        self.encoder = Stack(s.layers, s.width, s.heads, s.inner)
        self.segments = nn.Embedding(2, directions * s.width)
        self.cross = Stack(s.cross_layers, directions * s.width, s.heads, s.inner)
        self.named = nn.Linear(directions * s.width, shape.operations)

    def contextual(self, tokens: Tensor, seen: Tensor) -> Tensor:
        """The vectors (b, n, dimensions) of nodes: tokens (b, n), of which `seen` (b, n, n) says who attends to whom.

        With both directions, the second half is that of the graph whose edges are turned around.
        """
        values = self.tokens(tokens)
        if self.places is not None:
            values = values + self.places.weight[: tokens.shape[1]]
        found: Tensor = self.encoder(values, seen)
        if self.s.bidirectional:
            found = torch.cat([found, self.encoder(values, seen.transpose(1, 2))], dim=2)
        return found

    def predicted(self, tokens: Tensor, seen: Tensor) -> Tensor:
        """The logits (b, 2, n, operations) of the nodes of pairs: tokens (b, 2, n), `seen` (b, 2, n, n)."""
        b, _, n = tokens.shape
        each = self.contextual(tokens.flatten(0, 1), seen.flatten(0, 1)).reshape(b, 2, n, -1)
        both = (each + self.segments.weight[:, None]).reshape(b, 2 * n, -1)
        there = (tokens != self.absent).reshape(b, 1, 2 * n).expand(b, 2 * n, 2 * n)
        logits: Tensor = self.named(self.cross(both, with_self(there)))
        return logits.reshape(b, 2, n, -1)

    def embed(self, tokens: Tensor, seen: Tensor) -> Tensor:
        """The embeddings (b, dimensions) of graphs: the last node's vector, and the first one's of the graph turned around."""
        nodes = self.contextual(tokens, seen)
        last = (tokens != self.absent).sum(dim=1) - 1
        found = nodes[torch.arange(len(nodes), device=nodes.device), last]
        if self.s.bidirectional:
            found = torch.cat([found[:, : self.s.width], nodes[:, 0, self.s.width :]], dim=1)
        return self.scaled(found)
