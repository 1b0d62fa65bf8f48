"""A step of the super-network trainer against plain autograd on masked networks."""

from __future__ import annotations

import pytest
import torch
from transformers import TrainingArguments

from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.supernet import Supernet
from secateur.testing.masks import masked
from secateur.testing.toy_task import toy_task_data

KINDS = ("classification", "regression", "multiple_choice", "language_modelling")


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_adds_up_the_passes(toy, same, gradients_of, tmp_path, kind):
    """`full`, k = 2: the gradients of four passes, three of them distilled."""
    run = toy(kind).train(tmp_path)
    assert len(run.recorder.steps) == len(run.batches) == 1
    draws = run.strategy.draws(0, 1, generator(run.settings.seed, "train", 0))
    assert [d.distilled for d in draws] == [False, True, True, True]
    assert len({d.plan for d in draws}) == 4  # none of them idle, none twice
    run.by_hand(run.before, run.batches[0])
    same(run.recorder.steps[0], gradients_of(run.before))


@pytest.mark.parametrize("strategy", ["standard", "random", "random-linear", "sandwich", "kd"])
def test_a_step_of_the_other_strategies(toy, same, gradients_of, tmp_path, strategy):
    run = toy(strategy=strategy).train(tmp_path)
    run.by_hand(run.before, run.batches[0])
    same(run.recorder.steps[0], gradients_of(run.before))


@pytest.mark.parametrize(
    "changes",
    [
        {"temperature": 1.0},
        {"temperature": 4.0},
        {"distillation_weight": 0.3},
        {"distillation_weight": 0.0},
        {"squared_temperature": True},
    ],
    ids=str,
)
def test_temperature_and_weight_count(toy, same, gradients_of, tmp_path, changes):
    """They change the gradients, and as the formula says."""
    usual, run = toy().train(tmp_path / "usual"), toy(**changes).train(tmp_path / "changed")
    with pytest.raises(AssertionError):
        same(run.recorder.steps[0], usual.recorder.steps[0], tolerance=1e-4)
    run.by_hand(run.before, run.batches[0])
    same(run.recorder.steps[0], gradients_of(run.before))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", ["full", "kd"])
def test_a_step_as_the_authors_distil(toy, same, gradients_of, tmp_path, kind, strategy):
    """T² · cross-entropy to the soft answers + the label loss; a regression without the latter; kd's teacher untrained."""
    run = toy(kind, strategy=strategy, distillation="authors", temperature=10.0).train(tmp_path)
    run.by_hand(run.before, run.batches[0])
    same(run.recorder.steps[0], gradients_of(run.before))


def test_the_authors_kd_leaves_no_gradient_of_the_teacher(toy, same, tmp_path):
    """One sub-network without layers: what only the whole network has gets no gradient."""
    run = toy(strategy="kd", distillation="authors", k=1)
    run.strategy.random = lambda n, rng, distilled: [run.strategy.smallest(distilled=True)]
    run.train(tmp_path)
    found = run.recorder.steps[0]
    assert found
    assert not [name for name, gradient in found.items() if ".layer." in name and gradient.abs().max() > 0]


def test_the_authors_logged_loss_is_that_of_what_is_trained(toy, tmp_path):
    """Regression: the mean of the distances to the teacher, without labels."""
    run = toy("regression", strategy="kd", distillation="authors")
    trainer = run.trainer(tmp_path)
    trainer.train()
    supernet = Supernet(run.before)
    with torch.no_grad():
        teacher = run.before(**run.batches[0]).logits
        losses = []
        for draw in run.strategy.draws(0, 1, generator(4, "train", 0))[1:]:
            with masked(supernet, draw.plan) as model:
                losses.append(((model(**run.batches[0]).logits - teacher) ** 2).mean().item())
    assert trainer.state.log_history[0]["loss"] == pytest.approx(sum(losses) / 2, abs=1e-4)


def test_the_teacher_is_detached(toy, same, gradients_of, tmp_path):
    run = toy(distillation_weight=5.0).train(tmp_path)
    run.by_hand(run.before, run.batches[0], detach=False)
    with pytest.raises(AssertionError):
        same(run.recorder.steps[0], gradients_of(run.before), tolerance=1e-4)


