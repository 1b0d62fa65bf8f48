"""arch2vec's network: its layers and its loss by hand, and what each switch of the released code changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from secateur.encodings.learned.arch2vec_settings import PUBLISHED, Arch2vecSettings
from secateur.encodings.learned.autoencoder import Autoencoder
from secateur.encodings.learned.graph_encoder import GraphLayer
from secateur.errors import ConfigurationError

TINY = Arch2vecSettings(width=6, layers=2, latent=3)
#: Two graphs of four nodes with three operations; the second has three nodes.
EDGES = np.zeros((2, 4, 4))
for _graph, _x, _y in [(0, 0, 1), (0, 1, 2), (0, 0, 3), (0, 2, 3), (1, 0, 1), (1, 1, 2)]:
    EDGES[_graph, _x, _y] = 1
OPERATIONS = np.zeros((2, 4, 3))
for _graph, _node, _name in [(0, 0, 0), (0, 1, 1), (0, 2, 1), (0, 3, 2), (1, 0, 0), (1, 1, 1), (1, 2, 2)]:
    OPERATIONS[_graph, _node, _name] = 1


def made(**changes: Any) -> Autoencoder:
    """A network whose norms are no longer those of the beginning."""
    torch.manual_seed(0)
    network = Autoencoder(3, replace(TINY, **changes))
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            for tensor in (module.weight.data, module.bias.data, module.running_mean, module.running_var):
                tensor.uniform_(0.5, 1.5)  # type: ignore[union-attr]
        if isinstance(module, GraphLayer):
            module.epsilon.data.uniform_(0.1, 0.5)
    return network.double()


def tensors() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.as_tensor(EDGES), torch.as_tensor(OPERATIONS)


def noise() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def layer_by_loops(layer: GraphLayer, values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Eq. 3.2, a node at a time, with the norms' running figures."""
    first, norm, _, second, last, _ = layer.dense
    out = []
    for node in range(len(values)):
        taken = (1 + layer.epsilon.item()) * values[node]
        for other in range(len(values)):
            if edges[node, other] or edges[other, node]:
                taken = taken + values[other]
        for dense, scaled in ((first, norm), (second, last)):
            taken = dense.weight.detach().numpy() @ taken
            taken = (taken - scaled.running_mean.numpy()) / np.sqrt(scaled.running_var.numpy() + scaled.eps)
            taken = np.maximum(taken * scaled.weight.detach().numpy() + scaled.bias.detach().numpy(), 0)
        out.append(taken)
    return np.array(out)


def by_hand(network: Autoencoder) -> tuple[np.ndarray, np.ndarray]:
    """Means and spreads, graph by graph."""
    found: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for edges, values in zip(EDGES, OPERATIONS, strict=True):
        for layer in network.layers:
            values = layer_by_loops(layer, values, edges)
        for head, out in zip((network.mean, network.spread), found, strict=True):
            out.append(values @ head.weight.detach().numpy().T + head.bias.detach().numpy())
    return np.array(found[0]), np.array(found[1])


def test_the_encoder_by_loops() -> None:
    network = made().eval()
    assert [layer.dense[0].out_features for layer in network.layers] == [6, 6, 3]
    with torch.no_grad():
        means, spread = (part.numpy() for part in network.encode(*tensors()))
    hand = by_hand(network)
    assert means == pytest.approx(hand[0])
    assert spread == pytest.approx(hand[1])


def loss_by_hand(
    network: Autoencoder, latent: np.ndarray, means: np.ndarray, log_variance: np.ndarray, edge_weight: float = 1.0
) -> tuple[float, float]:
    """The two cross-entropies, and the divergence from the standard normal distribution, of eq. 3.5."""
    weight, bias = network.decoder.weight.detach().numpy(), network.decoder.bias.detach().numpy()
    operations = edges = divergence = 0.0
    for graph in range(2):
        for node in range(4):
            logits = latent[graph, node] @ weight.T + bias
            shares = np.exp(logits) / np.exp(logits).sum()
            operations -= sum(np.log(shares[k]) for k in range(3) if OPERATIONS[graph, node, k])
            for later in range(node + 1, 4):
                chance = 1 / (1 + np.exp(-latent[graph, node] @ latent[graph, later]))
                edges -= np.log(chance if EDGES[graph, node, later] else 1 - chance)
            variance = np.exp(log_variance[graph, node])
            # KL(N(μ, σ²) ‖ N(0, 1)) = log(1 / σ) + (σ² + μ²) / 2 − 1 / 2
            divergence += sum(np.log(1 / np.sqrt(variance)) + (variance + means[graph, node] ** 2) / 2 - 1 / 2)
    return operations / 8 + edge_weight * edges / 32, divergence / 8


