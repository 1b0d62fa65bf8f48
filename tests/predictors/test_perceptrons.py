"""Networks in numpy, against torch."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.predictors import perceptrons
from secateur.predictors.perceptrons import Perceptrons, trained
from secateur.rng import generator

RNG = np.random.default_rng(1)
INPUTS, TARGETS = RNG.random((7, 3)), RNG.standard_normal((7, 2))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_outputs_and_gradients_are_those_of_torch(activation: str, loss: str) -> None:
    import torch

    networks = trained(INPUTS, TARGETS, generator(0), hidden=[5, 4], members=2, activation=activation, steps=3)  # type: ignore[arg-type]
    shares = RNG.random((2, 7, 2))
    tensors = [torch.tensor(a, requires_grad=True) for pair in networks.layers for a in pair]
    values = torch.tensor(INPUTS)[None]
    for place in (0, 2):
        values = getattr(torch, activation)(values @ tensors[place] + tensors[place + 1])
    errors = values @ tensors[4] + tensors[5] - torch.tensor(TARGETS)
    (torch.tensor(shares) * (errors**2 if loss == "squared" else errors.abs())).sum().backward()
    assert networks.predict(INPUTS) == pytest.approx((errors + torch.tensor(TARGETS)).detach().numpy())
    found = networks.gradients(INPUTS, TARGETS, shares, loss)  # type: ignore[arg-type]
    for mine, tensor in zip([a for pair in found for a in pair], tensors, strict=True):
        assert tensor.grad is not None
        assert mine == pytest.approx(tensor.grad.numpy())


def test_a_step_is_that_of_adamw() -> None:
    """Ten steps by torch's AdamW, with the same falling rate, from the same weights."""
    import torch

    networks = trained(INPUTS, TARGETS, generator(0), hidden=[4], steps=10, rate=0.05, decay=0.5)
    first = trained(INPUTS, TARGETS, generator(0), hidden=[4], steps=0)
    tensors = [torch.tensor(a, requires_grad=True) for pair in first.layers for a in pair]
    optimiser = torch.optim.AdamW(tensors, lr=0.05, weight_decay=0.5)
    for step in range(1, 11):
        optimiser.param_groups[0]["lr"] = 0.05 * 0.5 * (1 + np.cos(np.pi * step / 11))
        optimiser.zero_grad()
        hidden = torch.relu(torch.tensor(INPUTS)[None] @ tensors[0] + tensors[1])
        ((hidden @ tensors[2] + tensors[3] - torch.tensor(TARGETS)) ** 2).mean().backward()
        optimiser.step()
    for mine, tensor in zip([a for pair in networks.layers for a in pair], tensors, strict=True):
        assert mine == pytest.approx(tensor.detach().numpy(), abs=1e-6)


def test_members_are_trained_as_if_alone() -> None:
    """What a member is not shown has no part in it, and others have none either."""
    shares = np.stack([np.full((7, 2), 1 / 14), np.where(np.arange(7)[:, None] < 4, 1 / 8, 0.0) * np.ones((7, 2))])
    both = trained(INPUTS, TARGETS, generator(3), hidden=[4], members=2, shares=shares, steps=20)
    changed = np.where(np.arange(7)[:, None] < 4, TARGETS, 100.0)
    other = trained(INPUTS, changed, generator(3), hidden=[4], members=2, shares=shares, steps=20)
    assert both.predict(INPUTS)[1] == pytest.approx(other.predict(INPUTS)[1])
    assert not np.allclose(both.predict(INPUTS)[0], other.predict(INPUTS)[0])
    assert both.member(1).predict(INPUTS)[0] == pytest.approx(both.predict(INPUTS)[1])


def test_many_inputs_pass_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    networks = trained(INPUTS, TARGETS, generator(0), hidden=[5], members=2, steps=1)
    whole = networks.predict(INPUTS)
    monkeypatch.setattr(perceptrons, "CHUNK", 3)
    assert networks.predict(INPUTS) == pytest.approx(whole)
    assert isinstance(networks, Perceptrons)
    assert networks.predict(INPUTS[:0]).shape == (2, 0, 2)
