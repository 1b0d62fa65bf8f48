"""Bilevel steps against exact derivatives, and the two trainings in which cells are found, on digits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call

from secateur.cells import deriving
from secateur.cells.network import Sizes
from secateur.cells.supernet import SINGLE, CellSupernet
from secateur.errors import ConfigurationError, DataError, EvaluationFailure
from secateur.tasks import load_images
from secateur.training.cells import searching
from secateur.training.cells.bilevel import first_order, loss_of, second_order
from secateur.training.cells.searching import divided, edge_importance, train_masks, train_supernet
from secateur.training.cells.settings import STEPS, CellTraining
from secateur.training.images import score_images

SIZES = Sizes(cells=3, channels=2, colours=1, classes=3)
SMOOTH = ("avg_pool_3x3", "skip_connect", "dil_conv_3x3")
QUICK = CellTraining(batch=16, epochs=2, warm_up=1, mask_epochs=2, architecture_rate=0.05)


def batch(seed: int) -> dict[str, torch.Tensor]:
    drawn = torch.Generator().manual_seed(seed)
    images = torch.randn(6, 1, 8, 8, generator=drawn, dtype=torch.float64)
    return {"pixel_values": images, "labels": torch.randint(3, (6,), generator=drawn)}


@pytest.fixture
def tiny() -> CellSupernet:
    """In double precision, so that differences can be small."""
    return CellSupernet(SIZES, nodes=1, operations=SMOOTH, seed=1).double()


@pytest.fixture(scope="module")
def digits() -> Any:
    return load_images("digits", max_train=64, max_validation=64, max_test=64)


def test_the_first_order_is_a_finite_difference(tiny: CellSupernet) -> None:
    gradients = first_order(tiny, batch(0))
    for parameter, gradient in zip(tiny.architecture_parameters(), gradients, strict=True):
        flat = parameter.data.view(-1)
        for place in range(0, len(flat), 3):
            sides = []
            for sign in (1e-5, -1e-5):
                flat[place] += sign
                sides.append(float(loss_of(tiny, batch(0)).detach()))
                flat[place] -= sign
            assert float(gradient.view(-1)[place]) == pytest.approx((sides[0] - sides[1]) / 2e-5, rel=1e-3, abs=1e-8)


@pytest.mark.parametrize("with_momentum", [False, True])
def test_the_second_order_is_the_exact_derivative(tiny: CellSupernet, with_momentum: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr("secateur.training.cells.bilevel.DIFFERENCE", 1e-5)
    train, validation, rate, decay = batch(1), batch(2), 0.3, 0.01
    weights, parameters = tiny.weights(), tiny.architecture_parameters()
    names = {id(p): name for name, p in tiny.named_parameters()}
    momentum = [torch.full_like(w, 0.01) if with_momentum else None for w in weights]
    found = second_order(tiny, train, validation, rate, momentum, decay)

    steps = torch.autograd.grad(loss_of(tiny, train), weights, create_graph=True)
    ahead = {
        names[id(w)]: w.detach() - rate * (step + decay * w.detach() + (0.01 if with_momentum else 0.0))
        for w, step in zip(weights, steps, strict=True)
    }
    logits = functional_call(tiny, ahead, (validation["pixel_values"],))
    exact = torch.autograd.grad(F.cross_entropy(logits, validation["labels"]), parameters)
    plain = first_order(tiny, validation)
    for mine, theirs, first in zip(found, exact, plain, strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-3, atol=1e-7)
        assert not torch.allclose(mine, first, rtol=1e-2, atol=1e-7)


def test_gradients_of_the_architecture_leave_the_network_alone(tiny: CellSupernet) -> None:
    tiny(batch(0)["pixel_values"])
    before = {name: tensor.clone() for name, tensor in tiny.state_dict().items()}
    first_order(tiny, batch(1))
    second_order(tiny, batch(1), batch(2), 0.1, [None] * len(tiny.weights()), 1e-3)
    assert all(torch.equal(before[name], tensor) for name, tensor in tiny.state_dict().items())
    assert tiny.stack.stem[1].momentum == 0.1


def test_the_probability_waits_and_falls() -> None:
    found = [CellTraining().probability(done, 12, 2) for done in range(12)]
    assert found[:3] == [0.0, 0.0, 1.0]
    assert found[2:] == sorted(found[2:], reverse=True)
    assert found[-1] == 0.0
    assert CellTraining(last_probability=0.5).probability(11, 12, 2) == 0.5


def test_masks_can_go_as_far_as_in_the_text() -> None:
    assert CellTraining().rate_of_masks(STEPS) == pytest.approx(1e-4)
    assert CellTraining().rate_of_masks(STEPS // 10) == pytest.approx(1e-3)
    assert CellTraining(mask_rate=0.5).rate_of_masks(7) == 0.5


def test_settings_that_contradict_each_other() -> None:
    with pytest.raises(ConfigurationError, match=r"`threshold` must be below `mask_start` \(0.01\), got 0.01"):
        CellTraining(threshold=0.01).check()


def test_images_are_divided(digits: Any) -> None:
    for share, count in ((0.25, 16), (0.001, 2), (0.999, 62)):
        own, others = divided(digits.train, share, torch.Generator().manual_seed(0))
        assert (len(own), len(others)) == (64 - count, count)
        both = torch.cat([own.pixels, others.pixels]).flatten(1)
        assert sorted(both.tolist()) == sorted(digits.train.pixels.flatten(1).tolist())


def test_too_few_images_to_divide(digits: Any) -> None:
    with pytest.raises(DataError, match="3 training images are too few to hold some out for the architecture"):
        divided(digits.train[:3], 0.2, torch.Generator())


def moved(supernet: CellSupernet, begun: CellSupernet) -> dict[str, bool]:
    parts = {"alphas": "alphas", "betas": "betas", "weights": "stack"}
    before, after = begun.state_dict(), supernet.state_dict()
    return {
        part: any(not torch.equal(before[n], after[n]) for n in before if n.startswith(prefix) and "norm" not in n)
        for part, prefix in parts.items()
    }


def fresh(nodes: int = 1, **given: Any) -> CellSupernet:
    return CellSupernet(Sizes(3, 2, 1, 10), nodes, seed=1, **given)


@pytest.mark.parametrize("order", ["first", "second", "joint"])
def test_a_super_network_learns(order: str, digits: Any) -> None:
    supernet = fresh()
    told: list[tuple[int, float]] = []
    losses = train_supernet(supernet, digits, replace(QUICK, order=order, epochs=6), 0, lambda *said: told.append(said))
    assert losses[-1] < losses[0]
    assert told == list(enumerate(losses, 1))
    assert moved(supernet, fresh()) == {"alphas": True, "betas": True, "weights": True}
    again = fresh()
    train_supernet(again, digits, replace(QUICK, order=order, epochs=6), 0)
    assert all(torch.equal(a, b) for a, b in zip(supernet.state_dict().values(), again.state_dict().values(), strict=True))


def test_the_architecture_waits_for_the_weights(digits: Any) -> None:
    supernet = fresh()
    train_supernet(supernet, digits, replace(QUICK, warm_up=2), 0)
    assert moved(supernet, fresh()) == {"alphas": False, "betas": False, "weights": True}


def test_without_weights_of_edges(digits: Any) -> None:
    supernet = fresh(encoding=SINGLE)
    train_supernet(supernet, digits, QUICK, 0)
    assert edge_importance(supernet) == {"normal": [[1.0, 1.0]], "reduction": [[1.0, 1.0]]}


def test_masks_are_learnt_and_nothing_else(digits: Any) -> None:
    supernet = fresh(nodes=2)
    train_supernet(supernet, digits, replace(QUICK, epochs=6), 0)
    before = {name: tensor.clone() for name, tensor in supernet.named_parameters()}
    losses = train_masks(supernet, digits, replace(QUICK, mask_epochs=8), 0)
    assert all(torch.equal(before[name], tensor) for name, tensor in supernet.named_parameters() if name in before)
    assert losses[-1] < losses[0] + 0.5
    network = deriving.extract(supernet, deriving.by_masks(supernet))
    assert network.count()[0] < supernet.stack.count()[1]
    images = next(digits.batches("test", 64))["pixel_values"]
    with torch.no_grad():
        assert torch.allclose(network.eval()(images), supernet(images), atol=1e-5)
    assert score_images(network, digits, "test") == score_images(supernet, digits, "test")


def test_a_loss_that_is_no_number(digits: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(searching, "loss_of", lambda network, batch: loss_of(network, batch) * math.nan)
    with pytest.raises(EvaluationFailure, match="the loss is nan after epoch 1"):
        train_supernet(fresh(), digits, replace(QUICK, warm_up=2), 0)
