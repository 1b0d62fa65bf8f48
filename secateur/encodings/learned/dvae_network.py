"""The network of D-VAE: graphs are read and written node by node, each after those that it takes from. Imports torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, one_hot, pad

from secateur.encodings.learned.dvae_settings import DvaeSettings
from secateur.encodings.learned.network import Embedder


class Message(nn.Module):
    """What a node's state (…, width) tells the nodes that take from it: a linear map of it, each unit through a gate."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate, self.map = nn.Linear(width, width), nn.Linear(width, width, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        told: Tensor = self.gate(states).sigmoid() * self.map(states)
        return told


class Reader(nn.Module):
    """One pass over graphs: a node's state is that of a gated recurrent unit, of its operation and the sum of what it takes."""

    def __init__(self, operations: int, width: int) -> None:
        super().__init__()
        self.cell, self.message = nn.GRUCell(operations, width), Message(width)

    def forward(self, edges: Tensor, operations: Tensor) -> Tensor:
        """The states (b, width) of the ends of graphs, nodes that none takes from: their sum where there are several.

        Edges (b, nodes, nodes) go forward; operations (b, nodes, operations) are zero where a node is absent.
        """
        states: list[Tensor] = []
        told = operations.new_zeros(len(edges), 0, self.cell.hidden_size)
        for node in range(edges.shape[1]):
            taken = (edges[:, :node, node, None] * told).sum(dim=1)
            states.append(self.cell(operations[:, node], taken))
            told = torch.cat([told, self.message(states[-1])[:, None]], dim=1)
        ends = operations.sum(dim=2) * (edges.sum(dim=2) == 0)
        return (ends[:, :, None] * torch.stack(states, dim=1)).sum(dim=1)


class Writer(nn.Module):
    """Graphs out of latent vectors: each node's operation, by the state of the node before it, then its edges from the nodes
    before it, the last first, by the two states.

    A node's state is that of a gated recurrent unit, as when graphs are read, of its operation and its place: it cannot know
    its place otherwise unless each node takes from the one before. One that takes from none, as the first, takes the latent
    vector's state.
    """

    places: Tensor

    def __init__(self, nodes: int, operations: int, width: int, latent: int) -> None:
        super().__init__()
        self.register_buffer("places", torch.eye(nodes), persistent=False)
        self.operations = operations
        self.start = nn.Linear(latent, width)
        self.cell, self.message = nn.GRUCell(operations + nodes, width), Message(width)
        #: One more than operations: there is no node.
        self.name = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, operations + 1))
        # a dense layer of two states side by side
        self.source, self.target = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.join = nn.Linear(width, 1)

    def edge(self, source: Tensor, target: Tensor) -> Tensor:
        """The logits (…) of edges between nodes of these states (…, width)."""
        logits: Tensor = self.join((self.source(source) + self.target(target)).relu())
        return logits.squeeze(-1)

    def given(self, operations: Tensor, node: int) -> Tensor:
        """What nodes of these operations (b, operations) in one place are made of (b, operations + nodes)."""
        return torch.cat([operations, self.places[node].expand(len(operations), -1)], dim=1)

    def forward(self, latent: Tensor, edges: Tensor, operations: Tensor) -> tuple[Tensor, Tensor]:
        """The logits of edges (b, nodes, nodes) and names (b, nodes, operations + 1) of given graphs, each decision after all
        before it were as the graph has them. Edges that do not go forward have none: zero."""
        start = self.start(latent).tanh()
        nodes, last, names, joined = len(self.places), start, [], []
        told = states = start.new_zeros(len(start), 0, start.shape[1])
        for node in range(nodes):
            names.append(self.name(last))
            into = edges[:, :node, node].flip(1)
            # how many it takes from, and what, after none, one, … of the questions
            count, total = pad(into.cumsum(dim=1), (1, 0)), pad((into[..., None] * told.flip(1)).cumsum(dim=1), (0, 0, 1, 0))
            taken = torch.where(count[..., None] > 0, total, start[:, None])
            given = self.given(operations[:, node], node)[:, None].expand(-1, node + 1, -1)
            found = self.cell(given.flatten(0, 1), taken.flatten(0, 1)).reshape(taken.shape)
            joined.append(pad(self.edge(states, found[:, :node].flip(1)), (0, nodes - node)))
            last = found[:, node]
            states = torch.cat([states, last[:, None]], dim=1)
            told = torch.cat([told, self.message(last)[:, None]], dim=1)
        return torch.stack(joined, dim=2), torch.stack(names, dim=1)

    def write(self, latent: Tensor) -> tuple[Tensor, Tensor]:
        """The graphs of latent vectors (b, latent), by the likeliest of each decision: edges (b, nodes, nodes), true and false,
        and the places (b, nodes) of operations, −1 from where a graph has ended."""
        start = self.start(latent).tanh()
        nodes, last, there = len(self.places), start, torch.ones(len(start), dtype=torch.bool, device=start.device)
        edges = torch.zeros(len(start), nodes, nodes, dtype=torch.bool, device=start.device)
        places, states, told = [], list[Tensor](), list[Tensor]()
        for node in range(nodes):
            named = self.name(last).argmax(dim=1)
            there = there & (named < self.operations)
            places.append(named.where(there, -1))
            given = self.given(one_hot(named, self.operations + 1)[:, :-1].to(start), node)
            last, total = self.cell(given, start), torch.zeros_like(start)
            for earlier in reversed(range(node)):
                edges[:, earlier, node] = joined = there & (self.edge(states[earlier], last) > 0)
                total = total + joined[:, None] * told[earlier]
                last = self.cell(given, torch.where(edges[:, :, node].any(dim=1, keepdim=True), total, start))
            states.append(last)
            told.append(self.message(last))
        return edges, torch.stack(places, dim=1)


