"""jacob_cov against explicit Jacobians."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from secateur.errors import ConfigurationError, EvaluationFailure
from secateur.estimators.proxies import score


def formula(rows):
    eigenvalues = np.linalg.eigvalsh(np.corrcoef(rows))
    return -float(np.sum(np.log(eigenvalues + 1e-5) + 1 / (eigenvalues + 1e-5)))


def test_by_explicit_jacobians():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    inputs = torch.randn(4, 6, dtype=torch.float64)
    rows = [torch.autograd.functional.jacobian(network, x).sum(0).numpy() for x in inputs]
    assert score("jacob_cov", network, {"input": inputs}) == pytest.approx(formula(rows), rel=1e-6)


def test_uncorrelated_jacobians_by_hand():
    """With ReLU and the identity each example has its own Jacobian: (1, 1, 0, 0), (1, 0, 1, 0) do not correlate, λ = 1, 1."""
    inputs = torch.tensor([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]])
    network = nn.Sequential(nn.Linear(4, 4, bias=False), nn.ReLU())
    network[0].weight.data = torch.eye(4)
    assert score("jacob_cov", network, {"input": inputs}) == pytest.approx(-2 * (math.log(1 + 1e-5) + 1 / (1 + 1e-5)))


def test_a_linear_network_is_worst():
    """All Jacobians are equal: one eigenvalue is N, the others zero."""
    score_found = score("jacob_cov", nn.Linear(5, 2), {"input": torch.randn(3, 5)})
    expected = -(math.log(3 + 1e-5) + 1 / (3 + 1e-5) + 2 * (math.log(1e-5) + 1e5))
    assert score_found == pytest.approx(expected, rel=1e-3)


def test_language_models_by_differences(make, text):
    """The last hidden states, in a random direction, by what the first layer gets."""
    network = make("gpt2").double()
    direction = torch.randn(16, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    stack = network.transformer

    def response(states):
        for block in stack.h:
            states = block(states, None, True)
        return (stack.ln_f(states) @ direction).sum((1, 2)) if states.ndim == 4 else (stack.ln_f(states) @ direction).sum(1)

    with torch.no_grad():
        states = stack.wte(text["input_ids"]) + stack.wpe(torch.arange(6))
        rows, step = torch.zeros(4, 96, dtype=torch.float64), 1e-6
        for place in range(96):
            change = torch.zeros(96, dtype=torch.float64)
            change[place] = step
            change = change.view(1, 6, 16)
            rows[:, place] = (response(states + change) - response(states - change)) / (2 * step)
    assert score("jacob_cov", network, text, seed=5) == pytest.approx(formula(rows.numpy()), rel=1e-4)


def test_the_seed_decides_the_direction(kind, make, text):
    network = make(kind)
    assert score("jacob_cov", network, text, seed=1) == score("jacob_cov", network, text, seed=1)
    assert score("jacob_cov", network, text, seed=1) != score("jacob_cov", network, text, seed=2)


def test_one_example_is_too_few():
    with pytest.raises(ConfigurationError, match="needs at least 2, got 1"):
        score("jacob_cov", nn.Linear(2, 2), {"input": torch.ones(1, 2)})


def test_a_constant_jacobian_fails():
    network = nn.Linear(2, 1)
    network.weight.data.zero_()
    with pytest.raises(EvaluationFailure, match="Jacobian of an example is constant"):
        score("jacob_cov", network, {"input": torch.ones(2, 2)})


def test_an_output_without_input_fails():
    class Constant(nn.Linear):
        def forward(self, input):  # noqa: A002
            return torch.ones(len(input), 1)

    with pytest.raises(EvaluationFailure, match="does not depend on its input"):
        score("jacob_cov", Constant(2, 2), {"input": torch.ones(2, 2)})


def test_a_network_with_nothing_to_differentiate_by():
    class Counter(nn.Linear):
        def forward(self, input):  # noqa: A002
            return super().forward(input.float())

    with pytest.raises(ConfigurationError, match="takes no floating-point input and has no embedding"):
        score("jacob_cov", Counter(2, 2), {"input": torch.ones(2, 2, dtype=torch.long)})
