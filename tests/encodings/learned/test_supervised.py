"""The supervised counterpart of arch2vec: its head and loss by hand, what it learns, and an interruption."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from secateur.encodings import GraphEncoding
from secateur.encodings.learned.arch2vec import Arch2vec
from secateur.encodings.learned.arch2vec_settings import Arch2vecSettings
from secateur.encodings.learned.cells import Cells
from secateur.encodings.learned.supervised import Supervised
from secateur.encodings.learned.supervised_settings import SupervisedSettings
from secateur.errors import ConfigurationError
from secateur.spaces.cells import NasBench201

SPACE = NasBench201(merged=False, operations=("none", "nor_conv_3x3"))
GRAPHS = GraphEncoding(SPACE)
VECTORS = GRAPHS.encode(list(SPACE.every()))
#: How many convolutions a cell has, in another unit.
TARGETS = 90 + 0.5 * np.array([str(cell).count("3x3") for cell in SPACE.every()], dtype=float)
CELLS = Cells(VECTORS, targets=TARGETS)
SETTINGS = SupervisedSettings(width=16, layers=2, latent=8, batch=16, epochs=4, learning_rate=0.01, table="toy")


def test_the_encoder_is_that_of_arch2vec() -> None:
    """With its weights it gives its embeddings."""
    theirs = Arch2vec(GRAPHS.shape, Arch2vecSettings(width=16, layers=2, latent=8), seed=3)
    model = Supervised(GRAPHS.shape, SETTINGS)
    _, left = model.network.load_state_dict(theirs.network.state_dict(), strict=False)
    assert {name.partition(".")[0] for name in left} == {"spread", "decoder"}
    assert np.array_equal(model.embed(VECTORS), theirs.embed(VECTORS))


def test_values_and_loss_by_hand() -> None:
    """A dense layer, rectified, and a number, of the embedding; the squared error of targets with mean 0 and deviation 1."""
    model = Supervised(GRAPHS.shape, SETTINGS)
    task = model._task(CELLS)
    first, _, second = (part for part in model.network.head)
    inside = np.maximum(model.embed(VECTORS) @ first.weight.detach().numpy().T + first.bias.detach().numpy(), 0)
    values = (inside @ second.weight.detach().numpy().T + second.bias.detach().numpy())[:, 0]
    assert model.predicted(VECTORS) == pytest.approx(values * TARGETS.std() + TARGETS.mean(), rel=1e-5)
    part = torch.arange(10)
    wanted = (TARGETS[:10] - TARGETS.mean()) / TARGETS.std()
    assert task.examples == 64
    assert task.loss(part, torch.Generator()).item() == pytest.approx(np.mean((values[:10] - wanted) ** 2), rel=1e-4)


def test_a_toy_space_is_learnt(tmp_path: Path) -> None:
    """From some cells to others; scaling the embeddings does not change what is predicted."""
    order = np.random.default_rng(0).permutation(64)
    model = Supervised(GRAPHS.shape, replace(SETTINGS, epochs=60))
    losses = model.train(CELLS[order[:48]], tmp_path / "state", "")
    assert losses[-1] < losses[0] / 10
    held_out = CELLS[order[48:]]
    found = model.figures(CELLS[order[:48]], held_out, SPACE)
    predicted = model.predicted(held_out.vectors)
    assert held_out.targets is not None
    assert found["spearman"] == pytest.approx(spearmanr(predicted, held_out.targets).statistic)
    assert found["spearman"] > 0.8
    assert found["rmse"] == pytest.approx(np.linalg.norm(predicted - held_out.targets) / 4)
    assert found["rmse"] < 0.3
    embedded = model.embed(CELLS[order[:48]].vectors)
    assert embedded.min() >= -1e-6
    assert embedded.max() <= 1 + 1e-6
    model.save(tmp_path / "weights")
    again = Supervised(GRAPHS.shape, SETTINGS)
    again.load(tmp_path / "weights")
    assert np.array_equal(again.predicted(held_out.vectors), predicted)


def test_accuracies_that_are_all_the_same(tmp_path: Path) -> None:
    """They have no ranks, and no deviation to divide by."""
    same = Cells(VECTORS, targets=np.full(64, 93.0))
    model = Supervised(GRAPHS.shape, SETTINGS)
    model.train(same, tmp_path / "state", "")
    assert set(model.figures(same, same, SPACE)) == {"rmse"}


def test_what_it_cannot_do_without(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="`table` is missing: `supervised` learns from the accuracies of one"):
        SupervisedSettings().check()
    with pytest.raises(ConfigurationError, match="learns from cells with their accuracies, and these have none"):
        Supervised(GRAPHS.shape, SETTINGS).train(Cells(VECTORS), tmp_path / "state", "")
