"""Whole runs: resumed, damaged, diverged; silent, and without a trace in the caller's random state."""

from __future__ import annotations

import errno
import random
import shutil
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import Trainer, TrainingArguments
from transformers.utils import logging

from secateur.catalogue import find
from secateur.errors import ConfigurationError, EvaluationFailure, StudyError
from secateur.spaces.pruning import Small
from secateur.supernet import Supernet
from secateur.testing.models import toy_model
from secateur.testing.toy_task import toy_task_data
from secateur.training import stage_trainer
from secateur.training.checkpoints import UNFINISHED, resumable
from secateur.training.fine_tune import fine_tune
from secateur.training.settings import TrainingSettings
from secateur.training.trainer import train_supernet

#: 6 steps an epoch, 12 in all; checkpoints after 3 (in an epoch), 6 (between epochs) and 9 (in the second one)
SETTINGS = TrainingSettings(epochs=2, learning_rate=1e-2, batch_size=4, checkpoints=4, seed=3)


class Killed(Exception):  # noqa: N818
    """The process ends here."""


def network():
    """With dropout: its draws must go on where they stopped, too."""
    model = toy_model("bert", layers=2)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.2
    return Supernet(model)


def train(folder, at=None, settings=SETTINGS, supernet=None, do=None, strategy="full"):
    """Train; at step `at` `do` something, or be killed."""
    supernet = supernet or network()

    def progress(step, steps, loss):
        if step == at:
            if do is None:
                raise Killed
            do(supernet.model)

    made = find("strategy", strategy)(Small(supernet.shape), k=1)
    rows = train_supernet(supernet, made, toy_task_data(), settings, folder, progress=progress)
    return supernet.model, rows


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    model, rows = train(tmp_path_factory.mktemp("whole"))
    return model.state_dict(), rows


def equal(model, weights):
    return all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize(("killed", "checkpoint"), [(5, 3), (8, 6), (11, 9)])
def test_a_resumed_run_ends_as_if_nothing_had_happened(tmp_path, uninterrupted, killed, checkpoint):
    with pytest.raises(Killed):
        train(tmp_path, at=killed)
    assert [path.name for path in tmp_path.iterdir()] == [f"checkpoint-{checkpoint}"]  # the last is kept, no other
    steps = []
    supernet = network()
    strategy = find("strategy", "full")(Small(supernet.shape), k=1)
    rows = train_supernet(
        supernet, strategy, toy_task_data(), SETTINGS, tmp_path, progress=lambda s, n, loss: steps.append((s, n))
    )
    assert steps == [(step, 12) for step in range(checkpoint + 1, 13)]
    assert equal(supernet.model, uninterrupted[0])
    assert [(row["step"], row["loss"]) for row in rows] == [(row["step"], row["loss"]) for row in uninterrupted[1]]


