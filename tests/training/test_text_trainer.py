"""Training from scratch: curves, perplexity by hand, recurrence, and exact resumption."""

from __future__ import annotations

import math
import os
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch

from secateur.decoders import Sizes, build, transformer_xl
from secateur.errors import ConfigurationError, DataError, EvaluationFailure, Stopped, StudyError
from secateur.rng import generator
from secateur.spaces.decoder import architecture
from secateur.training import text_trainer
from secateur.training.settings import TrainingSettings
from secateur.training.text_trainer import curve_steps, evaluate_text, train_text

VOCABULARY, LENGTH = 20, 9
SETTINGS = TrainingSettings(
    steps=12, learning_rate=1e-2, batch_size=4, schedule="cosine", checkpoints=4, group_by_length=False, seed=3
)
BACKBONES = ["gpt2", "transformer_xl"]


class Killed(Exception):  # noqa: N818
    """The process ends here."""


def network(backbone="gpt2", seed=0, dropout=0.1, recurrence=6):
    made = architecture(backbone, 16, [2, 4], [32, 48], 8, 2)
    kept = recurrence if backbone == "transformer_xl" else 0
    return build(
        made, Sizes(vocabulary=VOCABULARY, cutoffs=(6,), positions=LENGTH, recurrence=kept), dropout=dropout, seed=seed
    )


def tokens(count, seed=0):
    """A text with something to learn: each token follows from the one before, mostly."""
    rng = generator(seed, "text")
    out = np.zeros(count, dtype=np.int32)
    for i in range(1, count):
        out[i] = (out[i - 1] * 3 + 1) % VOCABULARY if rng.random() < 0.8 else rng.integers(VOCABULARY)
    return out


TRAIN, VALIDATION = tokens(230), tokens(101, seed=1)


def train(folder, backbone="gpt2", at=None, do=None, settings=SETTINGS, **more):
    model = network(backbone)

    def progress(step, steps, loss):
        if step == at:
            if do is None:
                raise Killed
            do(model)

    return model, train_text(
        model, TRAIN, VALIDATION, settings, folder, length=LENGTH, evaluations=6, progress=progress, **more
    )


@pytest.fixture(scope="module", params=BACKBONES)
def uninterrupted(request, tmp_path_factory):
    model, result = train(tmp_path_factory.mktemp("whole"), request.param)
    return request.param, model, result


def test_it_learns_and_draws_a_curve(uninterrupted):
    _, model, result = uninterrupted
    assert [point.step for point in result.curve] == [2, 4, 6, 8, 10, 12]
    assert result.curve[-1].validation_loss < result.curve[0].validation_loss
    assert result.perplexity == pytest.approx(math.exp(result.loss))
    assert set(result.curve[0].as_dict()) == {"step", "train_loss", "validation_loss", "perplexity"}
    assert result.steps == 12
    assert result.seconds > 0
    assert not model.training
    assert evaluate_text(model, VALIDATION, length=LENGTH, batch=4).loss == result.loss


@pytest.mark.parametrize("killed", [5, 10, 11])
def test_a_resumed_run_is_the_same_to_the_bit(tmp_path, uninterrupted, killed):
    """Weights, curve and `mems`; one kill lies just behind a checkpoint (9), one between, one in the text's second round."""
    backbone, whole, result = uninterrupted
    with pytest.raises(Killed):
        train(tmp_path, backbone, at=killed)
    model, again = train(tmp_path, backbone)
    assert all(torch.equal(tensor, whole.state_dict()[name]) for name, tensor in model.state_dict().items())
    assert again.curve == result.curve
    finished, once_more = train(tmp_path, backbone, at=1)  # trains nothing
    assert all(torch.equal(tensor, whole.state_dict()[name]) for name, tensor in finished.state_dict().items())
    assert (once_more.curve, once_more.steps) == (result.curve, result.steps)


def test_ctrl_c_saves_the_step(tmp_path, uninterrupted):
    backbone, whole, result = uninterrupted
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Stopped, match="after step 5 of 12"):
        train(tmp_path, backbone, at=5, do=lambda model: os.kill(os.getpid(), signal.SIGINT))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-5"]
    assert signal.getsignal(signal.SIGINT) is before
    model, again = train(tmp_path, backbone)
    assert all(torch.equal(tensor, whole.state_dict()[name]) for name, tensor in model.state_dict().items())
    assert again.curve == result.curve
    with pytest.raises(StudyError, match="already beyond step 6"):
        train(tmp_path, backbone, settings=replace(SETTINGS, steps=6))


def test_a_second_ctrl_c_stops_at_once(tmp_path):
    def twice(model):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        train(tmp_path, at=5, do=twice)
    assert not isinstance(caught.value, Stopped)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-3"]


def test_a_checkpoint_without_its_mems_is_damaged(tmp_path):
    with pytest.raises(Killed):
        train(tmp_path, "transformer_xl", at=4)
    (tmp_path / "checkpoint-3" / "carried.safetensors").unlink()
    with pytest.raises(StudyError, match=r"it has no carried\.safetensors"):
        train(tmp_path, "transformer_xl")


def poison(model):
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))


def test_a_loss_that_is_no_number(tmp_path):
    with pytest.raises(EvaluationFailure, match="training diverged at step 6"):
        train(tmp_path, at=5, do=poison)
    model = network()
    poison(model)
    with pytest.raises(EvaluationFailure, match="the loss on this text is not a number"):
        evaluate_text(model, VALIDATION, length=LENGTH)


