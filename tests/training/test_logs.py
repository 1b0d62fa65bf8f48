"""Logs through transformers' integrations: what TensorBoard reads again, and what is refused before anything starts."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.errors import ConfigurationError, MissingExtraError
from secateur.training import logs as logs_module
from secateur.training.logs import Logs
from secateur.training.settings import TrainingSettings
from secateur.training.text_trainer import train_text

pytestmark = pytest.mark.usefixtures("brief")


def scalars(folder, name):
    """(step, value) of a curve in a folder of TensorBoard's."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def test_tensorboard_has_the_losses_and_the_search(tmp_path, quick_prune, monkeypatch):
    monkeypatch.delenv("TENSORBOARD_LOGGING_DIR", raising=False)
    run = quick_prune(tmp_path / "run", log_to="tensorboard", polish_at=["90%"], candidates=1)
    folder = run.folder / "logs"
    (polished,) = run.polished
    assert {path.name for path in folder.iterdir()} == {"warm-up", "train", "search", f"polish-{polished}"}
    for part, curve in (("warm-up", "warm-up"), ("train", "train"), (f"polish-{polished}", f"polish {polished[:8]}")):
        kept = [(step, pytest.approx(values["loss"], rel=1e-5)) for step, values in run.store.curve(curve)]
        assert len(kept) > 3
        assert scalars(folder / part, "train/loss") == kept
    best = scalars(folder / "search", "eval/best_error")
    assert [step for step, _ in best] == [1, 2, 3, 4, 5, 6]
    assert best[-1][1] == pytest.approx(min(m.values["error"] for m in run.front))
    volumes = [value for _, value in scalars(folder / "search", "eval/hypervolume")]
    assert volumes == sorted(volumes)
    assert volumes[-1] > 0


def test_a_text_is_logged_at_the_points_of_its_curve(tmp_path):
    from secateur.testing.models import toy_model

    tokens = (1 + np.arange(400) % 7).astype(np.int32)
    logs = Logs.of_run(["tensorboard"], tmp_path).of("train")
    settings = TrainingSettings(steps=6, batch_size=4, learning_rate=1e-2, group_by_length=False)
    found = train_text(
        toy_model("gpt2", kind="causal"), tokens, tokens, settings, tmp_path / "steps", length=8, evaluations=3, logs=logs
    )
    for name, field in (("train/loss", "train_loss"), ("eval/loss", "validation_loss")):
        assert scalars(tmp_path / "logs" / "train", name) == [
            (p.step, pytest.approx(getattr(p, field), rel=1e-5)) for p in found.curve
        ]


def test_the_users_own_folder_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "mine"))
    with Logs.of_run(["tensorboard"], tmp_path / "run").of("search").writer() as write:
        write(1, {"best_error": 0.5})
    assert scalars(tmp_path / "mine" / "search", "eval/best_error") == [(1, 0.5)]


def test_a_missing_library_is_said_before_anything_starts(tmp_path, quick_prune, monkeypatch):
    monkeypatch.setattr(logs_module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"`wandb` is not installed\. Install it with: pip install 'secateur\[wandb\]'"):
        quick_prune(tmp_path / "run", log_to=["wandb"])
    assert not (tmp_path / "run").exists()


def test_an_unknown_logger_is_refused(tmp_path, quick_prune):
    with pytest.raises(ConfigurationError, match=r"unknown log to `tensorbord`\. Did you mean `tensorboard`"):
        quick_prune(tmp_path / "run", log_to=["tensorbord"])


def test_runs_are_named_and_the_environment_is_left_as_it_was(tmp_path, monkeypatch):
    import os

    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    monkeypatch.setenv("WANDB_PROJECT", "mine")
    logs = Logs(("mlflow",), tmp_path, "prune-001", "train")
    assert logs.arguments() == {"report_to": ["mlflow"], "run_name": "prune-001 train"}
    with logs.open():
        assert (os.environ["MLFLOW_EXPERIMENT_NAME"], os.environ["WANDB_PROJECT"]) == ("secateur", "mine")
    assert "MLFLOW_EXPERIMENT_NAME" not in os.environ
