"""grad_norm, SNIP and GraSP against central differences; all also on a quadratic loss worked out by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from secateur.errors import ConfigurationError, EvaluationFailure
from secateur.estimators.proxies import score


def squares(output, labels):
    return 0.5 * ((output - labels) ** 2).sum(1).mean()


@pytest.fixture
def line():
    """y = w·x with w = (1, −2); one example x = (3, 1), label 0: y = 1, L = ½, ∂L/∂w = y x = (3, 1), H = x xᵀ."""
    network = nn.Linear(2, 1, bias=False)
    network.weight.data = torch.tensor([[1.0, -2.0]])
    return network, {"input": torch.tensor([[3.0, 1.0]]), "labels": torch.zeros(1, 1)}


def test_by_hand(line):
    network, batch = line
    assert score("grad_norm", network, batch, loss=squares) == pytest.approx(10**0.5)
    assert score("snip", network, batch, loss=squares) == pytest.approx(3 + 2)
    # H g = x (x·g) = (3, 1) · 10, and −w·(H g) = −(30 − 20)
    assert score("grasp", network, batch, loss=squares) == pytest.approx(-10)


def test_a_loss_without_curvature_has_no_grasp(line):
    network, batch = line
    assert score("grasp", network, batch, loss=lambda output, labels: output.sum()) == 0


def test_the_mean_over_batches(line):
    network, batch = line
    still = {"input": torch.zeros(1, 2), "labels": torch.zeros(1, 1)}
    assert score("snip", network, [batch, still], loss=squares) == pytest.approx(5 / 2)


@pytest.fixture
def small():
    torch.manual_seed(3)
    network = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    return network, {"input": torch.randn(5, 3, dtype=torch.float64), "labels": torch.tensor([0, 1, 1, 0, 1])}


def differences(network, batch, step=1e-5):
    """∂L/∂w of each parameter by central differences."""
    found = []
    for parameter in network.parameters():
        gradient = torch.zeros_like(parameter)
        for place in range(parameter.numel()):
            values = []
            for sign in (1, -1):
                parameter.data.view(-1)[place] += sign * step
                with torch.no_grad():
                    values.append(F.cross_entropy(network(batch["input"]), batch["labels"]))
                parameter.data.view(-1)[place] -= sign * step
            gradient.view(-1)[place] = (values[0] - values[1]) / (2 * step)
        found.append(gradient.detach())
    return found


def test_first_order_by_differences(small):
    network, batch = small
    gradients = differences(network, batch)
    norm = sum(float(g.norm()) for g in gradients)
    sensitivity = sum(float((p.detach() * g).abs().sum()) for p, g in zip(network.parameters(), gradients, strict=True))
    assert score("grad_norm", network, batch, loss=F.cross_entropy) == pytest.approx(norm, rel=1e-6)
    assert score("snip", network, batch, loss=F.cross_entropy) == pytest.approx(sensitivity, rel=1e-6)


def test_grasp_by_differences(small):
    network, batch = small
    step = 1e-4
    gradients = differences(network, batch)
    moved = []
    for sign in (1, -1):  # H g = (g(w + h g) − g(w − h g)) / 2h
        for p, g in zip(network.parameters(), gradients, strict=True):
            p.data += sign * step * g
        moved.append(differences(network, batch))
        for p, g in zip(network.parameters(), gradients, strict=True):
            p.data -= sign * step * g
    expected = -sum(
        float((p.detach() * (up - down) / (2 * step)).sum()) for p, up, down in zip(network.parameters(), *moved, strict=True)
    )
    assert score("grasp", network, batch, loss=F.cross_entropy) == pytest.approx(expected, rel=1e-3)


def test_language_models_sum_over_the_body_only(kind, make, text):
    network = make(kind)
    network(**text).loss.backward()
    inside = [p for module in network.decoder_modules() for p in module.parameters()]
    expected = sum(float((p.detach() * p.grad).abs().sum()) for p in inside)
    assert score("snip", make(kind), text) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", ["grad_norm", "snip", "grasp"])
def test_on_language_models_float64_agrees(kind, make, text, name):
    network = make(kind)
    assert score(name, network, text) == pytest.approx(score(name, network, text, double=True), rel=1e-2)


def test_a_network_without_a_loss_says_so(small):
    network, batch = small

    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network

        def forward(self, input, labels=None):  # noqa: A002
            return self.inner(input)

    with pytest.raises(ConfigurationError, match=r"`Plain` returns no `loss`"):
        score("snip", Plain(), batch)


def test_labels_must_be_there(small):
    network, batch = small
    with pytest.raises(ConfigurationError, match="`labels` must be in the batch"):
        score("snip", network, {"input": batch["input"]}, loss=F.cross_entropy)


def test_a_loss_that_does_not_depend_on_the_body_fails(small):
    network, batch = small
    with pytest.raises(EvaluationFailure, match="does not depend on any weight"):
        score("snip", network, batch, loss=lambda output, labels: torch.tensor(1.0))


def test_a_loss_that_is_not_finite_fails(small):
    network, batch = small
    with pytest.raises(EvaluationFailure, match="the loss is inf"):
        score("snip", network, batch, loss=lambda output, labels: output.sum() + float("inf"))


def test_a_gradient_that_is_not_finite_fails(small):
    network, batch = small
    with pytest.raises(EvaluationFailure, match=r"the gradient by `0.weight` is not finite"):
        score("grad_norm", network, batch, loss=lambda output, labels: (output * 0).sum().sqrt())