def test_the_lower_bound_by_hand() -> None:
    """With noise: the same draws, scaled by exp(log-variance / 2). The weight multiplies the divergence."""
    network = made()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.momentum = 0.0
    network.train()
    with torch.no_grad():
        means, spread = (part.numpy() for part in network.encode(*tensors()))
        drawn = torch.randn(means.shape, generator=noise()).numpy()
        rebuilt, divergence = loss_by_hand(network, means + np.exp(spread / 2) * drawn, means, spread)
        assert network.loss(*tensors(), noise()).item() == pytest.approx(rebuilt + 5e-3 * divergence, rel=1e-6)
        network.s = replace(network.s, kl_weight=0.5)
        assert network.loss(*tensors(), noise()).item() == pytest.approx(rebuilt + 0.5 * divergence, rel=1e-6)
        latent = means + np.exp(spread / 2) * drawn
        heavier = loss_by_hand(network, latent, means, spread, edge_weight=4.0)[0]  # as many as nodes: eq. 3.5 per node
        network.s = replace(network.s, edge_weight=4.0)
        assert network.loss(*tensors(), noise()).item() == pytest.approx(heavier + 0.5 * divergence, rel=1e-6)
        network.s = replace(network.s, edge_weight=1.0, kl_rescaled=True)
        assert network.loss(*tensors(), noise()).item() == pytest.approx(rebuilt + 0.5 * divergence / 8, rel=1e-6)


def test_a_spread_that_is_the_logarithm_of_the_deviation() -> None:
    network = made(log_deviation=True, kl_weight=1.0).train()
    with torch.no_grad():
        means, spread = (part.numpy() for part in network.encode(*tensors()))
        drawn = torch.randn(means.shape, generator=noise()).numpy()
        rebuilt, divergence = loss_by_hand(network, means + np.exp(spread) * drawn, means, 2 * spread)
        assert network.loss(*tensors(), noise()).item() == pytest.approx(rebuilt + divergence, rel=1e-6)


def test_a_sigmoid_for_each_operation() -> None:
    plain, network = made(kl_weight=0.0).eval(), made(kl_weight=0.0, operations="sigmoid").eval()
    with torch.no_grad():
        latent = network.encode(*tensors())[0]
        logits = network.decode(latent)[1].numpy()
        chances = 1 / (1 + np.exp(-logits))
        named = -np.mean(np.log(np.where(OPERATIONS > 0, chances, 1 - chances)))
        edges = plain.loss(*tensors(), noise()).item() + (
            (OPERATIONS * torch.as_tensor(logits).log_softmax(dim=2).numpy()).sum() / 8
        )
        assert network.loss(*tensors(), noise()).item() == pytest.approx(named + edges)


def test_noise_and_dropout_are_of_training() -> None:
    network = made(dropout=0.5)
    with torch.no_grad():
        settled = [network.eval().loss(*tensors(), torch.Generator().manual_seed(seed)).item() for seed in (0, 1)]
        assert settled[0] == settled[1]
        means = network.encode(*tensors())[0]
        rebuilt, divergence = loss_by_hand(network, means.numpy(), means.numpy(), network.encode(*tensors())[1].numpy())
        assert settled[0] == pytest.approx(rebuilt + 5e-3 * divergence)
        network.train()
        drawn = torch.randn(means.shape, generator=(draws := noise()))
        kept = torch.rand(means.shape, generator=draws).numpy() >= 0.5
        means, spread = (part.numpy() for part in network.encode(*tensors()))
        latent = np.where(kept, 2 * (means + np.exp(spread / 2) * drawn.numpy()), 0)
        rebuilt, divergence = loss_by_hand(network, latent, means, spread)
        assert network.loss(*tensors(), noise()).item() == pytest.approx(rebuilt + 5e-3 * divergence, rel=1e-6)


def test_embeddings_are_sums_over_nodes_that_are_there() -> None:
    network, published = made().eval(), made(pooling="mean").eval()
    with torch.no_grad():
        means = network.encode(*tensors())[0]
        found = network.embed(means, tensors()[1]).numpy()
        assert found[0] == pytest.approx(means[0].numpy().sum(axis=0))
        assert found[1] == pytest.approx(means[1, :3].numpy().sum(axis=0))
        assert published.embed(means, tensors()[1]).numpy() == pytest.approx(means.numpy().mean(axis=1))
        network.scale(torch.as_tensor(found))
        scaled = network.embed(means, tensors()[1]).numpy()
    assert scaled.min() == 0
    assert scaled.max() == pytest.approx(1)
    widest = np.ptp(found, axis=0).max()
    assert np.linalg.norm(scaled[0] - scaled[1]) == pytest.approx(np.linalg.norm(found[0] - found[1]) / widest)


def test_what_was_published_is_all_switches_together() -> None:
    asked = replace(TINY, as_published=True).check().resolved()
    assert {name: getattr(asked, name) for name in PUBLISHED} == PUBLISHED
    assert all(PUBLISHED[name] != Arch2vecSettings.usual(name) for name in PUBLISHED), "each is a difference"
    assert TINY.resolved() == TINY
    assert [layer.dense[0].out_features for layer in Autoencoder(3, asked).layers] == [6, 6], "no narrow layer"
    assert Autoencoder(3, asked).mean.in_features == 6
    with pytest.raises(ConfigurationError, match=r"`as_published` sets `dropout` to 0.3: leave one of them out"):
        replace(TINY, as_published=True, dropout=0.1).check()