def test_killed_while_a_checkpoint_is_written(tmp_path, uninterrupted, monkeypatch):
    """The half-written one is ignored: the run goes on from the last whole one."""
    usual = Trainer._save_optimizer_and_scheduler

    def die(self, folder):
        if self.state.global_step == 6:
            raise Killed
        usual(self, folder)

    monkeypatch.setattr(Trainer, "_save_optimizer_and_scheduler", die)
    with pytest.raises(Killed):
        train(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint-3", UNFINISHED}
    monkeypatch.undo()
    model, _ = train(tmp_path)
    assert equal(model, uninterrupted[0])
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-12"]


def test_a_full_disk(tmp_path, monkeypatch):
    def full(self, folder):
        if self.state.global_step == 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        usual(self, folder)

    usual = Trainer._save_optimizer_and_scheduler
    monkeypatch.setattr(Trainer, "_save_optimizer_and_scheduler", full)
    with pytest.raises(StudyError, match="the disk is full"):
        train(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-3"]


def cut(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


class Harmful:
    """What a pickle could do to whoever loads it."""

    def __reduce__(self):
        return Path.touch, (Path(tempfile.gettempdir()) / "secateur-was-here",)


def poisoned(path):
    torch.save({"state": Harmful()}, path)


def flip(path):
    """Change one byte in the largest tensor's data."""
    with zipfile.ZipFile(path) as archive:
        entry = max(archive.infolist(), key=lambda e: e.file_size)
    data = bytearray(path.read_bytes())
    name, extra = struct.unpack_from("<HH", data, entry.header_offset + 26)
    data[entry.header_offset + 30 + name + extra + entry.file_size // 2] ^= 255
    path.write_bytes(bytes(data))


class TestDamagedCheckpoints:
    @pytest.fixture(scope="class")
    def good(self, tmp_path_factory):
        folder = tmp_path_factory.mktemp("good")
        with pytest.raises(Killed):
            train(folder, at=4)
        return folder

    @pytest.mark.parametrize(
        ("name", "damage", "said"),
        [
            ("trainer_state.json", lambda p: p.unlink(), "it has no trainer_state.json"),
            ("trainer_state.json", cut, "trainer_state.json cannot be read"),
            ("trainer_state.json", lambda p: p.write_text("[]"), "trainer_state.json cannot be read"),
            ("model.safetensors", cut, "model.safetensors cannot be read"),
            ("model.safetensors", lambda p: p.unlink(), "it has no model.safetensors"),
            ("optimizer.pt", cut, "optimizer.pt cannot be read"),
            ("optimizer.pt", flip, "optimizer.pt fails its check sum"),
            ("optimizer.pt", lambda p: p.unlink(), "it has no optimizer.pt"),
            ("scheduler.pt", lambda p: p.write_bytes(b""), "scheduler.pt cannot be read"),
            ("rng_state.pth", lambda p: p.unlink(), "it has no rng_state.pth"),
            ("trainer_state.json", lambda p: p.write_text('{"global_step": "3"}'), "trainer_state.json cannot be read"),
            (
                "trainer_state.json",
                lambda p: p.write_text('{"global_step": 3, "dreams": 1}'),
                "trainer_state.json cannot be read",
            ),
            ("optimizer.pt", poisoned, "would run code, so it is not loaded"),
            ("scheduler.pt", poisoned, "would run code, so it is not loaded"),
            ("rng_state.pth", poisoned, "would run code, so it is not loaded"),
            ("optimizer.pt", lambda p: torch.save([1, 2], p), "list"),
            ("scheduler.pt", lambda p: torch.save("words", p), "str"),
            ("rng_state.pth", lambda p: torch.save({"python": 1}, p), "damaged"),
            (
                "model.safetensors",
                lambda p: save_file({"bert.embeddings.word_embeddings.weight": torch.ones(2, 2)}, p),
                "size mismatch",
            ),
        ],
    )
    def test_are_named_and_left_alone(self, good, tmp_path, name, damage, said):
        folder = tmp_path / "training"
        shutil.copytree(good, folder)
        damage(folder / "checkpoint-3" / name)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        with pytest.raises(StudyError) as caught:
            train(folder)
        assert str(folder / "checkpoint-3") in str(caught.value)
        assert said in str(caught.value)
        assert "Move it away" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert not (Path(tempfile.gettempdir()) / "secateur-was-here").exists()
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before

    def test_a_good_one_is_found(self, good):
        assert resumable(good) == str(good / "checkpoint-3")
        assert resumable(good / "nowhere") is None
        assert resumable(good / "checkpoint-3") is None


def poison(model):
    with torch.no_grad():
        model.classifier.bias.fill_(float("nan"))


class TestDivergence:
    def test_a_loss_that_is_no_number_fails_with_a_sentence(self, tmp_path):
        with pytest.raises(EvaluationFailure, match=r"training diverged at step 6: .*Use a lower learning rate\."):
            train(tmp_path, at=5, do=poison)
        assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-3"]

    @pytest.mark.parametrize("at", [11, 12])
    def test_between_the_last_log_and_the_end(self, tmp_path, monkeypatch, at):
        """In the last step's loss, or in the weights that the last step leaves."""
        usual = stage_trainer.training_arguments

        def seldom(*args):
            made = usual(*args)
            made.logging_steps, made.save_steps = 1000, 1000
            made.save_strategy = "no"
            return made

        monkeypatch.setattr(stage_trainer, "training_arguments", seldom)
        with pytest.raises(EvaluationFailure, match="training diverged at step 12"):
            train(tmp_path, at=at, do=poison)

    def test_no_checkpoint_of_it_is_kept(self, tmp_path, monkeypatch):
        usual = stage_trainer.training_arguments

        def seldom(*args):
            made = usual(*args)
            made.logging_steps = 1000
            return made

        monkeypatch.setattr(stage_trainer, "training_arguments", seldom)
        with pytest.raises(EvaluationFailure, match="training diverged at step 6"):
            train(tmp_path, at=4, do=poison)
        assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-3"]

    def test_a_learning_rate_beyond_reason(self, tmp_path):
        with pytest.raises(EvaluationFailure, match="training diverged"):
            train(
                tmp_path,
                settings=TrainingSettings(epochs=3, learning_rate=1e36, learning_rate_warmup=0.0, batch_size=4, checkpoints=0),
            )


def states():
    return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002


@pytest.mark.parametrize("fails", [False, True])
def test_the_callers_random_state_is_left_alone(tmp_path, fails):
    random.seed(11)
    np.random.seed(12)  # noqa: NPY002
    torch.manual_seed(13)
    before = states()
    settings = TrainingSettings(epochs=1, batch_size=8, checkpoints=0)
    if fails:
        with pytest.raises(Killed):
            train(tmp_path, at=2, settings=settings)
    else:
        model, _ = train(tmp_path / "train", settings=settings)
        fine_tune(toy_model("bert", layers=1), toy_task_data(), settings, tmp_path / "polish", teacher=model)
    assert states() == before


def test_nothing_reaches_the_terminal(tmp_path, capfd):
    _, rows = train(tmp_path)
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "%|" not in printed.err  # no bars either
    assert logging.is_progress_bar_enabled()
    assert [row["step"] for row in rows] == list(range(1, 13))
    assert all(set(row) >= {"loss", "learning_rate"} for row in rows)


@pytest.mark.parametrize("mode", [True, False])
def test_the_model_comes_back_as_it_was_lent(tmp_path, mode):
    """Mode, cache and gradient checkpointing; only the weights are new."""
    supernet = Supernet(toy_model("gpt2", "causal", layers=2))
    supernet.model.train(mode)
    settings = TrainingSettings(epochs=1, batch_size=8, checkpoints=0, gradient_checkpointing=True)
    data = toy_task_data("language_modelling")
    before = {name: tensor.clone() for name, tensor in supernet.model.state_dict().items()}
    train_supernet(supernet, find("strategy", "full")(Small(supernet.shape)), data, settings, tmp_path)
    assert all(module.training == mode for module in supernet.model.modules())
    assert supernet.model.config.use_cache
    assert not supernet.model.is_gradient_checkpointing
    assert all(p.grad is None for p in supernet.model.parameters())
    assert not equal(supernet.model, before)


def test_arguments_follow_the_settings(tmp_path):
    settings = TrainingSettings(
        epochs=3,
        learning_rate=1e-3,
        batch_size=4,
        learning_rate_warmup=0.1,
        weight_decay=0.2,
        max_grad_norm=0.5,
        checkpoints=3,
        seed=9,
    )
    made = stage_trainer.training_arguments(settings, tmp_path, 10, "cpu")
    assert (made.num_train_epochs, made.learning_rate, made.per_device_train_batch_size) == (3, 1e-3, 4)
    assert (made.warmup_steps, made.weight_decay, made.max_grad_norm, made.seed, made.data_seed) == (0.1, 0.2, 0.5, 9, 9)
    assert (made.save_steps, made.get_warmup_steps(9)) == (3, 1)
    assert made.device == torch.device("cpu")
    never = stage_trainer.training_arguments(TrainingSettings(checkpoints=0), tmp_path, 10, "cpu")
    assert str(getattr(never.save_strategy, "value", never.save_strategy)) == "no"


def test_polishing_on_several_gpus_without_a_launcher_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(TrainingArguments, "n_gpu", property(lambda self: 3))
    with pytest.raises(ConfigurationError, match="3 GPUs are visible"):
        fine_tune(toy_model("bert", layers=1), toy_task_data(), SETTINGS, tmp_path)


def test_progress_is_told_the_loss(tmp_path):
    losses = []
    supernet = network()
    strategy = find("strategy", "full")(Small(supernet.shape), k=1)
    rows = train_supernet(
        supernet, strategy, toy_task_data(), SETTINGS, tmp_path, progress=lambda s, n, loss: losses.append(loss)
    )
    assert losses == [None, *(row["loss"] for row in rows[:-1])]
