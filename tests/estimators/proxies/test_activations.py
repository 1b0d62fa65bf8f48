"""relu_log_det and NASWOT by counting codes by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from transformers.activations import ACT2FN

from secateur.errors import ConfigurationError, EvaluationFailure
from secateur.estimators.proxies import score


def identity(units, *after):
    layer = nn.Linear(units, units, bias=False)
    layer.weight.data = torch.eye(units)
    return nn.Sequential(layer, *after)


#: Codes 101, 110 and 000: agreements 3 on the diagonal; 1, 1 and 1 off it.
THREE = torch.tensor([[1.0, -1.0, 2.0], [3.0, 1.0, -1.0], [-1.0, -2.0, -3.0]])


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize(
    "activation",
    [
        nn.ReLU(),
        nn.ReLU(inplace=True),
        nn.GELU(),
        nn.SiLU(),
        ACT2FN["gelu_new"],
        ACT2FN["gelu"],
        Call(F.relu),
        Call(torch.relu),
        Call(torch.Tensor.relu),
        Call(F.gelu),
    ],
)
def test_each_kind_of_activation_is_seen_once(activation):
    # |K| of 3 on the diagonal and 1 elsewhere: (3 − 1)² (3 + 2 · 1) = 20
    network = identity(3, activation)
    assert score("relu_log_det", network, {"input": THREE}) == pytest.approx(math.log(20))
    assert score("naswot", network, {"input": THREE}) == pytest.approx(math.log(20))


def test_layers_add_up():
    # The second layer's inputs are ReLU's outputs less ½: the same codes again, so K doubles.
    network = identity(3, nn.ReLU(), Call(lambda x: x - 0.5), nn.ReLU())
    assert score("relu_log_det", network, {"input": THREE}) == pytest.approx(math.log(8 * 20))


def test_a_text_is_one_example_for_one_and_many_for_the_other():
    texts = torch.tensor([[[1.0, 1.0], [1.0, -1.0]], [[-1.0, -1.0], [1.0, 1.0]]])  # codes 11 10 | 00 11
    network = identity(2, nn.ReLU())
    # 1110 and 0011 agree in one of four places: 16 − 1
    assert score("relu_log_det", network, {"input": texts}) == pytest.approx(math.log(15))
    distinct = torch.tensor([[[1.0, 1.0], [1.0, -1.0]]])
    # 11 and 10 agree in one of two: 4 − 1
    assert score("naswot", network, {"input": distinct}) == pytest.approx(math.log(3))


def test_padding_is_no_context():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = identity(2, nn.ReLU())

        def forward(self, input, attention_mask):  # noqa: A002
            return self.inner(input)

    inputs = torch.tensor([[[1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]])
    batch = {"input": inputs, "attention_mask": torch.tensor([[1, 1, 0]])}
    assert score("naswot", Masked(), batch) == pytest.approx(math.log(3))


def test_contexts_of_a_language_model(make, text):
    """Contexts that end alike count once: a repeated text changes nothing."""
    network = make("gpt2")
    few = {"input_ids": text["input_ids"][:2]}
    again = {"input_ids": text["input_ids"][[0, 1, 0]]}
    assert score("naswot", network, again) == pytest.approx(score("naswot", network, few))
    with pytest.raises(EvaluationFailure, match="3 examples is singular: two of them have the same code"):
        score("relu_log_det", network, again)


def test_codes_of_decoders_are_those_of_the_feed_forward(kind, make, text):
    network = make(kind)
    inputs = []
    for name, module in network.named_modules():
        if name.endswith(("mlp.c_fc", "feed_forward.wide")):
            module.register_forward_hook(lambda _m, _a, output: inputs.append(output.detach()))
    network(input_ids=text["input_ids"])
    codes = torch.cat([(x > 0).flatten(1) for x in inputs], dim=1).double()
    expected = torch.logdet(codes @ codes.T + (1 - codes) @ (1 - codes).T)
    assert codes.shape == (4, 2 * 6 * 32)
    assert score("relu_log_det", make(kind), text) == pytest.approx(float(expected))


def test_of_many_contexts_128_are_drawn_by_the_seed(make):
    network = make("gpt2", 200, width=32, layers=6)
    batch = {"input_ids": torch.arange(192).view(16, 12)}
    first = score("naswot", network, batch, seed=1)
    assert first == score("naswot", network, batch, seed=1)
    assert first != score("naswot", network, batch, seed=2)


def test_too_few_units_fail():
    inputs = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    with pytest.raises(EvaluationFailure, match="4 examples is singular: 2 units do not tell them apart"):
        score("relu_log_det", identity(2, nn.ReLU()), {"input": inputs})


def test_one_example_is_too_few():
    with pytest.raises(ConfigurationError, match="at least 2 examples, got 1"):
        score("relu_log_det", identity(2, nn.ReLU()), {"input": torch.ones(1, 2)})


def test_a_network_that_switches_nothing_fails():
    with pytest.raises(EvaluationFailure, match="no ReLU-like activation"):
        score("relu_log_det", identity(2, nn.Tanh()), {"input": torch.ones(2, 2)})


def test_positions_must_agree():
    network = identity(2, nn.ReLU(), Call(lambda x: x[:, :1]), nn.ReLU())
    with pytest.raises(EvaluationFailure, match="the same positions in all layers"):
        score("naswot", network, {"input": torch.ones(2, 3, 2)})
