"""What holds for every proxy: the network stays as it was, the vocabulary stays out, failures have reasons."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from secateur.decoders import Builder, Sizes, architecture_of
from secateur.errors import ConfigurationError, EvaluationFailure, UnknownNameError
from secateur.estimators.proxies import PROXIES, Cost, Proxy, cost, score
from secateur.estimators.proxies.base import proxy
from secateur.objectives import QUANTITIES, serving

WITH_WEIGHTS = [name for name, found in PROXIES.items() if found.weights]


def test_the_table():
    # The block zoo is no score of an untrained network: it needs a trained reference.
    scores = {name for name, quantity in QUANTITIES.items() if quantity.direction == "max"} - {"block_zoo"}
    assert set(PROXIES) == {*scores, "parameters", "macs"}
    assert all(found.name == name for name, found in PROXIES.items())
    assert scores - set(serving("design")) == {"decoder_macs"}


@pytest.mark.parametrize("name", PROXIES)
def test_the_network_stays_as_it_was(kind, make, text, name):
    network = make(kind)
    network.train()
    network.decoder_modules()[0].eval()
    network(**text).loss.backward()
    parameter = next(network.parameters())
    before = copy.deepcopy(network.state_dict())
    gradients = [p.grad.clone() for p in network.parameters()]
    modes = [module.training for module in network.modules()]
    wants = [p.requires_grad for p in network.parameters()]
    state = torch.get_rng_state()
    first = score(name, network, text)
    assert math.isfinite(first)
    assert torch.equal(torch.get_rng_state(), state)
    assert next(network.parameters()) is parameter
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())
    assert all(torch.equal(p.grad, g) for p, g in zip(network.parameters(), gradients, strict=True))
    assert [p.requires_grad for p in network.parameters()] == wants
    assert [module.training for module in network.modules()] == modes
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in network.modules())
    assert score(name, network, text) == first


@pytest.mark.parametrize("name", ["snip", "synflow", "jacob_cov", "relu_log_det", "macs"])
def test_the_network_stays_as_it_was_when_it_fails(make, name):
    network = make("gpt2").train()
    with pytest.raises((ValueError, IndexError)):
        score(name, network, {"input_ids": torch.full((2, 30), 99), "labels": torch.zeros(2, 30, dtype=torch.long)})
    assert all(module.training for module in network.modules())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in network.modules())


def larger(make, kind):
    """A network of 23 words and one of 57 with the same weights where they share them."""
    small, large = make(kind), make(kind, 57)
    for p, q in zip(small.parameters(), large.parameters(), strict=True):
        q.data[tuple(slice(0, n) for n in p.shape)] = p.data
    return small, large


BODY_ONLY = ["synflow", "jacob_cov", "relu_log_det", "naswot", "l2_norm", "decoder_parameters", "decoder_macs"]


@pytest.mark.parametrize("name", BODY_ONLY)
def test_the_vocabulary_does_not_enter(kind, make, text, name):
    small, large = larger(make, kind)
    assert score("parameters", large) > score("parameters", small)
    assert score(name, large, text) == pytest.approx(score(name, small, text), rel=1e-9)


@pytest.mark.parametrize("name", ["synflow", "l2_norm"])
def test_embeddings_are_left_out(kind, make, text, name):
    network = make(kind)
    expected = score(name, network, text)
    inside = {id(p) for module in network.decoder_modules() for p in module.parameters()}
    for parameter in network.parameters():
        if id(parameter) not in inside:
            parameter.data.mul_(3)
    assert score(name, network, text) == expected


@pytest.mark.parametrize("name", WITH_WEIGHTS)
def test_weights_that_are_not_finite_fail_with_the_reason(kind, make, text, name):
    network = make(kind)
    parameter = next(network.decoder_modules()[1].parameters())
    parameter.data.view(-1)[3] = float("nan")
    where = next(name for name, p in network.named_parameters() if p is parameter)
    with pytest.raises(EvaluationFailure, match=rf"the weights of `{where}` hold values that are not finite"):
        score(name, network, text)


def test_a_network_to_measure_can_be_scored(make, text):
    """Its weights want no gradients; the scores take their own."""
    network = Builder(Sizes(vocabulary=23, positions=12))(architecture_of(make("gpt2").config))
    assert not any(p.requires_grad for p in network.parameters())
    assert score("snip", network, text) > 0


def test_batch_norms_keep_their_averages():
    network = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2)).eval()
    apart = torch.tensor([1.0, -1.0, 0.0]).view(3, 1, 1, 1)  # so that no two of them switch on the same units
    batch = {"input": torch.randn(3, 1, 4, 4) + 5 * apart, "labels": torch.tensor([0, 1, 0])}
    before = copy.deepcopy(network.state_dict())
    for name in PROXIES:
        assert math.isfinite(score(name, network, batch, loss=F.cross_entropy))
        assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())


@pytest.mark.parametrize("name", ["snip", "synflow", "jacob_cov", "relu_log_det"])
def test_a_classifier_from_transformers(name):
    from transformers import BertConfig, BertForSequenceClassification

    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(0)
    network = BertForSequenceClassification(BertConfig(vocab_size=30, max_position_embeddings=12, **sizes)).eval()
    ids = torch.randint(0, 30, (4, 6), generator=torch.Generator().manual_seed(0))
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": torch.tensor([0, 1, 1, 0])}
    value = score(name, network, batch)
    assert math.isfinite(value)
    network.bert.embeddings.word_embeddings.weight.data.mul_(2)
    if name == "synflow":
        assert score(name, network, batch) == value


def test_cost_by_hand():
    network = nn.Linear(3, 2, bias=False)
    batch = {"input": torch.randn(5, 3), "labels": torch.zeros(5, dtype=torch.long)}
    found = cost("snip", network, batch, loss=F.cross_entropy)
    assert isinstance(found, Cost)
    assert found.flops == 2 * (5 * 6 + 5 * 6)  # forward, and backward to the weights
    assert found.seconds > 0
    assert cost("parameters", network).flops == 0


def test_cost_orders_the_proxies(make, text):
    network = make("gpt2")
    flops = {name: cost(name, network, text).flops for name in ("decoder_parameters", "relu_log_det", "snip", "grasp")}
    assert 0 == flops["decoder_parameters"] < flops["relu_log_det"] < flops["snip"] < flops["grasp"]


def test_unknown_names_get_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean `synflow`"):
        score("sinflow", nn.Linear(1, 1))


@pytest.mark.parametrize("batch", [None, [], {}, {"input": torch.zeros(0, 2)}])
def test_a_batch_must_hold_something(batch):
    with pytest.raises(ConfigurationError, match="`batch` must hold at least one example for the proxy `snip`"):
        score("snip", nn.Linear(2, 1), batch)


def test_a_network_without_weights_is_refused():
    with pytest.raises(ConfigurationError, match="meta device"):
        score("l2_norm", nn.Linear(1, 1, device="meta"))


def test_a_score_that_is_not_finite_fails():
    from secateur.estimators.proxies.probe import Probe

    with pytest.raises(EvaluationFailure, match=r"`wild` is inf: .*float64 may help"):
        Proxy("wild", lambda probe: math.inf)(Probe(nn.Linear(1, 1), {}))


def test_a_proxy_says_what_it_is_among_the_quantities():
    def wild(probe):
        return 0.0

    with pytest.raises(AssertionError, match="`wild` is not a quantity"):
        proxy()(wild)


def test_an_output_of_no_known_form_is_refused():
    class Odd(nn.Linear):
        def forward(self, input):  # noqa: A002
            return {"answer": super().forward(input)}

    with pytest.raises(ConfigurationError, match="output must be a tensor, have `logits` or be a tuple, got `dict`"):
        score("jacob_cov", Odd(2, 1), {"input": torch.ones(2, 2)})


def test_the_first_of_several_outputs_counts():
    class Pair(nn.Linear):
        def forward(self, input):  # noqa: A002
            return super().forward(input), None

    network = Pair(2, 1)
    assert score("synflow", network, {"input": torch.ones(2, 2)}) == pytest.approx(float(network.weight.detach().abs().sum()))
