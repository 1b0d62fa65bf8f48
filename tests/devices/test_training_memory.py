"""Memory of training steps as planned on the meta device, beside what real trainings of the same networks take."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
import torch

from secateur.catalogue import find
from secateur.devices.memory import LiveStorages, weight_bytes
from secateur.devices.training_memory import StepMemory, pass_memory, step_memory
from secateur.rng import generator
from secateur.spaces.pruning import Small
from secateur.supernet import Supernet
from secateur.testing.models import toy_model
from secateur.testing.toy_task import toy_task_data
from secateur.training.fine_tune import fine_tune
from secateur.training.settings import TrainingSettings
from secateur.training.strategies import Draw
from secateur.training.trainer import train_supernet

SETTINGS = TrainingSettings(epochs=1, batch_size=8, checkpoints=0, group_by_length=True, learning_rate=1e-3)


def like(model):
    """The same network without weights. Toys have no dropout, whatever their configuration says."""
    config = copy.deepcopy(model.config)
    for name in vars(config):
        if "drop" in name and isinstance(getattr(config, name), float):
            setattr(config, name, 0.0)
    with torch.device("meta"):
        return Supernet(type(model)(config))


@pytest.mark.parametrize(
    ("family", "kind", "changes"),
    [
        ("bert", "classification", {}),
        ("bert", "classification", {"gradient_checkpointing": True}),
        ("bert", "classification", {"optimizer": "adafactor"}),
        ("llama", "language_modelling", {}),
        ("llama", "language_modelling", {"gradient_checkpointing": True}),
    ],
)
def test_a_training_takes_what_was_planned(family, kind, changes, tmp_path: Path):
    """Of a super-network: the most bytes of tensors that are alive at once, batches and all, within a quarter."""
    data = toy_task_data(kind, examples=24, shortest=9)
    settings = replace(SETTINGS, **changes)
    supernet = Supernet(toy_model(family, *(("causal",) if kind == "language_modelling" else ()), layers=3))
    strategy = find("strategy", "full")(Small(supernet.shape), k=2)
    draws = [strategy.draws(step, 3, generator(settings.seed, "train", step)) for step in range(3)]
    passes = [draw for step in draws for draw in step]
    planned = step_memory(like(supernet.model), passes, max(data.train.lengths), kind, settings, labels=3)
    alive = LiveStorages(chain(supernet.model.parameters(), supernet.model.buffers()))
    with alive:
        train_supernet(supernet, strategy, data, settings, tmp_path)
    real = weight_bytes(supernet.model) + alive.peak
    assert planned.peak == pytest.approx(real, rel=0.25)
    assert planned.weights == weight_bytes(supernet.model)
    trained = sum(p.numel() for p in supernet.model.parameters())
    assert planned.gradients == 4 * trained
    assert planned.states == (8 * trained if settings.optimizer == "adamw" else planned.states)


def test_additions_need_less_than_the_weights(tmp_path: Path):
    data, settings = toy_task_data(examples=24, shortest=9), replace(SETTINGS, lora_rank=1)
    model = toy_model("bert", layers=3)
    planned = step_memory(like(model), [Draw()], max(data.train.lengths), "classification", settings, labels=3)
    full = step_memory(like(model), [Draw()], max(data.train.lengths), "classification", SETTINGS, labels=3)
    alive = LiveStorages(chain(model.parameters(), model.buffers()))
    with alive:
        fine_tune(model, data, settings, tmp_path)
    assert planned.peak == pytest.approx(weight_bytes(model) + alive.peak, rel=0.1)
    assert planned.gradients < full.gradients / 2
    assert planned.states == 2 * planned.gradients


def test_states_of_optimisers_are_counted_as_they_are():
    """Adafactor: a number for each row and column; 8-bit AdamW: two bytes each."""
    from transformers.optimization import Adafactor

    model = toy_model("bert")
    optimizer = Adafactor(model.parameters(), lr=1e-3, scale_parameter=False, relative_step=False)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    real = sum(v.nbytes for s in optimizer.state.values() for n, v in s.items() if torch.is_tensor(v) and "sq" in n)
    given = (like(model), [Draw()], 8, "classification")
    assert step_memory(*given, replace(SETTINGS, optimizer="adafactor"), labels=3).states == real
    trained = sum(p.numel() for p in model.parameters())
    assert step_memory(*given, replace(SETTINGS, optimizer="adamw-8bit"), labels=3).states == 2 * trained


def test_mixed_precision_halves_activations_and_copies_matrices():
    model = toy_model("bert")
    whole = step_memory(like(model), [Draw()], 8, "classification", SETTINGS, labels=3)
    mixed = step_memory(like(model), [Draw()], 8, "classification", replace(SETTINGS, mixed_precision="bf16"), labels=3)
    copies = 2 * sum(p.numel() for p in model.parameters() if p.dim() > 1)
    assert (mixed.weights, mixed.gradients, mixed.states) == (whole.weights, whole.gradients, whole.states)
    assert mixed.activations - copies == pytest.approx(whole.activations / 2, rel=0.2)


def test_a_pass_needs_neither_gradients_nor_states():
    model = toy_model("bert")
    found = pass_memory(like(model), 8, 8, "classification")
    assert found == StepMemory(weight_bytes(model), activations=found.activations)
    assert 0 < found.activations < step_memory(like(model), [Draw()], 8, "classification", SETTINGS, labels=3).activations
    assert found.beside(100).peak == found.peak + 100
