"""GPT-2: equal to transformers' own where that can say it, and right where layers differ."""

from __future__ import annotations

import copy

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

from secateur import decoders
from secateur.decoders import Sizes
from secateur.spaces.decoder import architecture

WORDS = 60
PLAIN = architecture("gpt2", 16, [4, 4], [40, 40])
MIXED = architecture("gpt2", 16, [2, 4, 8], [32, 64, 48])
ADAPTIVE = architecture("gpt2", 16, [2, 4], [32, 48], 8, 2)


def network(arch, strong=True, cutoffs=(10, 30), **more):
    """A network whose weights are far from the tiny ones of its initialisation, so that every part matters."""
    model = decoders.build(arch, Sizes(vocabulary=WORDS, positions=32, cutoffs=cutoffs), **more)
    if strong:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel())) * 0.15)
    return model


def words(*shape, seed=0):
    return torch.randint(WORDS, shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def stock():
    config = GPT2Config(vocab_size=WORDS, n_positions=32, n_embd=16, n_layer=2, n_head=4, n_inner=40)
    config.bos_token_id = config.eos_token_id = None
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel())) * 0.15)
    return model


def test_takes_the_stock_weights_as_they_are(stock):
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
def test_padding_is_as_in_the_stock_model(stock, side):
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


def test_goes_back_to_the_stock_model():
    ours = network(PLAIN)
    theirs = ours.as_stock()
    assert isinstance(theirs, GPT2LMHeadModel)
    torch.testing.assert_close(ours(words(2, 5)).logits, theirs(words(2, 5)).logits, atol=1e-5, rtol=0)
    assert network(MIXED).as_stock() is None
    assert network(ADAPTIVE).as_stock() is None
    untied = network(PLAIN, tie=False)
    torch.testing.assert_close(untied(words(2, 5)).logits, untied.as_stock()(words(2, 5)).logits, atol=1e-5, rtol=0)
    assert untied.as_stock().lm_head.weight is not untied.as_stock().transformer.wte.weight


@pytest.mark.parametrize("arch", [PLAIN, MIXED, ADAPTIVE], ids=["plain", "mixed", "adaptive"])
def test_generation_with_a_cache_is_as_without(arch):
    model = network(arch)
    ids, mask = words(3, 7), torch.ones(3, 7, dtype=torch.long)
    mask[1, :3] = 0
    said = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "attention_mask": mask}
    cached, plain = model.generate(ids, **said), model.generate(ids, use_cache=False, **said)
    assert torch.equal(cached, plain)
    row = model.generate(ids[1:2, 3:], max_new_tokens=8, do_sample=False)
    assert torch.equal(row[0], cached[1, 3:])  # padding changes nothing
    text = ids[:1]
    for _ in range(8):
        text = torch.cat([text, model(text).logits[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(text, cached[:1])


@pytest.mark.parametrize("arch", [MIXED, ADAPTIVE], ids=["mixed", "adaptive"])
def test_prefill_in_chunks_is_as_in_one(arch):
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


def test_beams_give_what_they_give_without_a_cache():
    model = network(MIXED)
    said = {"max_new_tokens": 6, "num_beams": 3, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(model.generate(words(2, 5), **said), model.generate(words(2, 5), use_cache=False, **said))


def test_a_word_does_not_see_those_after_it():
    model, ids = network(MIXED), words(2, 9)
    other = ids.clone()
    other[:, 6:] = (other[:, 6:] + 1) % WORDS
    torch.testing.assert_close(model(ids).logits[:, :6], model(other).logits[:, :6])
    assert not torch.allclose(model(ids).logits[:, 6:], model(other).logits[:, 6:])


@pytest.mark.parametrize("arch", [PLAIN, MIXED, ADAPTIVE], ids=["plain", "mixed", "adaptive"])
def test_runs_on_the_meta_device(arch):
    model = decoders.Builder(Sizes(vocabulary=WORDS, cutoffs=(10, 30), positions=32)).meta(arch)
    ids = words(2, 9).to("meta")
    assert model(ids).logits.shape == (2, 9, WORDS)
    assert model(ids, labels=ids).loss.shape == ()
    past = model(ids, use_cache=True).past_key_values
    assert model(ids[:, :1], past_key_values=past, use_cache=True).logits.shape == (2, 1, WORDS)


def test_gradient_checkpointing_changes_no_gradient():
    model = network(ADAPTIVE).train()
    other = copy.deepcopy(model)
    other.gradient_checkpointing_enable()
    for m in (model, other):
        m(words(2, 9), labels=words(2, 9)).loss.backward()
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


@pytest.mark.parametrize("arch", [MIXED, ADAPTIVE], ids=["mixed", "adaptive"])
def test_trains_with_trainer(arch, tmp_path):
    model = network(arch, strong=False, dropout=0.1)
    data = [{"input_ids": text, "labels": text} for text in words(8, 10).tolist()]
    start = float(model(words(8, 10), labels=words(8, 10)).loss.detach())
    arguments = TrainingArguments(
        str(tmp_path), max_steps=25, per_device_train_batch_size=4, gradient_accumulation_steps=2, learning_rate=1e-2,
        report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True, seed=0, prediction_loss_only=True,
    )  # fmt: skip
    trainer = Trainer(model, arguments, train_dataset=data, eval_dataset=data)
    trainer.train()
    assert trainer.evaluate()["eval_loss"] < 0.8 * start


def test_hidden_states_and_tuples_and_the_last_logits_on_request():
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


def test_a_text_longer_than_the_positions_is_refused():
    model = network(PLAIN)
    with pytest.raises(ValueError, match="33 tokens is longer than the model's 32 positions"):
        model(words(1, 33))
    past = model(words(1, 30), use_cache=True).past_key_values
    with pytest.raises(ValueError, match="34 tokens"):
        model(words(1, 4), past_key_values=past)


def test_an_adaptive_vocabulary_cannot_be_resized():
    with pytest.raises(ValueError, match="cannot be resized"):
        network(ADAPTIVE).resize_token_embeddings(70)
    assert network(PLAIN).resize_token_embeddings(70).weight.shape == (70, 16)
