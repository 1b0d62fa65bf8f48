"""Transformer-XL: its attention against the paper's equations, its recurrence against one long segment."""

from __future__ import annotations

import math

import pytest
import torch

from secateur import decoders
from secateur.decoders import Sizes
from secateur.decoders.transformer_xl import RelativeAttention, hidden_keys, relative_positions
from secateur.devices.memory import peak_memory
from secateur.spaces.decoder import architecture

WORDS = 60
ONE = architecture("transformer_xl", 16, [4], [40])
THREE = architecture("transformer_xl", 16, [2, 4, 8], [32, 64, 48])
ADAPTIVE = architecture("transformer_xl", 16, [2, 4], [32, 48], 8, 2)


def by_the_paper(attention, states, memory, heads, width):
    """Dai et al. (2019), section 3.3, one number at a time (float64)."""
    context = states if memory is None else torch.cat([memory, states], 1)
    batch, length, _ = states.shape
    seen, size = context.shape[1] - length, width // heads
    w_k, w_v = attention.kv.weight.chunk(2)
    u, v = attention.r_w_bias, attention.r_r_bias
    out = torch.zeros_like(states)
    for b in range(batch):
        for h in range(heads):
            part = slice(h * size, (h + 1) * size)
            for i in range(length):
                q = attention.q.weight[part] @ states[b, i]
                scores, values = [], []
                for j in range(seen + i + 1):
                    k = w_k[part] @ context[b, j]
                    distance = seen + i - j
                    rates = [distance / 10000 ** (2 * n / width) for n in range(width // 2)]
                    sinusoid = torch.tensor([math.sin(x) for x in rates] + [math.cos(x) for x in rates], dtype=torch.float64)
                    r = attention.r.weight[part] @ sinusoid
                    scores.append((q @ k + q @ r + u[h] @ k + v[h] @ r) / math.sqrt(size))
                    values.append(w_v[part] @ context[b, j])
                weights = torch.stack(scores).softmax(0)
                out[b, i, part] = (weights[:, None] * torch.stack(values)).sum(0)
    return out @ attention.o.weight.t()


@pytest.mark.parametrize("seen", [0, 4])
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_attention_follows_the_papers_equations(heads, seen):
    width, length = 8, 5
    config = decoders.config_of(architecture("transformer_xl", width, [heads], [16]), Sizes(vocabulary=WORDS))
    attention = RelativeAttention(config, 0).double().eval()
    draw = torch.Generator().manual_seed(heads)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw))
        states = torch.randn(2, length, width, generator=draw, dtype=torch.float64)
        memory = torch.randn(2, seen, width, generator=draw, dtype=torch.float64) if seen else None
        found = attention(
            states,
            memory,
            relative_positions(seen + length, width, states),
            hidden_keys(None, length, seen, states.device),
        )
        # Sinusoids are computed in float32.
        torch.testing.assert_close(found, by_the_paper(attention, states, memory, heads, width), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("recurrence", [6, 9], ids=["just enough", "more than enough"])
@pytest.mark.parametrize("arch", [ONE, THREE, ADAPTIVE], ids=["one layer", "three layers", "adaptive"])
def test_two_segments_with_memory_are_one_long_segment(arch, recurrence, network, words):
    model, ids = network(arch, recurrence=recurrence), words(2, 13)
    with torch.no_grad():
        whole = model(ids).logits
        first = model(ids[:, :6])
        second = model(ids[:, 6:], mems=first.mems)
        torch.testing.assert_close(torch.cat([first.logits, second.logits], 1), whole, atol=1e-5, rtol=0)
        assert not torch.allclose(model(ids[:, 6:]).logits, whole[:, 6:], atol=1e-2)  # the memory matters
    assert [tuple(m.shape) for m in first.mems] == [(2, 6, 16)] * len(arch["heads"])
    assert [tuple(m.shape) for m in second.mems] == [(2, recurrence, 16)] * len(arch["heads"])


def test_memory_is_cut_to_its_length_and_carries_no_gradient(network, words):
    model, ids = network(THREE, recurrence=4), words(2, 6)
    first = model(ids)
    assert [tuple(m.shape) for m in first.mems] == [(2, 4, 16)] * 3
    assert not any(m.requires_grad for m in first.mems)
    second = model(ids[:, :3], mems=first.mems)
    torch.testing.assert_close(second.mems[0][:, :1], first.mems[0][:, -1:])
    assert model(ids, use_cache=True).mems[0].shape == (2, 6, 16)
    assert network(THREE).forward(ids).mems is None


def test_layers_without_memory_leave_nothing_behind(words):
    def peak(layers, recurrence, **more):
        arch = architecture("transformer_xl", 16, [2] * layers, [32] * layers)
        model = decoders.Builder(Sizes(vocabulary=WORDS, recurrence=recurrence)).meta(arch)
        model.config.output_hidden_states = more.get("hidden", False)
        return peak_memory(model, {"input_ids": words(2, 40).to("meta")}).activations

    assert peak(2, 0) == peak(8, 0)
    assert peak(8, 0) < peak(8, 4)
    assert peak(8, 0) < peak(8, 0, hidden=True)


def test_hidden_states_on_request(network, words):
    model, ids = network(THREE, recurrence=4), words(2, 6)
    for recurrence in (0, 4):
        model.config.recurrence = recurrence
        assert model(ids).hidden_states is None
        states = model(ids, output_hidden_states=True).hidden_states
        assert [tuple(s.shape) for s in states] == [(2, 6, 16)] * 4
        torch.testing.assert_close(model.lm_head(states[-1]), model(ids).logits)
    torch.testing.assert_close(model(ids).mems[2], states[2][:, -4:].detach())


@pytest.mark.parametrize("arch", [THREE, ADAPTIVE], ids=["three layers", "adaptive"])
def test_left_padding_changes_nothing(arch, network, words):
    """Positions are relative: where a text begins does not matter."""
    model, ids = network(arch), words(2, 9)
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[0, :4] = 0
    found = model(ids, attention_mask=mask).logits
    torch.testing.assert_close(found[0, 4:], model(ids[:1, 4:]).logits[0], atol=1e-5, rtol=0)
    torch.testing.assert_close(found[1], model(ids[1:]).logits[0], atol=1e-5, rtol=0)
    assert torch.isfinite(found).all()


def test_a_mask_may_leave_the_memory_out_or_cover_it(network, words):
    model, ids = network(THREE, recurrence=5), words(2, 10)
    mems = model(ids[:, :5]).mems
    rest = ids[:, 5:]
    plain = model(rest, mems=mems).logits
    short, long = torch.ones(2, 5, dtype=torch.long), torch.ones(2, 10, dtype=torch.long)
    torch.testing.assert_close(model(rest, mems=mems, attention_mask=short).logits, plain)
    torch.testing.assert_close(model(rest, mems=mems, attention_mask=long).logits, plain)
    long[:, :5] = 0
    torch.testing.assert_close(model(rest, mems=mems, attention_mask=long).logits, model(rest).logits, atol=1e-5, rtol=0)
