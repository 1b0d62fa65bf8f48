"""D-VAE against one that reads and writes a graph at a time, node by node; and what it learns of a toy space."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from secateur.encodings import GraphEncoding
from secateur.encodings.learned.cells import Cells
from secateur.encodings.learned.dvae import Dvae
from secateur.encodings.learned.dvae_network import DagAutoencoder, Message, Reader
from secateur.encodings.learned.dvae_settings import DvaeSettings
from secateur.encodings.learned.figures import generated, rebuilt
from secateur.rng import generator
from secateur.spaces.cells import Darts, NasBench101, NasBench201
from secateur.spaces.cells.structures import orders_of

SPACE = NasBench201(merged=False, operations=("none", "nor_conv_3x3"))
GRAPHS = GraphEncoding(SPACE)
VECTORS = GRAPHS.encode(list(SPACE.every()))
SETTINGS = DvaeSettings(width=16, latent=8, batch=16, epochs=4, learning_rate=0.01)

Matrices = tuple[torch.Tensor, torch.Tensor]


def of(space: Any, some: int) -> tuple[Matrices, DagAutoencoder]:
    """Edges and operations of some cells of a space, and a network for them whose decisions are not all alike."""
    encoding = GraphEncoding(space)
    cells = encoding.encode(space.sample_many(some, generator(0)))
    torch.manual_seed(0)
    network = DagAutoencoder(encoding.nodes, encoding.operations, DvaeSettings(width=6, latent=4, noise=0.7)).double()
    for parameter in network.parameters():
        parameter.data.mul_(3)
    edges, operations = (torch.as_tensor(part, dtype=torch.float64) for part in encoding.shape.matrices(cells))
    return (edges, operations), network


#: Cells of few and of many nodes, with two inputs, and with all places taken.
SPACES = [NasBench101(nodes="2..5"), Darts(nodes=2), SPACE]
EACH = pytest.mark.parametrize("space", SPACES, ids=["nasbench101", "darts", "nasbench201"])


def told(message: Message, states: list[torch.Tensor]) -> torch.Tensor:
    """What nodes of these states tell, added up."""
    total = torch.zeros_like(message.map.weight[0])
    for state in states:
        gate = 1 / (1 + torch.exp(-(message.gate.weight @ state + message.gate.bias)))
        total = total + gate * (message.map.weight @ state)
    return total


def step(cell: torch.nn.GRUCell, operation: torch.Tensor, taken: torch.Tensor) -> torch.Tensor:
    """A gated recurrent unit by its formula (Cho et al. 2014, as torch has it)."""
    reset_x, update_x, new_x = (cell.weight_ih @ operation + cell.bias_ih).chunk(3)
    reset_h, update_h, new_h = (cell.weight_hh @ taken + cell.bias_hh).chunk(3)
    update = (update_x + update_h).sigmoid()
    return (1 - update) * (new_x + (reset_x + reset_h).sigmoid() * new_h).tanh() + update * taken


def read(reader: Reader, names: list[torch.Tensor], edges: list[tuple[int, int]]) -> torch.Tensor:
    """The state of the end of one graph, whose nodes are looked at in the order given."""
    states: list[torch.Tensor] = []
    for node, name in enumerate(names):
        states.append(step(reader.cell, name, told(reader.message, [states[x] for x, y in edges if y == node])))
    ends = [state for node, state in enumerate(states) if all(x != node for x, _ in edges)]
    return torch.stack(ends).sum(dim=0)


def one(edges: torch.Tensor, operations: torch.Tensor) -> tuple[list[torch.Tensor], list[tuple[int, int]]]:
    """A graph as a list of operations, of nodes that are there, and a list of edges."""
    return [row for row in operations if row.any()], [(int(x), int(y)) for x, y in edges.nonzero()]


def latent_of(network: DagAutoencoder, edges: torch.Tensor, operations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    names, pairs = one(edges, operations)
    forwards = read(network.forwards, names, pairs)
    assert network.backwards is not None
    last = len(names) - 1
    backwards = read(network.backwards, names[::-1], [(last - y, last - x) for x, y in pairs])
    both = torch.cat([forwards, backwards])
    return network.mean(both), network.spread(both)


def placed(name: torch.Tensor, node: int, nodes: int) -> torch.Tensor:
    """An operation with the node's place."""
    return torch.cat([name, torch.eye(nodes, dtype=name.dtype)[node]])


def name_logits(network: DagAutoencoder, state: torch.Tensor) -> torch.Tensor:
    first, _, second = network.writer.name
    return second.weight @ (first.weight @ state + first.bias).clamp(min=0) + second.bias