def test_three_steps_of_adamw(toy, same, tmp_path):
    """Draws, teacher, clipping, decay and learning rate of each step: the weights of a plain loop."""
    run = toy(examples=24, weight_decay=0.1, max_grad_norm=1.0, learning_rate=5e-3).train(tmp_path)
    model = run.before
    model.train()
    decayed = {n for n, _ in model.named_parameters() if not n.endswith("bias") and "LayerNorm" not in n}
    optimiser = torch.optim.AdamW(
        [
            {"params": [p for n, p in model.named_parameters() if n in decayed], "weight_decay": 0.1},
            {"params": [p for n, p in model.named_parameters() if n not in decayed], "weight_decay": 0.0},
        ]
    )
    for step, batch in enumerate(run.batches):
        for group in optimiser.param_groups:
            group["lr"] = 5e-3 * (1 - step / 3)
        optimiser.zero_grad()
        run.by_hand(model, batch, step, 3)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    assert len(run.batches) == 3
    # a bias of the keys shifts all scores alike: its gradient is rounding, which Adam blows up
    found, expected = (
        {n: p for n, p in m.state_dict().items() if not n.endswith("key.bias")} for m in (run.supernet.model, model)
    )
    same(found, expected, tolerance=2e-5)


@pytest.mark.parametrize("kind", ["classification", "language_modelling"])
def test_accumulated_batches_have_the_gradient_of_one(toy, same, tmp_path, kind):
    """For language models by the number of tokens, in the loss and in the distillation term."""
    whole = toy(kind, examples=16).train(tmp_path / "whole")
    parts = toy(kind, examples=16, batch_size=2, accumulate=4).train(tmp_path / "parts")
    assert len(whole.batches) == 2
    assert len(parts.batches) == 8
    if kind == "language_modelling":
        assert len({int((b["labels"][:, 1:] != -100).sum()) for b in parts.batches[:4]}) > 1
    assert len(parts.recorder.steps) == 2
    same(parts.recorder.steps[0], whole.recorder.steps[0])
    same(parts.recorder.steps[1], whole.recorder.steps[1], tolerance=1e-4)


@pytest.mark.parametrize(("kind", "family"), [("classification", "bert"), ("language_modelling", "llama")])
def test_gradient_checkpointing_changes_nothing(toy, same, tmp_path, kind, family):
    passes = []
    for on in (False, True):
        run = toy(kind, family=family, gradient_checkpointing=on)
        passes.append([])
        run.supernet.layers[0].register_forward_pre_hook(lambda *_, made=passes[-1]: made.append(1))  # ghosts inherit it
        run.train(tmp_path / str(on))
        if not on:
            plain = run
    assert len(passes[1]) == 2 * len(passes[0]) > 2  # every pass through the layer was made again
    same(run.recorder.steps[0], plain.recorder.steps[0])


def test_a_family_that_cannot_recompute_its_activations(toy, tmp_path):
    with pytest.raises(ConfigurationError, match=r"`gradient_checkpointing` cannot be set for this model: .*MPNet"):
        toy(family="mpnet", gradient_checkpointing=True).trainer(tmp_path)


def test_the_logged_loss_is_the_mean_of_the_passes(toy, tmp_path):
    run = toy(strategy="sandwich")
    trainer = run.trainer(tmp_path)
    trainer.train()
    losses = []
    for draw in run.strategy.draws(0, 1, generator(4, "train", 0)):
        supernet = Supernet(run.before)
        with masked(supernet, draw.plan or supernet.whole) as model:
            losses.append(model(**run.batches[0]).loss.item())
    assert trainer.state.log_history[0]["loss"] == pytest.approx(sum(losses) / 4, abs=1e-4)


def test_several_gpus_without_a_launcher_are_refused(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(TrainingArguments, "n_gpu", property(lambda self: 2))
    with pytest.raises(ConfigurationError, match=r"2 GPUs are visible without a launcher.*torchrun"):
        toy().trainer(tmp_path)


def test_toy_data_know_their_kinds():
    with pytest.raises(ConfigurationError, match="`kind` must be one of"):
        toy_task_data("translation")
