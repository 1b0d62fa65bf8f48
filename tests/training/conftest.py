"""What the tests of training share: toy super-networks, a recorder of gradients, and the same steps by plain autograd."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import torch
from transformers import TrainerCallback

from secateur.catalogue import find
from secateur.rng import generator
from secateur.spaces.pruning import Small
from secateur.supernet import Supernet
from secateur.testing.masks import masked
from secateur.testing.models import toy_model
from secateur.testing.toy_task import toy_task_data
from secateur.training.settings import TrainingSettings
from secateur.training.stage_trainer import training_arguments
from secateur.training.trainer import SupernetTrainer

#: kind of task → the toy model for it
MODELS = {
    "classification": ("bert", "classification"),
    "regression": ("bert", "regression"),
    "multiple_choice": ("bert", "multiple_choice"),
    "language_modelling": ("gpt2", "causal"),
}
SETTINGS = TrainingSettings(
    epochs=1,
    learning_rate=1e-3,
    batch_size=8,
    learning_rate_warmup=0.0,
    max_grad_norm=0.0,
    temperature=2.0,
    checkpoints=0,
    seed=4,
)


class Recorder(TrainerCallback):
    """Keeps the gradients of every step, as the optimiser gets them."""

    def __init__(self):
        self.steps = []

    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        self.steps.append({n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None})


class Toy:
    """One training run on toy data: the super-network before it, the batches it saw and the gradients it made."""

    def __init__(self, kind="classification", strategy="full", layers=2, examples=8, k=2, accumulate=1, family=None, **changes):
        name, head = MODELS[kind]
        self.data = toy_task_data(kind, examples=examples)
        self.supernet = Supernet(toy_model(family or name, head, layers=layers))
        self.before = copy.deepcopy(self.supernet.model)
        self.settings = dataclasses.replace(SETTINGS, **changes)
        self.strategy = find("strategy", strategy)(Small(self.supernet.shape), k=k)
        self.batches, self.recorder, self.accumulate = [], Recorder(), accumulate

    def trainer(self, folder):
        args = training_arguments(self.settings, folder, len(self.data.train), "cpu")
        args.gradient_accumulation_steps = self.accumulate
        return SupernetTrainer(
            self.supernet,
            self.strategy,
            settings=self.settings,
            regression=self.data.task.kind == "regression",
            language_modelling=self.data.task.kind == "language_modelling",
            args=args,
            train_dataset=self.data.train,
            data_collator=self.collate,
            callbacks=[self.recorder],
        )

    def collate(self, features):
        self.batches.append(self.data.collate(features))
        return dict(self.batches[-1])

    def train(self, folder):
        self.trainer(folder).train()
        return self

    def by_hand(self, model, batch, step=0, steps=1, detach=True):
        """Add the gradients of one step on `model`: masks, one loss for the sum of all passes, the term written out."""
        supernet, kind, settings = Supernet(model), self.data.task.kind, self.settings
        authors = settings.distillation == "authors"
        total, teacher = 0.0, None
        for draw in self.strategy.draws(step, steps, generator(settings.seed, "train", step)):
            if draw.plan is None:
                outputs = model(**batch)
                teacher = outputs.logits.detach() if detach else outputs.logits
            else:
                with masked(supernet, draw.plan):
                    outputs = model(**batch)
            if authors and (self.strategy.name == "kd" and draw.plan is None):
                continue
            if not (authors and kind == "regression" and draw.distilled and settings.distillation_weight):
                total = total + outputs.loss
            if draw.distilled:
                term = self.authors_term if authors else self.term
                total = total + settings.distillation_weight * term(outputs.logits, teacher, batch, kind)
        total.backward()

    def term(self, student, teacher, batch, kind):
        if kind == "regression":
            return ((student - teacher) ** 2).mean()
        temperature = self.settings.temperature
        p, q = (teacher / temperature).softmax(-1), (student / temperature).softmax(-1)
        rows = (p * (p.log() - q.log())).sum(-1)
        if kind == "language_modelling":
            rows = rows[:, :-1][batch["labels"][:, 1:] != -100]
        return rows.mean() * (temperature**2 if self.settings.squared_temperature else 1.0)

    def authors_term(self, student, teacher, batch, kind):
        """The authors' own: T² times the cross-entropy to the teacher's softened answers."""
        if kind == "regression":
            return torch.nn.functional.mse_loss(student, teacher)
        if kind == "language_modelling":
            counted = batch["labels"][:, 1:] != -100
            student, teacher = student[:, :-1][counted], teacher[:, :-1][counted]
        temperature = self.settings.temperature
        soft = torch.softmax(teacher / temperature, dim=-1)
        return temperature**2 * torch.nn.functional.cross_entropy(student / temperature, soft)


@pytest.fixture
def toy():
    return Toy


def assert_same(found, expected, tolerance=1e-6):
    """Two dicts of tensors; what one lacks must be zero in the other."""
    for name in {*found, *expected}:
        one, other = found.get(name), expected.get(name)
        one = torch.zeros_like(other) if one is None else one
        other = torch.zeros_like(one) if other is None else other
        assert torch.allclose(one, other, atol=tolerance, rtol=1e-4), (name, (one - other).abs().max())


@pytest.fixture
def same():
    return assert_same


def gradients(model):
    return {n: p.grad for n, p in model.named_parameters() if p.grad is not None}


@pytest.fixture
def gradients_of():
    return gradients


@pytest.fixture
def recorder():
    return Recorder()
