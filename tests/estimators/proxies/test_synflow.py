"""SynFlow against the product formula, and what it does with norms, attention, biases and vocabularies."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from secateur.errors import EvaluationFailure
from secateur.estimators.proxies import score
from secateur.estimators.proxies.synflow import is_norm


def chain(*middle):
    """Two linear layers with something between them, and the flow 1ᵀ |W₂| |W₁| 1 through them."""
    first, second = nn.Linear(3, 4), nn.Linear(4, 2)
    flow = second.weight.detach().double().abs() @ first.weight.detach().double().abs() @ torch.ones(3).double()
    return nn.Sequential(first, *middle, second), float(flow.sum())


BATCH = {"input": torch.randn(5, 3, generator=torch.Generator().manual_seed(0))}


def test_by_hand():
    network = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False))
    network[0].weight.data = torch.tensor([[1.0, -2.0], [0.0, 3.0]])
    network[1].weight.data = torch.tensor([[-1.0, 2.0]])
    # |W₁| 1 = (3, 3), R = 3 + 6 = 9; each of the two layers carries all of it.
    assert score("synflow", network, {"input": torch.zeros(7, 2)}) == pytest.approx(18)


@pytest.mark.parametrize(
    "middle",
    [
        (),
        (nn.ReLU(),),
        (nn.ReLU(inplace=True),),
        (nn.GELU(),),
        (nn.Tanh(),),
        (nn.LayerNorm(4), nn.SiLU()),
        (nn.BatchNorm1d(4), nn.ReLU()),
        (nn.RMSNorm(4),),
        (nn.Dropout(0.5),),
    ],
    ids=lambda middle: "-".join(type(m).__name__ for m in middle) or "nothing",
)
def test_each_layer_of_a_chain_carries_the_flow(middle):
    network, flow = chain(*middle)
    assert score("synflow", network, BATCH) == pytest.approx(2 * flow, rel=1e-9)


class Functional(nn.Module):
    """Attention with softmax by hand, a functional norm and activation."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(3, 3, bias=False) for _ in range(3))

    def forward(self, input):  # noqa: A002
        states = F.layer_norm(F.gelu(input), (3,))
        scores = self.query(states) @ self.key(states).transpose(-1, -2)
        return F.softmax(scores, dim=-1) @ self.value(states)


class Fused(Functional):
    def forward(self, input):  # noqa: A002
        query, key, value = self.query(input), self.key(input), self.value(input)
        return F.scaled_dot_product_attention(query, key, value)


@pytest.mark.parametrize("network", [Functional(), Fused()], ids=["by hand", "fused"])
def test_attention_lets_the_values_flow(network):
    flow = 5 * float(network.value.weight.detach().double().abs().sum())  # five positions; query and key carry nothing
    assert score("synflow", network, {"input": torch.zeros(2, 5, 3)}) == pytest.approx(flow)


def test_real_softmax_would_give_the_same_where_positions_are_equal():
    """The claim that evenly mixed positions change nothing: the gradient with softmax, at ones."""
    network = Functional()
    for parameter in network.parameters():
        parameter.data = parameter.data.abs()
    ones = torch.ones(1, 5, 3)
    (torch.softmax(network.query(ones) @ network.key(ones).transpose(-1, -2), -1) @ network.value(ones)).sum().backward()
    flow = sum(float((p.detach() * p.grad).abs().sum()) for p in network.parameters())
    assert score("synflow", network, {"input": torch.zeros(2, 5, 3)}) == pytest.approx(flow, rel=1e-5)


def flow_of_decoder(network, kind):
    """R and the score by differentiating the residual stream written out: h + |o||v| h, then h + |down||up| h."""
    leaves, state = [], torch.ones(network.config.width, dtype=torch.float64)

    def matrix(weight, transposed=False):
        leaves.append(weight.detach().double().abs().requires_grad_())
        return leaves[-1].T if transposed else leaves[-1]

    for block in network.decoder_modules():
        if kind.startswith("gpt2") and hasattr(block, "attn"):
            value = block.attn.c_attn.weight[:, 2 * network.config.width :]
            state = state + matrix(block.attn.c_proj.weight, True) @ matrix(value, True) @ state
            state = state + matrix(block.mlp.c_proj.weight, True) @ matrix(block.mlp.c_fc.weight, True) @ state
        elif hasattr(block, "attention"):
            state = state + matrix(block.attention.o.weight) @ matrix(block.attention.kv.weight[network.config.width :]) @ state
            state = state + matrix(block.feed_forward.narrow.weight) @ matrix(block.feed_forward.wide.weight) @ state
    gradients = torch.autograd.grad(state.sum(), leaves)
    return sum(float((w * g).sum()) for w, g in zip(leaves, gradients, strict=True))


def test_decoders_by_their_residual_stream(kind, make, text):
    network = make(kind)
    assert score("synflow", network, text) == pytest.approx(flow_of_decoder(network, kind), rel=1e-9)


def test_deep_networks_need_float64():
    network = nn.Sequential(*[nn.Linear(64, 64, bias=False) for _ in range(24)])
    for layer in network:
        layer.weight.data.fill_(1.0)
    batch = {"input": torch.zeros(1, 64)}
    assert score("synflow", network, batch) == pytest.approx(24 * 64.0**25)
    with pytest.raises(EvaluationFailure, match="overflowed"):
        score("synflow", network, batch, double=False)


def test_norms_are_told_by_name():
    class LlamaRMSNorm(nn.Module):
        pass

    assert is_norm(LlamaRMSNorm())
    assert is_norm(nn.BatchNorm2d(1))
    assert not is_norm(nn.Linear(1, 1))
