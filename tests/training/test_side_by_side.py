"""Networks trained side by side: the curves are those of `train_text`, one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from secateur.decoders import Sizes, build
from secateur.errors import ConfigurationError, EvaluationFailure
from secateur.rng import generator
from secateur.spaces.decoder import architecture
from secateur.training.settings import TrainingSettings
from secateur.training.side_by_side import Asked, train_side_by_side
from secateur.training.text_trainer import evaluate_text, train_text

VOCABULARY, LENGTH = 20, 9
SETTINGS = TrainingSettings(
    steps=20,
    learning_rate=1e-2,
    batch_size=4,
    schedule="cosine",
    checkpoints=0,
    group_by_length=False,
    weight_decay=0.1,
    seed=3,
)
#: Plain, adaptive with clusters, adaptive with a projection.
NETWORKS = {"plain": (0, 1), "clusters": (8, 2), "one width": (16, 1)}


def network(name="clusters", seed=0, recurrence=0):
    backbone = "transformer_xl" if recurrence else "gpt2"
    made = architecture(backbone, 16, [2, 4], [32, 48], *NETWORKS[name])
    sizes = Sizes(vocabulary=VOCABULARY, cutoffs=(6,), positions=LENGTH, recurrence=recurrence)
    return build(made, sizes, dropout=0.0, seed=seed)


def tokens(count, seed=0):
    """A text with something to learn: each token follows from the one before, mostly."""
    rng = generator(seed, "text")
    out = np.zeros(count, dtype=np.int32)
    for i in range(1, count):
        out[i] = (out[i - 1] * 3 + 1) % VOCABULARY if rng.random() < 0.8 else rng.integers(VOCABULARY)
    return out


#: 28 windows: the last batch of an epoch is whole with batches of 4, not with 5.
TRAIN, VALIDATION = tokens(230), tokens(101, seed=1)


def together(asked, **more):
    return {
        done.name: done
        for done in train_side_by_side(
            asked, TRAIN, VALIDATION, length=LENGTH, evaluations=(0.1, 0.5, 1.0), device="cpu", **more
        )
    }


@pytest.mark.parametrize("batch", [4, 5, 64])
def test_curves_are_those_of_the_trainer(tmp_path, batch):
    settings = replace(SETTINGS, batch_size=batch)
    found = together([Asked(name, network(name), settings) for name in NETWORKS], at_once=2)
    assert set(found) == set(NETWORKS)
    for name, done in found.items():
        alone = network(name)
        options = {"length": LENGTH, "evaluations": (0.1, 0.5, 1.0)}
        wanted = train_text(alone, TRAIN, VALIDATION, settings, tmp_path / f"{name}-{batch}", **options)
        assert [point.step for point in done.result.curve] == [point.step for point in wanted.curve] == [2, 10, 20]
        for mine, theirs in zip(done.result.curve, wanted.curve, strict=True):
            assert mine.train_loss == pytest.approx(theirs.train_loss, abs=1e-4)
            assert mine.validation_loss == pytest.approx(theirs.validation_loss, abs=1e-4)
        ours = evaluate_text(done.model, VALIDATION, length=LENGTH).loss
        assert ours == pytest.approx(evaluate_text(alone, VALIDATION, length=LENGTH).loss, abs=1e-4)
        assert not done.model.training


def test_networks_are_taken_when_there_is_room_and_told_in_turn():
    taken = []

    def asked():
        for seed in range(5):
            taken.append(seed)
            yield Asked(seed, network(seed=seed), SETTINGS)

    running = train_side_by_side(asked(), TRAIN, VALIDATION, length=LENGTH, evaluations=(0.5, 1.0), device="cpu", at_once=2)
    assert next(running).name == 0
    assert taken == [0, 1]  # the second was begun when the first was half done
    assert [done.name for done in running] == [1, 2, 3, 4]


def test_losses_choose_their_rows_again_however_it_ends():
    """They are computed for every word only while steps may be recorded."""
    models = [network(seed=seed) for seed in range(2)]
    asked = [Asked(seed, model, SETTINGS) for seed, model in enumerate(models)]
    running = train_side_by_side(asked, TRAIN, VALIDATION, length=LENGTH, evaluations=(1.0,), device="cpu", at_once=2)
    assert next(running).name == 0
    assert [model.lm_head.chooses for model in models] == [True, False]
    running.close()
    assert [model.lm_head.chooses for model in models] == [True, True]


def test_one_that_diverges_is_told_and_the_others_go_on():
    broken = network()
    with torch.no_grad():
        broken.transformer.ln_f.weight.fill_(float("nan"))
    found = together([Asked("broken", broken, SETTINGS), Asked("whole", network(), SETTINGS)])
    assert isinstance(found["broken"].result, EvaluationFailure)
    assert found["whole"].result.loss < 3.0


@pytest.mark.parametrize(
    ("model", "settings", "said"),
    [
        ({"recurrence": 6}, {}, "carry hidden states"),
        ({}, {"group_by_length": True}, "`group_by_length`"),
        ({}, {"mixed_precision": "fp16"}, "`mixed_precision=fp16`"),
    ],
)
def test_what_only_the_trainer_does_is_refused(model, settings, said):
    with pytest.raises(ConfigurationError, match=said):
        together([Asked("one", network(**model), replace(SETTINGS, **settings))])


def test_half_precision_learns_as_well():
    found = together([Asked(half, network(), replace(SETTINGS, mixed_precision=half)) for half in (None, "bf16")])
    losses = [done.result.loss for done in found.values()]
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], abs=0.05)
    assert all(parameter.dtype == torch.float32 for parameter in found["bf16"].model.parameters())


def test_the_callers_random_state_survives():
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    together([Asked("one", network(), SETTINGS)])
    assert torch.equal(torch.rand(3), wanted)
