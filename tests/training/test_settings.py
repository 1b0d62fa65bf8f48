"""Settings and their faults."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from secateur.errors import ConfigurationError, MissingExtraError
from secateur.training.settings import TrainingSettings

BAD = {
    "epochs": 0,
    "learning_rate": math.nan,
    "temperature": -1.0,
    "batch_size": 2.5,
    "weight_decay": -0.1,
    "max_grad_norm": math.inf,
    "distillation_weight": math.nan,
    "learning_rate_warmup": 1.0,
    "checkpoints": -1,
    "seed": -3,
    "mixed_precision": "int8",
}


def test_every_fault_at_once():
    with pytest.raises(ConfigurationError) as caught:
        TrainingSettings(**BAD).check()
    assert len(caught.value.faults) == len(BAD)


@pytest.mark.parametrize("name", BAD)
def test_each_fault_alone(name):
    (fault,) = TrainingSettings(**{name: BAD[name]}).faults("polish_")
    assert f"polish_{name}` must be" in fault or f"unknown polish {name.replace('_', ' ')} `" in fault
    assert str(BAD[name]) in fault


@pytest.mark.parametrize("value", ["fast", True, None])
def test_what_is_no_number_is_a_fault(value):
    assert TrainingSettings(learning_rate=value).faults() == [f"`learning_rate` must be a finite number, got {value!r}."]


def test_the_seed_is_one_that_torch_and_numpy_take():
    assert TrainingSettings(seed=2**32 - 1).faults() == []
    told = "`seed` must be at least 0 and below 4,294,967,296, got 4294967296."
    assert TrainingSettings(seed=2**32).faults() == [told]


def test_good_settings():
    none = {"learning_rate_warmup": 0.0, "max_grad_norm": 0.0, "distillation_weight": 0.0, "checkpoints": 0}
    settings = TrainingSettings(**none, mixed_precision="bf16")
    assert settings.check() is settings


def test_an_optimiser_whose_library_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from secateur.training import stage_trainer

    monkeypatch.setattr(stage_trainer, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"`bitsandbytes` is not installed.*secateur\[low-memory\]"):
        stage_trainer.training_arguments(TrainingSettings(optimizer="adamw-8bit"), tmp_path, 8, "cpu")
    found = stage_trainer.training_arguments(TrainingSettings(optimizer="adafactor"), tmp_path, 8, "cpu")
    assert found.optim == "adafactor"
