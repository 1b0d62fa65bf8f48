"""What holds for both backbones, with plain and adaptive embeddings."""

from __future__ import annotations

import copy

import pytest
import torch
from transformers import Trainer, TrainingArguments

from secateur import decoders
from secateur.decoders import Sizes
from secateur.spaces.decoder import architecture

WORDS = 60
PLAIN, ADAPTIVE = (), (8, 2)
BACKBONES = pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])
EMBEDDINGS = pytest.mark.parametrize("embedding", [PLAIN, ADAPTIVE], ids=["plain", "adaptive"])


def three(backbone, embedding=PLAIN):
    """Layers of different sizes."""
    return architecture(backbone, 16, [2, 4, 8], [32, 64, 48], *embedding)


@BACKBONES
def test_a_word_does_not_see_those_after_it(backbone, network, words):
    model, ids = network(three(backbone)), words(2, 9)
    other = ids.clone()
    other[:, 6:] = (other[:, 6:] + 1) % WORDS
    torch.testing.assert_close(model(ids).logits[:, :6], model(other).logits[:, :6])
    assert not torch.allclose(model(ids).logits[:, 6:], model(other).logits[:, 6:])


@BACKBONES
@EMBEDDINGS
def test_generation_with_what_was_kept_is_as_without(backbone, embedding, network, words):
    model, ids = network(three(backbone, embedding), recurrence=3), words(3, 7)
    mask = torch.ones(3, 7, dtype=torch.long)
    mask[1, :3] = 0
    for more in ({"num_beams": 2}, {}):
        said = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "attention_mask": mask, **more}
        kept = model.generate(ids, **said)
        assert torch.equal(kept, model.generate(ids, use_cache=False, **said))
    row = model.generate(ids[1:2, 3:], max_new_tokens=6, do_sample=False)
    assert torch.equal(row[0], kept[1, 3:])  # padding changes nothing
    text = ids[:1]
    for _ in range(6):
        text = torch.cat([text, model(text).logits[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(text, kept[:1])


@BACKBONES
@EMBEDDINGS
def test_the_loss_is_that_of_the_logits_and_reaches_every_weight(backbone, embedding, network, words):
    model, ids = network(three(backbone, embedding)), words(2, 9)
    logits, loss = model(ids).logits, model(ids, labels=ids).loss
    direct = torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, WORDS), ids[:, 1:].reshape(-1))
    torch.testing.assert_close(loss, direct)
    loss.backward()
    reached = [p for p in model.parameters() if p.dim() > 1 or backbone == "transformer_xl"]  # a bias of keys changes nothing
    assert all(p.grad is not None and float(p.grad.abs().sum()) > 0 for p in reached)
    other = copy.deepcopy(model).train()
    other.zero_grad()
    other.gradient_checkpointing_enable()
    other(ids, labels=ids).loss.backward()
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


@BACKBONES
@EMBEDDINGS
def test_runs_on_the_meta_device(backbone, embedding, words):
    sizes = Sizes(vocabulary=WORDS, cutoffs=(10, 30), positions=32, recurrence=4)
    model, ids = decoders.Builder(sizes).meta(three(backbone, embedding)), words(2, 9).to("meta")
    first = model(ids, use_cache=True)
    assert first.logits.shape == (2, 9, WORDS)
    assert model(ids, labels=ids).loss.shape == ()
    kept = {"past_key_values": first.past_key_values} if backbone == "gpt2" else {"mems": first.mems}
    assert model(ids[:, :1], **kept, use_cache=True).logits.shape == (2, 1, WORDS)


@BACKBONES
@EMBEDDINGS
def test_trains_with_trainer(backbone, embedding, network, words, tmp_path):
    model = network(three(backbone, embedding), strong=False, dropout=0.1, recurrence=4)
    data = [{"input_ids": text, "labels": text} for text in words(8, 10).tolist()]
    start = float(model(words(8, 10), labels=words(8, 10)).loss.detach())
    arguments = TrainingArguments(
        str(tmp_path), max_steps=25, per_device_train_batch_size=4, gradient_accumulation_steps=2, learning_rate=1e-2,
        gradient_checkpointing=backbone == "transformer_xl", report_to=[], use_cpu=True, save_strategy="no",
        disable_tqdm=True, seed=0, prediction_loss_only=True,
    )  # fmt: skip
    trainer = Trainer(model, arguments, train_dataset=data, eval_dataset=data)
    trainer.train()
    assert trainer.evaluate()["eval_loss"] < 0.8 * start


@BACKBONES
def test_an_adaptive_vocabulary_cannot_be_resized(backbone, network):
    with pytest.raises(ValueError, match="cannot be resized"):
        network(three(backbone, ADAPTIVE)).resize_token_embeddings(70)
    assert network(three(backbone)).resize_token_embeddings(70).weight.shape == (70, 16)
