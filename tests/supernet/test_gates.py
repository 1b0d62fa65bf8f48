"""Gradients of gates, of each example apart: the slope of its own loss, by differences and one example at a time."""

from __future__ import annotations

import pytest
import torch

from secateur.supernet import Supernet
from secateur.supernet.gates import gate_gradients
from secateur.testing.models import toy_batch, toy_model

KINDS = [
    ("bert", "classification"),
    ("roberta", "regression"),
    ("distilbert", "multiple_choice"),
    ("gpt2", "causal"),
    ("llama", "classification"),
    ("qwen3", "causal"),
    ("mpnet", "classification"),
    ("deberta-v2", "classification"),
    ("modernbert", "multiple_choice"),
    ("opt", "classification"),  # its feed-forward reads (B × T, width)
    ("gpt_neox", "classification"),
    ("phi", "causal"),
    ("gemma2", "classification"),
    ("vit", "image_classification"),
]


def own_losses(model, batch):
    """The loss of each example alone, in a batch of one."""
    rows = range(len(batch["labels"]))
    return [float(model(**{name: value[i : i + 1] for name, value in batch.items()}).loss) for i in rows]


@pytest.mark.parametrize(("family", "kind"), KINDS)
def test_the_slope_of_each_examples_own_loss(family, kind):
    supernet = Supernet(toy_model(family, kind, layers=2).double())
    model = supernet.model
    batch = toy_batch(model)
    if kind == "regression":
        batch["labels"] = batch["labels"].double()
    gradients = gate_gradients(supernet, batch)
    # Some norms, rotary angles and losses compute in single precision whatever the model's is.
    single = family in ("llama", "gemma2", "modernbert", "deberta-v2") or kind == "causal"
    step, close = (1e-3, {"rel": 2e-3, "abs": 1e-3}) if single else (1e-5, {"rel": 1e-4, "abs": 1e-8})
    for by, part in (("heads", 2), ("units", 5)):
        found = gradients.of_examples(by)
        assert found.shape == (3, 2, getattr(supernet.shape, by))
        for i, layer in enumerate(supernet.layers):
            module = layer.get_submodule(supernet.anatomy.output(by).module)
            weight = module.weight if family == "gpt2" else module.weight.T  # (in, out)
            width = len(weight) // found.shape[2]
            rows = slice(part * width, (part + 1) * width)
            kept = weight.detach()[rows].clone()
            losses = []
            with torch.no_grad():
                for factor in (1 + step, 1 - step):
                    weight[rows] = kept * factor
                    losses.append(own_losses(model, batch))
                weight[rows] = kept
            slopes = [(up - down) / (2 * step) for up, down in zip(*losses, strict=True)]
            assert found[:, i, part].tolist() == pytest.approx(slopes, **close)


@pytest.mark.parametrize(("family", "kind"), KINDS)
def test_the_batchs_gradient_is_that_of_its_loss(family, kind):
    """A gate scales its part of the projection: the gradient is Σ w ∂L/∂w over it."""
    supernet = Supernet(toy_model(family, kind))
    batch = toy_batch(supernet.model)
    found = gate_gradients(supernet, batch)
    supernet.model(**batch).loss.backward()
    for by in ("heads", "units"):
        for i, layer in enumerate(supernet.layers):
            weight = layer.get_submodule(supernet.anatomy.output(by).module).weight
            products = (weight * weight.grad).detach()
            parts = products.sum(1 if family == "gpt2" else 0).view(getattr(supernet.shape, by), -1).sum(1)
            torch.testing.assert_close(found.of_batch(by)[i], parts, rtol=1e-3, atol=1e-5)


def test_an_example_that_predicts_nothing_has_no_gradient():
    supernet = Supernet(toy_model("gpt2", "causal"))
    batch = toy_batch(supernet.model)
    batch["labels"][1] = -100
    found = gate_gradients(supernet, batch).of_examples("heads")
    assert (found[1] == 0).all()
    assert torch.isfinite(found).all()


def test_gradients_of_the_model_stay_what_they_were():
    supernet = Supernet(toy_model("bert"))
    supernet.model.train()
    supernet.layers[0].output.dense.weight.requires_grad_(False)
    with torch.no_grad():
        found = gate_gradients(supernet, toy_batch(supernet.model))
    assert (found.units != 0).any(0).all()  # a frozen layer has gates too
    assert supernet.model.training
    assert all(p.grad is None for p in supernet.model.parameters())
    assert not any(m._forward_pre_hooks for m in supernet.model.modules())
