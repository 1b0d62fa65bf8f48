"""GPT-2: equal to transformers' own where that can say it, and right where layers differ."""

from __future__ import annotations

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from secateur import decoders
from secateur.decoders import Sizes
from secateur.spaces.decoder import architecture

WORDS = 60
PLAIN = architecture("gpt2", 16, [4, 4], [40, 40])
MIXED = architecture("gpt2", 16, [2, 4, 8], [32, 64, 48])
ADAPTIVE = architecture("gpt2", 16, [2, 4], [32, 48], 8, 2)


@pytest.fixture
def stock():
    config = GPT2Config(vocab_size=WORDS, n_positions=32, n_embd=16, n_layer=2, n_head=4, n_inner=40)
    config.bos_token_id = config.eos_token_id = None
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel())) * 0.15)
    return model


def test_takes_the_stock_weights_as_they_are(stock, words):
    ours = decoders.build(PLAIN, Sizes(vocabulary=WORDS, positions=32))
    assert {n: p.shape for n, p in ours.state_dict().items()} == {n: p.shape for n, p in stock.state_dict().items()}
    ours.load_state_dict(stock.state_dict())
    ids = words(3, 9)
    labels = ids.clone()
    labels[0, 4] = -100
    mine, theirs = ours(ids, labels=labels), stock(ids, labels=labels)
    torch.testing.assert_close(mine.logits, theirs.logits, atol=1e-5, rtol=0)
    torch.testing.assert_close(mine.loss, theirs.loss, atol=1e-5, rtol=0)
    shared = {"labels": labels, "num_items_in_batch": torch.tensor(70)}
    torch.testing.assert_close(ours(ids, **shared).loss, stock(ids, **shared).loss, atol=1e-5, rtol=0)
    mine.loss.backward()
    theirs.loss.backward()
    for (name, a), b in zip(ours.named_parameters(), stock.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, atol=1e-5, rtol=1e-4, msg=name)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_is_as_in_the_stock_model(stock, side, words):
    ours = decoders.build(PLAIN, Sizes(vocabulary=WORDS, positions=32))
    ours.load_state_dict(stock.state_dict())
    ids, mask = words(3, 9), torch.ones(3, 9, dtype=torch.long)
    mask[0, :4] = mask[1, :1] = 0
    if side == "right":
        mask = mask.flip(1)
    mine, theirs = ours(ids, attention_mask=mask).logits, stock(ids, attention_mask=mask).logits
    torch.testing.assert_close(mine[mask == 1], theirs[mask == 1], atol=1e-5, rtol=0)
    assert torch.isfinite(mine).all()
    prompt = {"attention_mask": mask, "max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    if side == "left":
        assert torch.equal(ours.generate(ids, **prompt), stock.generate(ids, **prompt))


def test_goes_back_to_the_stock_model(network, words):
    ours = network(PLAIN)
    theirs = ours.as_stock()
    assert isinstance(theirs, GPT2LMHeadModel)
    torch.testing.assert_close(ours(words(2, 5)).logits, theirs(words(2, 5)).logits, atol=1e-5, rtol=0)
    assert network(MIXED).as_stock() is None
    assert network(ADAPTIVE).as_stock() is None
    untied = network(PLAIN, tie=False)
    torch.testing.assert_close(untied(words(2, 5)).logits, untied.as_stock()(words(2, 5)).logits, atol=1e-5, rtol=0)
    assert untied.as_stock().lm_head.weight is not untied.as_stock().transformer.wte.weight


@pytest.mark.parametrize("arch", [MIXED, ADAPTIVE], ids=["mixed", "adaptive"])
def test_prefill_in_chunks_is_as_in_one(arch, network, words):
    model = network(arch)
    ids, mask = words(2, 12), torch.ones(2, 12, dtype=torch.long)
    for masked in (False, True):
        if masked:
            mask[0, :2] = 0
        whole = model(ids, attention_mask=mask if masked else None).logits
        past, found = None, []
        for start, end in ((0, 5), (5, 11), (11, 12)):
            said = model(
                ids[:, start:end], attention_mask=mask[:, :end] if masked else None, past_key_values=past, use_cache=True
            )
            past = said.past_key_values
            found.append(said.logits)
        torch.testing.assert_close(torch.cat(found, 1)[mask == 1], whole[mask == 1], atol=1e-5, rtol=0)
    said = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0, "attention_mask": mask}
    assert torch.equal(model.generate(ids, prefill_chunk_size=5, **said), model.generate(ids, **said))


def test_hidden_states_and_tuples_and_the_last_logits_on_request(network, words):
    model, ids = network(MIXED), words(2, 5)
    said = model(ids, output_hidden_states=True, use_cache=False)
    assert [tuple(s.shape) for s in said.hidden_states] == [(2, 5, 16)] * 4
    torch.testing.assert_close(model.lm_head(said.hidden_states[-1]), said.logits)
    torch.testing.assert_close(model(ids, return_dict=False)[0], said.logits)
    torch.testing.assert_close(model(ids, logits_to_keep=2).logits, said.logits[:, -2:])


@torch.no_grad()
def test_initial_weights_are_gpt2s():
    model = decoders.build(architecture("gpt2", 128, [2] * 8, [512] * 8, 64, 4), Sizes(vocabulary=2000, cutoffs=(200, 500)))
    block = model.transformer.h[3]
    assert float(block.attn.c_attn.weight.std()) == pytest.approx(0.02, rel=0.05)
    for projection in (block.attn.c_proj, block.mlp.c_proj):
        assert float(projection.weight.std()) == pytest.approx(0.02 / 4, rel=0.05)
    for cluster, (start, end, _) in enumerate(model.config.clusters):
        vectors = model.transformer.wte(torch.arange(start, end))
        assert float(vectors.std()) == pytest.approx(0.02, rel=0.3), cluster  # as a plain table's, whatever the cluster
    assert all(float(p.abs().max()) == 0 for n, p in model.named_parameters() if n.endswith("bias"))


def test_a_text_longer_than_the_positions_is_refused(network, words):
    model = network(PLAIN)
    with pytest.raises(ValueError, match="33 tokens is longer than the model's 32 positions"):
        model(words(1, 33))
    past = model(words(1, 30), use_cache=True).past_key_values
    with pytest.raises(ValueError, match="34 tokens"):
        model(words(1, 4), past_key_values=past)
