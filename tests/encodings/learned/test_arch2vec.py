"""Training arch2vec: what it learns of a toy space, and that an interruption changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from secateur.encodings import GraphEncoding
from secateur.encodings.learned.arch2vec import Arch2vec
from secateur.encodings.learned.arch2vec_settings import Arch2vecSettings
from secateur.encodings.learned.cells import Cells
from secateur.encodings.learned.figures import rebuilt
from secateur.errors import ConfigurationError, StudyError
from secateur.rng import generator
from secateur.spaces.cells import NasBench101, NasBench201
from secateur.spaces.cells.structures import orders_of

SPACE = NasBench201(merged=False, operations=("none", "nor_conv_3x3"))
GRAPHS = GraphEncoding(SPACE)
VECTORS = GRAPHS.encode(list(SPACE.every()))
CELLS = Cells(VECTORS)
SETTINGS = Arch2vecSettings(width=16, layers=2, latent=8, batch=16, epochs=4, learning_rate=0.01)


def trained(folder: Path, settings: Arch2vecSettings = SETTINGS, seed: int = 0) -> tuple[Arch2vec, list[float]]:
    model = Arch2vec(GRAPHS.shape, settings, seed)
    return model, model.train(CELLS, folder / f"{seed}.safetensors", "a training")


def weights(model: Arch2vec) -> dict[str, torch.Tensor]:
    return dict(model.network.state_dict())


def same(one: Arch2vec, other: Arch2vec) -> bool:
    return all(torch.equal(tensor, weights(other)[name]) for name, tensor in weights(one).items())


def test_a_toy_space_is_learnt(tmp_path: Path) -> None:
    """All of its 64 cells are rebuilt, and their embeddings are different and lie in 0…1."""
    model = Arch2vec(GRAPHS.shape, replace(SETTINGS, epochs=30, width=32, latent=16, learning_rate=5e-3))
    losses = model.train(Cells(np.repeat(VECTORS, 8, axis=0)), tmp_path / "state", "")
    assert losses[-1] < losses[0] / 4
    assert rebuilt(model, VECTORS) == {"operations": 1, "edges": 1, "cells": 1}
    found = model.embed(VECTORS)
    assert found.shape == (64, 16)
    assert found.min() >= -1e-6
    assert found.max() <= 1 + 1e-6
    assert len(np.unique(found.round(6), axis=0)) == 64


def test_the_order_of_nodes_does_not_matter(tmp_path: Path) -> None:
    """The cells of NAS-Bench-101 with their inner nodes in every order; some have fewer nodes than others."""
    encoding = GraphEncoding(NasBench101(nodes="2..5"))
    vectors = encoding.encode(list(encoding.space.every())[::40])
    model = Arch2vec(encoding.shape, replace(SETTINGS, epochs=1))
    model.train(Cells(vectors), tmp_path / "state", "")
    edges, operations = encoding.shape.matrices(vectors)
    assert len({int(there) for there in operations.sum(axis=(1, 2))}) > 1
    expected = model.embed(vectors)
    for order in orders_of(5)[1:]:
        turned = [edges[:, order][:, :, order].reshape(len(vectors), -1), operations[:, order].reshape(len(vectors), -1)]
        assert np.abs(model.embed(np.concatenate(turned, axis=1)) - expected).max() < 1e-4


def test_threads_and_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread while it trains, as many as before afterwards; progress is told to the end."""
    before, seen, told = torch.get_num_threads(), [], []
    monkeypatch.setattr("secateur.encodings.learned.learner.keep", lambda *given: seen.append(torch.get_num_threads()))
    torch.set_num_threads(2)
    try:
        model = Arch2vec(GRAPHS.shape, SETTINGS)
        model.train(CELLS, tmp_path / "state", "", lambda done, total, loss: told.append((done, total)))
        assert (seen, torch.get_num_threads()) == ([1] * 4, 2)
    finally:
        torch.set_num_threads(before)
    assert told == [(4, 16), (8, 16), (12, 16), (16, 16)]


def test_seeds_differ_and_repeat(tmp_path: Path) -> None:
    before = torch.random.get_rng_state()
    one, other, third = (trained(tmp_path / name, seed=seed)[0] for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    assert same(one, other)
    assert not same(one, third)
    assert torch.equal(torch.random.get_rng_state(), before), "the global generator is left alone"


@pytest.mark.parametrize("name", ["settled", "shuffle", "dropout", "clip"])
def test_switches_of_training(name: str, tmp_path: Path) -> None:
    """Those that act from the second epoch on leave the first as it was; the others do not."""
    changed = {"settled": True, "shuffle": False, "dropout": 0.3, "clip": 0.01}
    _, plain = trained(tmp_path / "plain", replace(SETTINGS, epochs=2))
    _, other = trained(tmp_path / "other", replace(SETTINGS, epochs=2, **{name: changed[name]}))  # type: ignore[arg-type]
    assert (plain[0] == other[0]) == (name in ("settled", "shuffle"))
    assert plain[1] != other[1]


def test_settled_training_leaves_the_running_figures_alone(tmp_path: Path) -> None:
    figures = [
        trained(tmp_path / str(epochs), replace(SETTINGS, epochs=epochs, settled=True))[0]
        .network.layers[0]
        .dense[1]
        .running_mean
        for epochs in (1, 3)
    ]
    assert torch.equal(*figures)


def test_bad_trainings_are_refused(tmp_path: Path) -> None:
    model = Arch2vec(GRAPHS.shape, SETTINGS)
    with pytest.raises(ConfigurationError, match="`batch` is 16, and there are only 5 cells to train on"):
        model.train(Cells(VECTORS[:5]), tmp_path / "state", "")
    trained(tmp_path)
    with pytest.raises(StudyError, match="holds the beginning of another pre-training"):
        model.train(CELLS, tmp_path / "0.safetensors", "another")
    (tmp_path / "damaged").write_bytes(b"nothing")
    with pytest.raises(StudyError, match="cannot be read"):
        model.train(CELLS, tmp_path / "damaged", "")
    lost = Arch2vec(GRAPHS.shape, SETTINGS)
    lost.network.mean.weight.data.fill_(torch.inf)
    with pytest.raises(ConfigurationError, match="training diverged in epoch 1"):
        lost.train(CELLS, tmp_path / "diverged", "")
    assert not (tmp_path / "diverged").exists()


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    model = Arch2vec(GRAPHS.shape, SETTINGS)
    model.save(tmp_path / "weights")
    with pytest.raises(StudyError, match="does not hold the network that its card describes"):
        Arch2vec(GRAPHS.shape, replace(SETTINGS, width=8)).load(tmp_path / "weights")
    other = Arch2vec(GRAPHS.shape, SETTINGS, seed=1)
    other.load(tmp_path / "weights")
    assert same(model, other)


def test_cells_of_an_architecture_stand_side_by_side() -> None:
    """Two cells: the embedding is that of the first, then that of the second."""
    from secateur.spaces.cells import Darts

    space = Darts(nodes=2)
    both, one = GraphEncoding(space), GraphEncoding(Darts(True, nodes=2))
    vectors = both.encode(space.sample_many(5, generator(0)))
    model, single = Arch2vec(both.shape, SETTINGS), Arch2vec(one.shape, SETTINGS)
    parts = [single.embed(half) for half in np.split(vectors, 2, axis=1)]
    assert model.embed(vectors) == pytest.approx(np.concatenate(parts, axis=1), abs=1e-6)
    assert model.embed(vectors[:0]).shape == (0, 16)