class DagAutoencoder(Embedder):
    """Graphs to one latent vector each, and back."""

    def __init__(self, nodes: int, operations: int, settings: DvaeSettings) -> None:
        super().__init__(settings.latent)
        self.s = s = settings
        self.forwards = Reader(operations, s.width)
        self.backwards = Reader(operations, s.width) if s.bidirectional else None
        read = s.width * (1 + s.bidirectional)
        self.mean, self.spread = nn.Linear(read, s.latent), nn.Linear(read, s.latent)
        self.writer = Writer(nodes, operations, s.width, s.latent)

    def encode(self, edges: Tensor, operations: Tensor) -> tuple[Tensor, Tensor]:
        """The means and the logarithms of the variances, both (b, latent)."""
        read = self.forwards(edges, operations)
        if self.backwards is not None:
            back = self.backwards(edges.transpose(1, 2).flip(1, 2), operations.flip(1))
            read = torch.cat([read, back], dim=1)
        return self.mean(read), self.spread(read)

    def loss(self, edges: Tensor, operations: Tensor, noise: torch.Generator) -> Tensor:
        """The negative lower bound per graph, its divergence weighted: cross-entropies of all decisions, summed."""
        means, variance = self.encode(edges, operations)
        drawn = torch.randn(means.shape, generator=noise, device=means.device)
        latent = means + self.s.noise * (variance / 2).exp() * drawn
        edge_logits, name_logits = self.writer(latent, edges, operations)
        there = operations.sum(dim=2)
        # no node is a name too, asked for once: after the last node
        names = torch.cat([operations, 1 - there[..., None]], dim=2).argmax(dim=2)
        named = cross_entropy(name_logits.transpose(1, 2), names, reduction="none")
        named = (named * pad(there[:, :-1], (1, 0), value=1.0)).sum(dim=1)
        joined = binary_cross_entropy_with_logits(edge_logits, edges, reduction="none").triu(1)
        joined = (joined * there[:, None]).sum(dim=(1, 2))
        divergence = (means.square() + variance.exp() - 1 - variance).sum(dim=1) / 2
        return (named + joined + self.s.kl_weight * divergence).mean()
