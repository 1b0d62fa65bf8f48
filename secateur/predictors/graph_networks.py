"""Networks on dense batches of graphs, several trained at once. Imported only on use: torch takes seconds to load."""

from __future__ import annotations

from copy import copy
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import huber_loss

from secateur.encodings.graph import Shape
from secateur.rng import Generator

Layer = Literal["gcn", "gin"]
#: Graphs that pass through the networks at once.
CHUNK = 2048
#: Of AdamW.
RATE, DECAY = 0.01, 1.0
#: Errors beyond this count by their size, not their square: ranks are a little better so.
LARGE = 0.3


class Graphs(NamedTuple):
    """Cells one below the other, c of each architecture: operations (n · c, nodes, operations), the matrices that messages go
    along (n · c, nodes, nodes), and which nodes are there (n · c, nodes, 1)."""

    operations: Tensor
    along: tuple[Tensor, ...]
    there: Tensor


def unflattened(vectors: np.ndarray, shape: Shape, layer: Layer) -> Graphs:
    """Graphs from vectors (n, d), with messages along and against the edges.

    For `gcn` each way has its own matrix, with loops, each edge divided by the root of the degrees at both ends; for `gin` both
    ways are summed in one.
    """
    edges, operations = (torch.as_tensor(part, dtype=torch.float32) for part in shape.matrices(vectors))
    there = operations.sum(dim=2, keepdim=True)
    if layer == "gin":
        return Graphs(operations, (edges + edges.transpose(1, 2),), there)
    looped = edges + torch.diag_embed(there[:, :, 0])
    out, into = (looped.sum(dim=way, keepdim=True).clamp(min=1).rsqrt() for way in (2, 1))
    scaled = out * looped * into
    return Graphs(operations, (scaled, scaled.transpose(1, 2)), there)


class GraphNetworks:
    """Networks of one shape side by side, their weights (members, in, out) and biases (members, 1, out).

    `gcn` (Wen et al. 2020): a layer has weights for each way of the edges, and nodes are averaged in the end. `gin` (Xu et al.
    2019): a layer is two dense ones on a node plus the sum of its neighbours, and nodes are summed in the end. A dense layer on
    that, all cells of an architecture side by side, gives the embedding; the targets are linear in it.
    """

    def __init__(
        self, shape: Shape, layer: Layer, *, width: int, layers: int, members: int, targets: int, rng: Generator
    ) -> None:
        self.shape, self.layer, self.width, self.layers, self.members = shape, layer, width, layers, members
        widths: list[tuple[int, int]] = []
        for before in [shape.operations] + [width] * (layers - 1):
            widths += [(before, width), (before if layer == "gcn" else width, width)]
        widths += [(width * shape.cells, width), (width, targets)]
        self.weights = [_drawn(members, *two, rng) for two in widths]
        self.biases = [torch.zeros(members, 1, two[1]) for two in widths]

    def embedded(self, graphs: Graphs) -> Tensor:
        """The embeddings (members, n, width)."""
        values = graphs.operations.expand(self.members, *graphs.operations.shape)
        for place in range(0, 2 * self.layers, 2):
            if self.layer == "gcn":
                parts = [self._dense(way @ values, place + i) for i, way in enumerate(graphs.along)]
                values = (parts[0].relu() + parts[1].relu()) / 2
            else:
                values = self._dense(values + graphs.along[0] @ values, place).relu()
                values = self._dense(values, place + 1).relu()
        count = graphs.there.sum(dim=1) if self.layer == "gcn" else self.shape.nodes
        pooled = (values * graphs.there).sum(dim=2) / count
        side_by_side = pooled.reshape(self.members, -1, self.shape.cells * pooled.shape[-1])
        return self._dense(side_by_side, -2).relu()

    def predicted(self, graphs: Graphs) -> Tensor:
        """The targets (members, n, m)."""
        return self._dense(self.embedded(graphs), -1)

    def member(self, place: int) -> GraphNetworks:
        """One of them alone."""
        alone = copy(self)
        alone.members = 1
        alone.weights, alone.biases = [w[place][None] for w in self.weights], [b[place][None] for b in self.biases]
        return alone

    def _dense(self, values: Tensor, place: int) -> Tensor:
        flat = values.reshape(self.members, -1, values.shape[-1])
        out = torch.baddbmm(self.biases[place], flat, self.weights[place])
        return out.reshape(*values.shape[:-1], -1)

    def hidden(self, vectors: np.ndarray) -> np.ndarray:
        """The embeddings (members, k, width) of vectors (k, d)."""
        found = [np.zeros((self.members, 0, self.width))]
        with torch.no_grad():
            for i in range(0, len(vectors), CHUNK):
                found.append(self.embedded(unflattened(vectors[i : i + CHUNK], self.shape, self.layer)).double().numpy())
        return np.concatenate(found, axis=1)


def _drawn(members: int, before: int, after: int, rng: Generator) -> Tensor:
    return torch.as_tensor(rng.standard_normal((members, before, after)) * np.sqrt(2 / before), dtype=torch.float32)


def train(networks: GraphNetworks, vectors: np.ndarray, targets: np.ndarray, shares: np.ndarray, steps: int) -> None:
    """Fit to `targets` (n, m) at `vectors` (n, d) with AdamW on all of them at once; the rate falls to 0.

    `shares` (members, n) are the errors' parts in the loss."""
    graphs = unflattened(vectors, networks.shape, networks.layer)
    goal, parts = (torch.as_tensor(a, dtype=torch.float32) for a in (targets, shares))
    goal = goal.expand(networks.members, *goal.shape)
    every = [*networks.weights, *networks.biases]
    for one in every:
        one.requires_grad_(True)
    optimiser = torch.optim.AdamW(every, lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        optimiser.zero_grad()
        losses = huber_loss(networks.predicted(graphs), goal, reduction="none", delta=LARGE)
        (parts[..., None] * losses).sum().backward()
        optimiser.step()
        schedule.step()
    for one in every:
        one.requires_grad_(False)