def edge_logit(network: DagAutoencoder, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    writer = network.writer
    dense = torch.cat([writer.source.weight, writer.target.weight], dim=1)
    inside = (dense @ torch.cat([source, target]) + writer.source.bias).clamp(min=0)
    return (writer.join.weight @ inside + writer.join.bias)[0]


def surprise(network: DagAutoencoder, latent: torch.Tensor, edges: torch.Tensor, operations: torch.Tensor) -> torch.Tensor:
    """The negative logarithm of the chance of one graph, decision by decision."""
    writer = network.writer
    start = last = torch.tanh(writer.start.weight @ latent + writer.start.bias)
    names, pairs = one(edges, operations)
    states: list[torch.Tensor] = []
    total = torch.zeros(())
    for node, name in enumerate(names):
        total = total - name_logits(network, last).log_softmax(dim=0)[int(name.argmax())]
        into: list[torch.Tensor] = []
        name = placed(name, node, len(operations))
        last = step(writer.cell, name, start)
        for earlier in range(node - 1, -1, -1):
            chance = edge_logit(network, states[earlier], last).sigmoid()
            total = total - torch.log(chance if (earlier, node) in pairs else 1 - chance)
            if (earlier, node) in pairs:
                into.append(states[earlier])
                last = step(writer.cell, name, told(writer.message, into))
        states.append(last)
    if len(names) < len(operations):
        total = total - name_logits(network, last).log_softmax(dim=0)[-1]
    return total


@EACH
def test_reading_a_graph_at_a_time(space: Any) -> None:
    (edges, operations), network = of(space, 12)
    with torch.no_grad():
        means, spread = network.encode(edges, operations)
        for graph in range(len(edges)):
            expected = latent_of(network, edges[graph], operations[graph])
            assert means[graph].numpy() == pytest.approx(expected[0].numpy())
            assert spread[graph].numpy() == pytest.approx(expected[1].numpy())


@EACH
def test_the_loss_a_graph_at_a_time(space: Any) -> None:
    """With the same noise: the sum of all decisions' cross-entropies, and the weighted divergence."""
    (edges, operations), network = of(space, 12)
    with torch.no_grad():
        found = network.loss(edges, operations, torch.Generator().manual_seed(7))
        drawn = torch.randn((len(edges), 4), generator=torch.Generator().manual_seed(7))
        each = []
        for graph in range(len(edges)):
            mean, variance = latent_of(network, edges[graph], operations[graph])
            latent = mean + 0.7 * torch.exp(variance / 2) * drawn[graph]
            normal = torch.distributions.Normal(mean, torch.exp(variance / 2))
            divergence = torch.distributions.kl_divergence(normal, torch.distributions.Normal(0.0, 1.0)).sum()
            each.append(surprise(network, latent, edges[graph], operations[graph]) + 5e-3 * divergence)
    assert found.item() == pytest.approx(float(np.mean(each)), rel=1e-6)


@EACH
def test_what_is_written_is_likeliest_decision_by_decision(space: Any) -> None:
    """The decisions of a slow writer; graphs that end early have −1 and no edges from there."""
    (_, operations), network = of(space, 1)
    nodes, width = operations.shape[1:]
    latent = 3 * torch.randn((60, 4), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with torch.no_grad():
        found_edges, found = network.writer.write(latent)
        for graph in range(len(latent)):
            start = last = torch.tanh(network.writer.start.weight @ latent[graph] + network.writer.start.bias)
            states: list[torch.Tensor] = []
            expected, names = np.zeros((nodes, nodes), dtype=bool), [-1] * nodes
            for node in range(nodes):
                place = int(name_logits(network, last).argmax())
                if place == width:
                    break
                names[node], into = place, []
                name = placed(torch.eye(width, dtype=torch.float64)[place], node, nodes)
                last = step(network.writer.cell, name, start)
                for earlier in range(node - 1, -1, -1):
                    if edge_logit(network, states[earlier], last) > 0:
                        expected[earlier, node] = True
                        into.append(states[earlier])
                        last = step(network.writer.cell, name, told(network.writer.message, into))
                states.append(last)
            assert found[graph].tolist() == names
            assert np.array_equal(found_edges[graph].numpy(), expected)
        assert len(torch.unique(found, dim=0)) > 5
        assert found_edges.any()


def test_the_order_of_nodes_does_not_matter() -> None:
    """The cells of NAS-Bench-101 with their nodes in another order in which edges go forward."""
    (edges, operations), network = of(NasBench101(nodes="5"), 200)
    with torch.no_grad():
        expected, turned = network.encode(edges, operations)[0], 0
        for order in orders_of(5)[1:]:
            other = edges[:, order][:, :, order]
            kept = (other.triu(1) == other).all(dim=2).all(dim=1)
            turned += int(kept.sum())
            found = network.encode(other[kept], operations[kept][:, order])[0]
            assert found.numpy() == pytest.approx(expected[kept].numpy())
    assert turned > 20


def test_one_direction() -> None:
    network = DagAutoencoder(5, 4, DvaeSettings(width=6, latent=4, bidirectional=False))
    assert network.backwards is None
    assert network.mean.in_features == 6


def test_a_toy_space_is_learnt(tmp_path: Path) -> None:
    """Its 91 cells are rebuilt, those of fewer nodes with their ends; random ones are cells, of as many nodes as they
    have; embeddings are different and lie in 0…1."""
    space = NasBench101(nodes="2..4")
    encoding = GraphEncoding(space)
    vectors = encoding.encode(list(space.every()))
    model = Dvae(encoding.shape, replace(SETTINGS, epochs=25, width=32, batch=32))
    losses = model.train(Cells(np.repeat(vectors, 6, axis=0)), tmp_path / "state", "")
    assert losses[-1] < losses[0] / 10
    assert rebuilt(model, vectors)["cells"] > 0.9
    latent = model.nodes(vectors)
    assert latent.shape == (91, 1, 8)
    there = encoding.shape.matrices(vectors)[1].any(axis=2)
    assert not there.all()
    assert ((model.decode(latent)[1] >= 0) == there).all(axis=1).mean() > 0.9
    assert generated(model, vectors, space, 0, samples=200)["validity"] > 0.9
    found = model.embed(vectors)
    assert found.shape == (91, 8)
    assert found.min() >= -1e-6
    assert found.max() <= 1 + 1e-6
    assert len(np.unique(found.round(6), axis=0)) == 91
