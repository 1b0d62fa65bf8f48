"""Settings and their faults."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from secateur.errors import ConfigurationError
from secateur.training.settings import TrainingSettings

BAD = {
    "epochs": 0,
    "learning_rate": math.nan,
    "temperature": -1.0,
    "batch_size": 2.5,
    "weight_decay": -0.1,
    "max_grad_norm": math.inf,
    "distillation_weight": math.nan,
    "warmup": 1.0,
    "checkpoints": -1,
    "seed": -3,
    "mixed_precision": "int8",
}


def test_every_fault_at_once():
    faults = TrainingSettings(**BAD).faults()
    assert len(faults) == len(BAD)
    for name, value in BAD.items():
        (fault,) = [f for f in faults if f"`{name}`" in f]
        assert str(value) in fault


@pytest.mark.parametrize("name", BAD)
def test_each_fault_alone(name):
    (fault,) = TrainingSettings(**{name: BAD[name]}).faults("polish_")
    assert fault.startswith(f"`polish_{name}` ")
    assert f"got {BAD[name]}" in fault.replace("`int8`", "int8")


@pytest.mark.parametrize("value", ["fast", True, None])
def test_what_is_no_number_is_a_fault(value):
    assert TrainingSettings(learning_rate=value).faults() == [f"`learning_rate` must be positive, got {value}."]


def test_good_settings():
    settings = TrainingSettings(warmup=0.0, max_grad_norm=0.0, distillation_weight=0.0, checkpoints=0, mixed_precision="bf16")
    assert settings.faults() == []
    settings.check()


def test_check_raises_them_all():
    with pytest.raises(ConfigurationError) as caught:
        TrainingSettings(**BAD).check()
    assert len(caught.value.faults) == len(BAD)


def test_settings_need_no_torch():
    """The command line reads them before anything heavy loads."""
    code = "import secateur.training.settings, sys; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
