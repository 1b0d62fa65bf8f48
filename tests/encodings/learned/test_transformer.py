"""The Transformer of CATE against its equations, and paths against networkx."""

from __future__ import annotations

import networkx
import numpy as np
import torch

from secateur.encodings.learned.transformer import Block, Stack, paths, together, with_self
from secateur.rng import generator


def array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


def normal(values: np.ndarray) -> np.ndarray:
    centred = values - values.mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5))


def test_a_block_is_what_the_equations_say() -> None:
    """softmax(Q Kᵀ / √width + M) V for each head, joined, and a rectified layer, each on what is normalised and added to it."""
    torch.manual_seed(0)
    block, heads, width = Block(8, 2, 12), 2, 8
    values = torch.randn(3, 5, width)
    seen = with_self(torch.rand(3, 5, 5) < 0.4)
    x = array(values)
    allowed = seen.numpy()
    q, k, v = np.split(normal(x) @ array(block.projected.weight).T + array(block.projected.bias), 3, axis=2)
    taken = np.zeros_like(x)
    for head in range(heads):
        part = slice(head * 4, head * 4 + 4)
        for graph in range(3):
            for node in range(5):
                weights = np.exp(k[graph, :, part] @ q[graph, node, part] / np.sqrt(width)) * allowed[graph, node]
                taken[graph, node, part] = weights @ v[graph, :, part] / weights.sum()
    x = x + taken @ array(block.joined.weight).T + array(block.joined.bias)
    units = np.maximum(normal(x) @ array(block.up.weight).T + array(block.up.bias), 0)
    expected = x + units @ array(block.down.weight).T + array(block.down.bias)
    assert np.abs(array(block(values, seen[:, None])) - expected).max() < 1e-5


def test_a_stack_normalises_at_the_end() -> None:
    torch.manual_seed(0)
    stack = Stack(2, 8, 2, 8)
    found = array(stack(torch.randn(4, 3, 8), with_self(torch.zeros(4, 3, 3, dtype=torch.bool))))
    assert np.abs(found.mean(axis=2)).max() < 1e-6
    assert np.abs(found.std(axis=2) - 1).max() < 1e-3


def test_graphs_that_are_read_as_one_do_not_see_each_other() -> None:
    torch.manual_seed(0)
    stack, values, seen = Stack(2, 8, 2, 8), torch.randn(6, 5, 8), with_self(torch.rand(6, 5, 5) < 0.4)
    alone = stack(values, seen, 1)
    for count in (2, 3, 6):
        assert torch.allclose(stack(values, seen, count), alone, atol=1e-6)
    assert [together(*size) for size in ((1024, 14), (2048, 7), (1001, 7), (7, 100))] == [4, 8, 7, 1]


def test_paths_are_those_of_networkx() -> None:
    edges = np.triu(generator(0).random((40, 6, 6)) < 0.3, 1)
    found = paths(torch.from_numpy(edges.astype(np.uint8))).numpy()
    for matrix, closed in zip(edges, found, strict=True):
        graph = networkx.from_numpy_array(matrix, create_using=networkx.DiGraph)
        assert np.array_equal(closed, networkx.to_numpy_array(networkx.transitive_closure(graph)).astype(bool))