def test_a_validation_loss_that_is_no_number(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise EvaluationFailure("the loss on this text is not a number.")

    monkeypatch.setattr(text_trainer, "evaluate_text", fail)
    with pytest.raises(EvaluationFailure, match="training diverged at step 2"):
        train(tmp_path)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_a_text_without_a_next_token(backbone):
    with pytest.raises(DataError, match="has 1 tokens: at least two"):
        evaluate_text(network(backbone), VALIDATION[:1], length=LENGTH)


class TestPerplexity:
    def test_without_recurrence_by_hand(self):
        """Windows of LENGTH, each begun by the last token of the one before; the tokens at the end count as well."""
        model = network(dropout=0.0)
        total, count = 0.0, 0
        for start in range(0, len(VALIDATION) - 1, LENGTH - 1):
            window = torch.from_numpy(VALIDATION[start : start + LENGTH]).long()[None]
            with torch.no_grad():
                scores = model(input_ids=window).logits.log_softmax(-1)[0, :-1]
            total -= scores.gather(1, window[0, 1:, None]).sum().item()
            count += window.shape[1] - 1
        score = evaluate_text(model, VALIDATION, length=LENGTH, batch=3)
        assert count == score.tokens == len(VALIDATION) - 1
        assert score.loss == pytest.approx(total / count, abs=1e-5)
        assert score.perplexity == pytest.approx(math.exp(total / count), rel=1e-5)

    @pytest.mark.parametrize("batch", [1, 3])
    def test_with_recurrence_by_hand(self, batch):
        """With recurrence for everything, segments tell what one long segment tells."""
        model = network("transformer_xl", dropout=0.0, recurrence=300)
        windows = math.ceil((len(VALIDATION) - 1) / (LENGTH - 1))
        part = math.ceil(windows / batch) * (LENGTH - 1)
        total = 0.0
        for start in range(0, len(VALIDATION) - 1, part):
            row = torch.from_numpy(VALIDATION[start : start + part + 1]).long()[None]
            with torch.no_grad():
                scores = model(input_ids=row).logits.log_softmax(-1)[0, :-1]
            total -= scores.gather(1, row[0, 1:, None]).sum().item()
        score = evaluate_text(model, VALIDATION, length=LENGTH, batch=batch)
        assert score.tokens == len(VALIDATION) - 1
        assert score.loss == pytest.approx(total / score.tokens, abs=1e-5)

    @pytest.mark.parametrize("recurrence", [1, 3, LENGTH - 1, LENGTH, 2 * LENGTH])
    def test_with_a_short_recurrence_by_hand(self, recurrence, monkeypatch):
        """One long segment in which each word sees its own window up to itself and `recurrence` words before that window."""
        model = network("transformer_xl", dropout=0.0, recurrence=recurrence)
        with torch.no_grad():
            for parameter in model.parameters():  # far from the tiny initial ones, so that what is seen matters
                parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel())) * 0.3)
        score = evaluate_text(model, VALIDATION, length=LENGTH, batch=1)

        def told(kept):
            place = torch.arange(len(VALIDATION))
            first = place // (LENGTH - 1) * (LENGTH - 1) - kept
            unseen = (place[None] > place[:, None]) | (place[None] < first[:, None])
            monkeypatch.setattr(transformer_xl, "hidden_keys", lambda *args: unseen[None, None])
            ids = torch.from_numpy(VALIDATION).long()[None]
            with torch.no_grad():
                return float(model(input_ids=ids, labels=ids).loss)

        assert score.loss == pytest.approx(told(recurrence), abs=1e-5)
        assert score.loss != pytest.approx(told(recurrence - 1), abs=1e-4)

    def test_mode_is_left_alone(self):
        model = network().train()
        first = evaluate_text(model, VALIDATION, length=LENGTH)
        assert model.training
        assert first == evaluate_text(model, VALIDATION, length=LENGTH)  # no dropout


def test_where_a_curve_has_its_points():
    assert curve_steps(10, 3) == (4, 7, 10)
    assert curve_steps(3, 20) == (1, 2, 3)
    assert curve_steps(400, [0.0125, 0.5, 0.875]) == (5, 200, 350, 400)
    with pytest.raises(ConfigurationError, match=r"shares of the steps.* got 1\.5"):
        curve_steps(10, [0.5, 1.5])
    with pytest.raises(ConfigurationError, match="at least 1, got 0"):
        curve_steps(10, 0)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_too_little_text(tmp_path, backbone):
    with pytest.raises(DataError, match="too few for"):
        train_text(network(backbone), TRAIN[:8], VALIDATION, SETTINGS, tmp_path, length=LENGTH)


def test_epochs_count_where_no_steps_are_given(tmp_path):
    settings = TrainingSettings(epochs=1, batch_size=8, learning_rate=1e-3, checkpoints=0, group_by_length=False)
    _, result = train(tmp_path, settings=settings)
    assert result.steps == math.ceil(((len(TRAIN) - 1) // (LENGTH - 1)) / 8)
    with pytest.raises(ConfigurationError, match="`steps` must be at least 1 and at most 1,000,000,000, got 0"):
        train(tmp_path, settings=TrainingSettings(steps=0))
