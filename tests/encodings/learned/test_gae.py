"""Graph convolutions in the place of isomorphism networks, by hand; arch2vec without noise; and that older cards are read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import secateur
from secateur.encodings import GraphEncoding
from secateur.encodings.learned import Trained
from secateur.encodings.learned.arch2vec import Arch2vec
from secateur.encodings.learned.arch2vec_settings import Arch2vecSettings
from secateur.encodings.learned.autoencoder import Autoencoder
from secateur.encodings.learned.cells import Cells
from secateur.encodings.learned.figures import rebuilt
from secateur.encodings.learned.gae import Gae, Vgae
from secateur.encodings.learned.gae_settings import GaeSettings, VgaeSettings
from secateur.encodings.learned.graph_encoder import Convolution, by_degrees
from secateur.encodings.learned.state import keep
from secateur.errors import ConfigurationError, StudyError
from secateur.spaces.cells import NasBench201

SPACE = NasBench201(merged=False, operations=("none", "nor_conv_3x3"))
GRAPHS = GraphEncoding(SPACE)
VECTORS = GRAPHS.encode(list(SPACE.every()))
SMALL: dict[str, Any] = {"width": 16, "layers": 2, "latent": 8, "batch": 16, "epochs": 4, "learning_rate": 0.01}
#: A graph of three nodes 0 → 1 → 2, 0 → 2 and an absent one.
EDGES = torch.zeros((1, 4, 4), dtype=torch.float64)
EDGES[0, [0, 1, 0], [1, 2, 2]] = 1
OPERATIONS = torch.eye(4, 3, dtype=torch.float64)[None]


def test_neighbours_are_weighted_by_degrees() -> None:
    """Entry by entry: 1 / √(dᵢ dⱼ) where two nodes are joined or the same, with the node itself among its neighbours."""
    edges = torch.as_tensor(np.triu(np.random.default_rng(0).random((5, 6, 6)) < 0.4, 1).astype(float))
    found = by_degrees(edges + edges.transpose(1, 2)).numpy()
    for graph in range(5):
        joined = edges[graph].numpy() + edges[graph].numpy().T
        degrees = 1 + joined.sum(axis=1)
        for i in range(6):
            for j in range(6):
                expected = 1 / np.sqrt(degrees[i] * degrees[j]) if i == j or joined[i, j] else 0
                assert found[graph, i, j] == pytest.approx(expected)


def test_a_convolution_by_hand() -> None:
    """Three nodes that all know each other have the mean of the three; the absent one has what its norm makes of nothing."""
    layer = Convolution(3, 2).double().eval()
    dense, norm, _ = layer.dense
    for tensor in (norm.weight.data, norm.bias.data, norm.running_mean, norm.running_var):
        tensor.uniform_(0.5, 1.5, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        found = layer(OPERATIONS, by_degrees(EDGES + EDGES.transpose(1, 2)))[0].numpy()
        for node in range(4):
            taken = dense.weight.numpy() @ (np.full(3, 1 / 3) if node < 3 else np.zeros(3))
            scaled = (taken - norm.running_mean.numpy()) / np.sqrt(norm.running_var.numpy() + norm.eps)
            assert found[node] == pytest.approx(np.maximum(scaled * norm.weight.numpy() + norm.bias.numpy(), 0))


def test_names_are_defaults() -> None:
    """The three differ in two settings only."""
    usual = Arch2vecSettings()
    assert VgaeSettings().as_dict() == {**usual.as_dict(), "graph": "gcn"}
    assert GaeSettings().as_dict() == {**usual.as_dict(), "graph": "gcn", "variational": False}
    shape = GRAPHS.shape
    same = Vgae(shape, VgaeSettings(**SMALL)), Arch2vec(shape, Arch2vecSettings(**SMALL, graph="gcn"))
    weights = [model.network.state_dict() for model in same]
    assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())
    assert all(isinstance(layer, Convolution) for layer in same[0].network.layers)


@pytest.mark.parametrize("graph", ["gin", "gcn"])
def test_without_noise_there_is_no_divergence(graph: str) -> None:
    """The loss of one that is not variational is that of one whose divergence weighs nothing, in evaluation mode; in training
    it is the same for all noise. It has no weights for deviations."""
    settings = Arch2vecSettings(width=6, layers=2, latent=3, graph=graph)
    torch.manual_seed(0)
    whole = Autoencoder(3, replace(settings, kl_weight=0.0)).double()
    plain = Autoencoder(3, replace(settings, variational=False)).double()
    missing, left = plain.load_state_dict(whole.state_dict(), strict=False)
    assert (missing, left) == ([], ["spread.weight", "spread.bias"])
    noises = [torch.Generator().manual_seed(seed) for seed in (0, 1)]
    with torch.no_grad():
        assert plain.encode(EDGES, OPERATIONS)[1] is None
        losses = [plain.train().loss(EDGES, OPERATIONS, noise).item() for noise in noises]
        assert losses[0] == losses[1]
        plain.load_state_dict(whole.state_dict(), strict=False)
        expected = whole.eval().loss(EDGES, OPERATIONS, noises[0]).item()
        assert plain.eval().loss(EDGES, OPERATIONS, noises[0]).item() == pytest.approx(expected)


def test_settings_of_a_divergence_that_is_not_there() -> None:
    for name, value in {"kl_weight": 1.0, "kl_rescaled": True, "log_deviation": True}.items():
        with pytest.raises(ConfigurationError, match=f"`{name}` is of the divergence, and without `variational` there is none"):
            GaeSettings(**{name: value}).check()
    GaeSettings(as_published=True).check()


@pytest.mark.parametrize("kind", [Gae, Vgae])
def test_a_toy_space_is_learnt(kind: type[Arch2vec], tmp_path: Path) -> None:
    made = {**SMALL, "epochs": 30, "width": 32, "latent": 16, "learning_rate": 5e-3}
    model = kind(GRAPHS.shape, kind.settings(**made))  # type: ignore[arg-type]
    losses = model.train(Cells(np.repeat(VECTORS, 8, axis=0)), tmp_path / "state", "")
    assert losses[-1] < losses[0] / 3
    assert rebuilt(model, VECTORS)["operations"] == 1
    assert rebuilt(model, VECTORS)["cells"] > 0.9
    assert len(np.unique(model.embed(VECTORS).round(6), axis=0)) == 64


@pytest.mark.parametrize("kind", [Gae, Vgae])
def test_an_interrupted_training_ends_as_if_it_had_not_been(
    kind: type[Arch2vec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained(name: str) -> dict[str, torch.Tensor]:
        model = kind(GRAPHS.shape, kind.settings(**SMALL))  # type: ignore[arg-type]
        model.train(Cells(VECTORS), tmp_path / name, "a training")
        return dict(model.network.state_dict())

    def stop(network: Any, optimiser: Any, state: Path, said: str, done: list[float]) -> None:
        keep(network, optimiser, state, said, done)
        if len(done) == 2:
            raise KeyboardInterrupt

    whole = trained("whole")
    with monkeypatch.context() as patched:
        patched.setattr("secateur.encodings.learned.learner.keep", stop)
        with pytest.raises(KeyboardInterrupt):
            trained("cut")
    again = trained("cut")
    assert all(torch.equal(tensor, again[name]) for name, tensor in whole.items())


def test_cards_that_know_nothing_of_a_setting(tmp_path: Path) -> None:
    """They have its default: what was trained before is read, and is not trained again."""
    given = {**SMALL, "epochs": 1, "space_option": ["operations=none,nor_conv_3x3"], "progress": False, "device": "cpu"}
    secateur.encode_pretrain("nasbench201", to=tmp_path / "a", **given)
    expected = Trained(tmp_path / "a")(SPACE).encode(list(SPACE.every()))
    card = json.loads((tmp_path / "a" / "card.json").read_text())
    for name in ("graph", "variational"):
        del card["settings"][name]
    (tmp_path / "a" / "card.json").write_text(json.dumps(card))
    assert np.array_equal(Trained(tmp_path / "a")(SPACE).encode(list(SPACE.every())), expected)
    assert secateur.encode_pretrain("nasbench201", to=tmp_path / "a", **given).card == card
    with pytest.raises(StudyError, match="trained in another way"):
        secateur.encode_pretrain("nasbench201", to=tmp_path / "a", variational=False, **given)
