"""Graph networks: their sums by hand, the order of nodes, what they learn, and how fast."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import spearmanr

from secateur.encodings import Adjacency, GraphEncoding
from secateur.encodings.graph import Shape
from secateur.errors import ConfigurationError
from secateur.predictors import Gcn, Gin
from secateur.predictors.graph_networks import GraphNetworks, Layer, train
from secateur.predictors.graph_predictor import GraphPredictor
from secateur.rng import generator
from secateur.spaces.cells import CellSpace, Darts, Graph, NasBench101, NasBench201

TABLE = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "nasbench" / "nb201_15625.csv.gz"
KINDS = [Gcn, Gin]


def shape_of(encoding: GraphEncoding) -> Shape:
    return Shape(encoding.cells, encoding.nodes, encoding.operations)


def vectors_of(space: CellSpace, n: int, seed: int = 0) -> np.ndarray:
    return GraphEncoding(space).encode(space.sample_many(n, generator(seed)))


def by_hand(networks: GraphNetworks, member: int, graphs: list[Graph], names: tuple[str, ...]) -> np.ndarray:
    """The embedding (width,) of an architecture, node by node, with no padding."""
    weights = [w[member].double().numpy() for w in networks.weights]
    biases = [b[member, 0].double().numpy() for b in networks.biases]
    pooled = []
    for graph in graphs:
        size = len(graph.operations)
        values = np.array([[float(name == known) for known in names] for name in graph.operations])
        after = [[y for x, y in graph.edges if x == node] for node in range(size)]
        before = [[x for x, y in graph.edges if y == node] for node in range(size)]
        for place in range(0, 2 * networks.layers, 2):
            new = []
            for node in range(size):
                if networks.layer == "gin":
                    taken = values[node] + sum(values[other] for other in after[node] + before[node])
                    inner = np.maximum(taken @ weights[place] + biases[place], 0)
                    new.append(np.maximum(inner @ weights[place + 1] + biases[place + 1], 0))
                    continue
                ways = []
                for side, (near, own, other) in enumerate([(after, after, before), (before, before, after)]):
                    taken = sum(values[n] / np.sqrt((1 + len(own[node])) * (1 + len(other[n]))) for n in [node, *near[node]])
                    ways.append(np.maximum(taken @ weights[place + side] + biases[place + side], 0))
                new.append((ways[0] + ways[1]) / 2)
            values = np.array(new)
        pooled.append(values.mean(axis=0) if networks.layer == "gcn" else values.sum(axis=0) / networks.shape.nodes)
    return np.maximum(np.concatenate(pooled) @ weights[-2] + biases[-2], 0)


@pytest.mark.parametrize("layer", ["gcn", "gin"])
@pytest.mark.parametrize("space", [NasBench101(), NasBench201(), Darts(nodes=2)], ids=["nasbench101", "nasbench201", "darts"])
def test_embeddings_by_hand(layer: Layer, space: CellSpace) -> None:
    encoding = GraphEncoding(space)
    networks = GraphNetworks(shape_of(encoding), layer, width=5, layers=2, members=2, targets=1, rng=generator(0))
    for bias in networks.biases:
        bias += torch.as_tensor(generator(1).standard_normal(bias.shape), dtype=torch.float32)
    cells = space.sample_many(6, generator(2))
    found = networks.hidden(encoding.encode(cells))
    for i, cell in enumerate(cells):
        for member in range(2):
            told = by_hand(networks, member, list(space.graphs(cell).values()), space.frame.names)
            assert found[member, i] == pytest.approx(told, rel=1e-4, abs=1e-5)
    assert np.array_equal(networks.member(1).hidden(encoding.encode(cells))[0], found[1])


def reordered(vectors: np.ndarray, shape: Shape, seed: int) -> np.ndarray:
    """The same graphs with the nodes of each cell in a random order."""
    rng, nodes = generator(seed), shape.nodes
    out = vectors.reshape(-1, nodes * (nodes + shape.operations)).copy()
    for row in out:
        order = rng.permutation(nodes)
        row[: nodes**2] = row[: nodes**2].reshape(nodes, nodes)[np.ix_(order, order)].ravel()
        row[nodes**2 :] = row[nodes**2 :].reshape(nodes, -1)[order].ravel()
    return out.reshape(vectors.shape)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_nodes_does_not_matter(kind: type[GraphPredictor]) -> None:
    for space in (NasBench101(), Darts()):
        encoding = GraphEncoding(space)
        inputs = vectors_of(space, 20)
        targets = generator(1).standard_normal((20, 2))
        fitted = kind(steps=20).for_encoding(encoding).fit(inputs, targets, waiting=inputs[:0], seed=0)
        new = vectors_of(space, 30, seed=1)
        turned = reordered(new, shape_of(encoding), seed=2)
        assert not np.array_equal(new, turned)
        for a, b in zip(fitted.predict(new), fitted.predict(turned), strict=True):
            assert a.shape == (30, 2)
            assert a == pytest.approx(b, abs=1e-3)


@pytest.mark.parametrize("layer", ["gcn", "gin"])
def test_the_way_of_an_edge_matters_to_convolutions_only(layer: Layer) -> None:
    """Of three nodes in a row, the first two with one operation: turned, an edge leads the other way."""
    forward, backward = np.zeros((2, 3, 3))
    forward[0, 1] = forward[1, 2] = 1
    backward[1, 0] = backward[1, 2] = 1
    operations = np.array([[1.0, 0], [1, 0], [0, 1]])
    vectors = np.stack([np.concatenate([m.ravel(), operations.ravel()]) for m in (forward, backward)])
    networks = GraphNetworks(Shape(1, 3, 2), layer, width=8, layers=2, members=1, targets=1, rng=generator(0))
    one, other = networks.hidden(vectors)[0]
    assert np.allclose(one, other) == (layer == "gin")


def test_each_network_learns_from_its_own_part() -> None:
    """With no share in the loss, an observation leaves a network as it would be without it."""
    space = NasBench201()
    vectors, targets = vectors_of(space, 12), generator(1).standard_normal((12, 1))
    shares = np.stack([np.r_[np.full(8, 1 / 8), np.zeros(4)], np.full(12, 1 / 12)])
    shape = shape_of(GraphEncoding(space))
    both = GraphNetworks(shape, "gcn", width=6, layers=2, members=2, targets=1, rng=generator(0))
    alone = both.member(0)
    alone.weights, alone.biases = [w.clone() for w in alone.weights], [b.clone() for b in alone.biases]
    train(both, vectors, targets, shares, steps=5)
    train(alone, vectors[:8], targets[:8], shares[:1, :8], steps=5)
    assert both.hidden(vectors)[0] == pytest.approx(alone.hidden(vectors)[0], abs=1e-4)
    assert np.abs(both.hidden(vectors)[1] - alone.hidden(vectors)[0]).max() > 1e-2


def convolutions(graph: Graph) -> float:
    """How many 3 × 3 convolutions a path from the input to the output has at most."""
    most = [0.0] * len(graph.operations)
    for source, target in sorted(graph.edges, key=lambda edge: edge[1]):
        most[target] = max(most[target], most[source] + ("conv3x3" in graph.operations[target]))
    return most[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_it_learns_from_graphs_and_its_deviations_are_honest(kind: type[GraphPredictor]) -> None:
    space = NasBench101()
    encoding = GraphEncoding(space)
    ones, twos, errors = [], [], []
    for seed in range(2):
        cells = space.sample_many(500, generator(seed))
        targets = np.array([[convolutions(space.graphs(cell)["cell"])] for cell in cells])
        targets = (targets - targets.mean()) / targets.std()
        inputs = encoding.encode(cells)
        fitted = kind().for_encoding(encoding).fit(inputs[:100], targets[:100], waiting=inputs[:0], seed=seed)
        means, deviations = fitted.predict(inputs[100:])
        wrong = np.abs(targets[100:] - means)
        errors.append((wrong**2).mean())
        ones.append((wrong < deviations).mean())
        twos.append((wrong < 2 * deviations).mean())
    assert np.mean(errors) < 0.4  # a constant has 1
    assert 0.5 < np.mean(ones) < 0.9
    assert np.mean(twos) > 0.85


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_what_waits_and_torch_left_alone(kind: type[GraphPredictor]) -> None:
    space = NasBench201(merged=False)
    inputs, targets = vectors_of(space, 24), generator(1).standard_normal((24, 2))
    predictor = kind(steps=10).for_encoding(GraphEncoding(space))
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    first, again, other = (predictor.fit(inputs[:20], targets[:20], waiting=inputs[:0], seed=s) for s in (1, 1, 2))
    assert torch.equal(state, torch.random.get_rng_state())
    assert np.array_equal(first.predict(inputs)[0], again.predict(inputs)[0])
    assert not np.array_equal(first.predict(inputs)[0], other.predict(inputs)[0])
    after = predictor.fit(inputs[:20], targets[:20], waiting=inputs[20:], seed=1)
    assert after.targets[:20] == pytest.approx(targets[:20])
    assert after.targets[20:] == pytest.approx(first.predict(inputs[20:])[0])
    assert first.predict(inputs[:0])[0].shape == (0, 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ["two", "equal targets", "equal graphs"])
def test_little_to_learn_from_is_no_trouble(kind: type[GraphPredictor], case: str) -> None:
    inputs = vectors_of(NasBench101(), 2 if case == "two" else 12)
    targets = generator(1).standard_normal((len(inputs), 1)) * (case != "equal targets")
    if case == "equal graphs":
        inputs = np.repeat(inputs[:1], 12, axis=0)
    fitted = kind(steps=20).for_encoding(GraphEncoding(NasBench101())).fit(inputs, targets, waiting=inputs[:0], seed=0)
    means, deviations = fitted.predict(vectors_of(NasBench101(), 6, seed=3))
    assert np.isfinite(means).all()
    assert np.isfinite(deviations).all()
    assert (deviations > 0).all()


def test_other_encodings_and_bad_settings() -> None:
    space = NasBench101()
    told = "the predictor `gcn` learns from graphs, and the encoding `adjacency` gives none. Use `graph`."
    assert Gcn.refuses(Adjacency(space)) == told
    assert Gin.refuses(GraphEncoding(space)) is None
    with pytest.raises(ConfigurationError, match="learns from graphs"):
        Gcn().for_encoding(Adjacency(space))
    with pytest.raises(ConfigurationError, match="`gin` must be told of its encoding first: call `for_encoding`"):
        Gin().fit(vectors_of(space, 4), np.zeros((4, 1)), waiting=vectors_of(space, 0), seed=0)
    for settings in ({"width": 0}, {"layers": 0}, {"steps": 0}):
        with pytest.raises(ConfigurationError, match=f"`{next(iter(settings))}` must be at least 1, got 0"):
            Gcn(**settings)
    with pytest.raises(ConfigurationError, match="`folds` must be at least 0, and not 1, got 1"):
        Gin(folds=1)


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_of_nasbench201_and_how_fast(kind: type[GraphPredictor]) -> None:
    """12 epochs on CIFAR-10, from 100 cells: three seconds to fit, half a second for all 15,625, in one thread."""
    if not TABLE.is_file():
        pytest.skip("there is no table of NAS-Bench-201 beside the checkout")
    rows = pd.read_csv(TABLE)
    space = NasBench201(merged=False)
    encoding = GraphEncoding(space)
    inputs = encoding.encode([space.make({"cell": text}) for text in rows["arch"]])
    known = generator(0).permutation(len(rows))[:100]
    accuracy = rows["c10_val_12"].to_numpy()
    targets = ((accuracy - accuracy[known].mean()) / accuracy[known].std())[:, None]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        began = time.thread_time()
        fitted = kind().for_encoding(encoding).fit(inputs[known], targets[known], waiting=inputs[:0], seed=0)
        middle = time.thread_time()
        means, _ = fitted.predict(inputs)
        ended = time.thread_time()
    finally:
        torch.set_num_threads(threads)
    assert spearmanr(means[:, 0], accuracy).statistic > 0.6
    assert middle - began < 3
    assert ended - middle < 0.5
