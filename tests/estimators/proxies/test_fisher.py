"""Fisher on networks small enough to work out by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from secateur.errors import EvaluationFailure
from secateur.estimators.proxies import score


def total(output, labels):
    """The mean over examples of the sum of all outputs times the label: ∂L_n/∂a = label_n."""
    return (output.flatten(1).sum(1) * labels).mean()


def test_one_linear_layer():
    network = nn.Linear(2, 2, bias=False)
    network.weight.data = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    batch = {"input": torch.tensor([[1.0, 2.0], [3.0, -1.0]]), "labels": torch.tensor([1.0, 2.0])}
    # Outputs (1, 3) and (3, 2); times their labels (1, 3) and (6, 4): (1 + 9 + 36 + 16) / (2 · 2)
    assert score("fisher", network, batch, loss=total) == pytest.approx(62 / 4)


def test_positions_are_summed_before_squaring():
    network = nn.Linear(1, 1, bias=False)
    network.weight.data.fill_(2.0)
    batch = {"input": torch.tensor([[[1.0], [2.0], [-4.0]]]), "labels": torch.tensor([1.0])}
    # Outputs 2, 4, −8 at three positions: (−2)² / 2
    assert score("fisher", network, batch, loss=total) == pytest.approx(2)


def test_channels_of_a_convolution_come_first():
    network = nn.Conv2d(1, 2, 1, bias=False)
    network.weight.data = torch.tensor([1.0, 3.0]).view(2, 1, 1, 1)
    batch = {"input": torch.tensor([[[[1.0, 2.0]]]]), "labels": torch.tensor([1.0])}
    # Channel sums 1 + 2 and 3 + 6: (9 + 81) / 2
    assert score("fisher", network, batch, loss=total) == pytest.approx(45)


def test_with_batch_norm_all_examples_run_at_once():
    network = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(8, 1))
    batch = {
        "input": torch.randn(3, 1, 2, 2, generator=torch.Generator().manual_seed(0)),
        "labels": torch.tensor([1.0, 2.0, 3.0]),
    }
    weights, running = network[0].weight.clone(), network[1].running_mean.clone()
    x = network[0](batch["input"]).detach().requires_grad_()
    y = network[4](network[3](network[2](nn.functional.batch_norm(x, None, None, training=True))))
    (gradient_x, gradient_y) = torch.autograd.grad(3 * total(y, batch["labels"]), [x, y])
    expected = ((x * gradient_x).sum((2, 3)) ** 2).sum() + ((y * gradient_y) ** 2).sum()
    assert score("fisher", network, batch, loss=total) == pytest.approx(float(expected.detach()) / 6, rel=1e-4)
    assert torch.equal(network[0].weight, weights)
    assert torch.equal(network[1].running_mean, running)


def test_the_projection_to_the_vocabulary_is_left_out(make, text):
    network = make("gpt2")
    outputs = []
    for module in network.modules():
        if type(module).__name__ == "Conv1D":
            module.register_forward_hook(lambda _m, _a, output: outputs.append(output))
    expected = 0.0
    for n in range(4):
        outputs.clear()
        loss = network(input_ids=text["input_ids"][n : n + 1], labels=text["labels"][n : n + 1]).loss
        gradients = torch.autograd.grad(loss, outputs)
        expected += sum(float(((a.detach() * g).sum((0, 1)) ** 2).sum()) for a, g in zip(outputs, gradients, strict=True))
    assert score("fisher", make("gpt2"), text) == pytest.approx(expected / 8, rel=1e-3)


def test_on_all_decoders(kind, make, text):
    assert score("fisher", make(kind), text) > 0


def test_a_network_without_layers_fails():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, input):  # noqa: A002
            return input * self.weight

    with pytest.raises(EvaluationFailure, match="`fisher` needs linear or convolutional layers"):
        score("fisher", Scale(), {"input": torch.ones(1, 2), "labels": torch.ones(1)}, loss=total)
