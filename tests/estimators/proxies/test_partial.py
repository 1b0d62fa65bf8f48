"""Partial training against the curve of the whole training."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
import torch

from secateur.decoders import Sizes, build
from secateur.errors import ConfigurationError, EvaluationFailure, Stopped, StudyError
from secateur.estimators.proxies import partial_training
from secateur.rng import generator
from secateur.spaces.decoder import architecture
from secateur.training import text_trainer
from secateur.training.settings import TrainingSettings
from secateur.training.text_trainer import evaluate_text, train_text

SETTINGS = TrainingSettings(
    steps=20, learning_rate=1e-2, batch_size=4, schedule="cosine", checkpoints=4, group_by_length=False, seed=1
)
TOKENS = generator(0, "partial").integers(0, 15, size=400).astype(np.int32)


def network(backbone):
    memory = 6 if backbone == "transformer_xl" else 0
    return build(
        architecture(backbone, 16, [2, 4], [32, 48]), Sizes(vocabulary=15, positions=9, recurrence=memory), dropout=0.1, seed=0
    )


@pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])
def test_it_is_a_point_of_the_whole_curve(backbone, tmp_path):
    whole = train_text(network(backbone), TOKENS, TOKENS[:100], SETTINGS, tmp_path / "whole", length=9, evaluations=20)
    losses = {point.step: point.validation_loss for point in whole.curve}
    untouched = network(backbone)
    before = {name: tensor.clone() for name, tensor in untouched.state_dict().items()}
    for share, step in ((0.0125, 1), (0.35, 7), (0.875, 18), (1.0, 20)):
        assert partial_training(untouched, TOKENS, TOKENS[:100], SETTINGS, share=share, length=9) == -losses[step]
    assert all(torch.equal(tensor, before[name]) for name, tensor in untouched.state_dict().items())

    part = network(backbone)
    begun = train_text(part, TOKENS, TOKENS[:100], SETTINGS, tmp_path / "part", length=9, evaluations=10, share=0.35)
    assert [point.step for point in begun.curve] == [2, 4, 6, 7]
    assert begun.steps == 7
    assert evaluate_text(part, TOKENS[:100], length=9, batch=4).loss == losses[7]
    rest = train_text(part, TOKENS, TOKENS[:100], SETTINGS, tmp_path / "part", length=9, evaluations=10)  # and to the end
    assert [point.step for point in rest.curve] == [2, 4, 6, 7, 8, 10, 12, 14, 16, 18, 20]
    assert {point.validation_loss for point in rest.curve} <= set(losses.values())
    with pytest.raises(StudyError, match="beyond step 7"):
        train_text(part, TOKENS, TOKENS[:100], SETTINGS, tmp_path / "part", length=9, share=0.35)


def test_a_training_that_was_stopped_where_the_share_ends(tmp_path):
    whole = train_text(network("gpt2"), TOKENS, TOKENS[:100], SETTINGS, tmp_path / "whole", length=9, evaluations=20)

    def stop(step, steps):
        if step == 7:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Stopped):
        train_text(network("gpt2"), TOKENS, TOKENS[:100], SETTINGS, tmp_path / "part", length=9, evaluations=1, progress=stop)
    part = network("gpt2")
    found = train_text(part, TOKENS, TOKENS[:100], SETTINGS, tmp_path / "part", length=9, evaluations=1, share=0.35)
    assert [(point.step, point.validation_loss) for point in found.curve] == [(7, whole.curve[6].validation_loss)]
    assert found.curve[0].train_loss == pytest.approx(np.mean([point.train_loss for point in whole.curve[:7]]))


def test_ctrl_c_does_not_say_that_anything_is_saved(monkeypatch):
    real = text_trainer.TextTrainer.training_step

    def step(self, *arguments):
        if self.state.global_step == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return real(self, *arguments)

    monkeypatch.setattr(text_trainer.TextTrainer, "training_step", step)
    with pytest.raises(KeyboardInterrupt) as raised:
        partial_training(network("gpt2"), TOKENS, TOKENS[:100], SETTINGS, share=0.35, length=9)
    assert not isinstance(raised.value, Stopped)


def test_what_cannot_be_done():
    made = network("gpt2")
    for share in (0, 1.5):
        with pytest.raises(ConfigurationError, match="above 0"):
            partial_training(made, TOKENS, TOKENS, SETTINGS, share=share, length=9)
    with torch.no_grad():
        made.transformer.ln_f.weight.fill_(float("nan"))
    with pytest.raises(EvaluationFailure, match="diverged"):
        partial_training(made, TOKENS, TOKENS, SETTINGS, share=0.5, length=9)
