"""Counts against closed forms."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from secateur.decoders import Builder, Sizes, architecture_of
from secateur.estimators.proxies import body_parameters, score
from secateur.spaces import decoder_counts


def test_a_chain_by_hand():
    network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))
    assert score("parameters", network) == 16 + 8
    assert score("decoder_parameters", network) == 16 + 8
    assert score("macs", network, {"input": torch.zeros(5, 3)}) == 5 * (12 + 8)
    assert score("decoder_macs", network, {"input": torch.zeros(5, 3)}) == 5 * (12 + 8)


def test_l2_norm_by_hand():
    network = nn.Linear(2, 1)
    network.weight.data, network.bias.data = torch.tensor([[3.0, -4.0]]), torch.tensor([-2.0])
    assert score("l2_norm", network) == pytest.approx(5 + 2)


def test_a_convolution_by_hand():
    # 2 × 2 output pixels, 3 channels out, each 2 channels in × 3 × 3
    assert score("macs", nn.Conv2d(2, 3, 3), {"input": torch.zeros(1, 2, 4, 4)}) == 4 * 3 * 18


def test_decoders_by_their_closed_forms(kind, make, text):
    network = make(kind)
    shape = architecture_of(network.config)
    assert score("decoder_parameters", network) == decoder_counts.decoder_parameters(shape)
    assert score("parameters", network) == sum(p.numel() for p in network.parameters())
    width, tokens, length = 16, 24, 6
    projections = (5 if kind.startswith("transformer_xl") else 4) * width * width + 2 * width * 32
    expected = 2 * (tokens * projections + 2 * tokens * length * width)
    if kind.startswith("transformer_xl"):  # distances are projected once, not for every text; queries meet them as keys
        expected += 2 * (tokens * length * width - (tokens - length) * width * width)
    assert score("decoder_macs", network, text) == expected
    assert score("macs", network, text) > expected


def test_plain_gpt2_projects_to_its_vocabulary(make, text):
    network = make("gpt2")
    assert score("macs", network, text) - score("decoder_macs", network, text) == 24 * 16 * 23


def test_on_the_meta_device(make, text):
    network = make("gpt2")
    shapes = Builder(Sizes(vocabulary=23, positions=12)).meta(architecture_of(network.config))
    for name in ("decoder_parameters", "macs", "decoder_macs"):
        assert score(name, shapes, text) == score(name, network, text)


def test_transformers_own_model_has_the_same_body(make, text):
    ours = make("gpt2")
    stock = GPT2LMHeadModel(
        GPT2Config(vocab_size=23, n_positions=12, n_embd=16, n_layer=2, n_head=2, n_inner=32, bos_token_id=0, eos_token_id=0)
    )
    stock.load_state_dict(ours.state_dict(), strict=False)
    stock.eval()
    assert set(body_parameters(stock)) == set(body_parameters(ours))
    for name in ("decoder_parameters", "decoder_macs", "l2_norm", "snip", "fisher", "synflow", "relu_log_det", "naswot"):
        assert score(name, stock, text) == pytest.approx(score(name, ours, text), rel=1e-4), name
