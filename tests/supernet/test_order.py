"""Importance is the Taylor score done by hand; ordering permutes and changes no function."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from secateur.errors import ConfigurationError, DataError, EvaluationFailure
from secateur.supernet import Importance, Order, Supernet, importance, reorder
from secateur.testing.models import toy_batch, toy_model

FAMILIES = ["bert", "distilbert", "gpt2", "llama"]


def batches(model, n=2):
    return [toy_batch(model, seed=seed) for seed in range(n)]


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_are_the_slope_of_the_loss_along_each_head_and_unit(family):
    """Scaling a head's columns by (1 + e) changes the loss by e · Σ w ∂L/∂w: central differences in double precision."""
    supernet = Supernet(toy_model(family, layers=2).double())
    model = supernet.model
    data = batches(model)
    scores = importance(supernet, data)
    single = family == "llama"  # its norms compute in single precision whatever the model's is
    step, close = (1e-3, {"rel": 1e-3, "abs": 5e-4}) if single else (1e-5, {"rel": 1e-4, "abs": 1e-8})
    for by, table in (("heads", scores.heads), ("units", scores.units)):
        parts = table.shape[1]
        for i, layer in enumerate(supernet.layers):
            module = layer.get_submodule(supernet.anatomy.output(by).module)
            weight = module.weight if family == "gpt2" else module.weight.T  # (in, out)
            width = len(weight) // parts
            for part in range(parts):
                rows = slice(part * width, (part + 1) * width)
                kept = weight.detach()[rows].clone()
                slopes = []
                for batch in data:
                    losses = []
                    for factor in (1 + step, 1 - step):
                        with torch.no_grad():
                            weight[rows] = kept * factor
                            losses.append(float(model(**batch).loss))
                    slopes.append(abs(losses[0] - losses[1]) / (2 * step))
                with torch.no_grad():
                    weight[rows] = kept
                assert table[i, part] == pytest.approx(sum(slopes), **close)


def test_the_model_is_left_as_it_was():
    supernet = Supernet(toy_model("bert"))
    model = supernet.model.train()
    frozen = supernet.layers[0].output.dense.weight.requires_grad_(False)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    with torch.no_grad():
        scores = importance(supernet, batches(model))
    assert (scores.units[0] > 0).all()  # a frozen layer has scores too
    assert model.training
    assert not frozen.requires_grad
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())


def test_without_a_batch_there_are_no_scores():
    with pytest.raises(DataError, match="at least one batch"):
        importance(Supernet(toy_model("bert")), [])


def test_scores_that_are_not_finite_are_a_failure():
    supernet = Supernet(toy_model("bert"))
    with torch.no_grad():
        supernet.layers[0].output.dense.weight[0, 0] = float("nan")
    with pytest.raises(EvaluationFailure, match="not finite"):
        importance(supernet, batches(supernet.model))


def test_order_falls_and_is_stable():
    order = Importance(np.array([[1.0, 3.0, 2.0, 3.0]]), np.array([[0.0, 0.0, 0.0]])).order()
    assert order.heads.tolist() == [[1, 3, 2, 0]]
    assert order.units.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    "family", [*FAMILIES, "mpnet", "deberta-v2", "modernbert", "opt", "gpt_neox", "gemma3_text", "phi", "vit"]
)
def test_after_reordering_scores_fall_and_the_function_is_the_same(family):
    supernet = Supernet(toy_model(family))
    data = batches(supernet.model)
    scores = importance(supernet, data)
    order = scores.order(alike=supernet.heads_alike)
    with torch.no_grad():
        before = supernet.model(**data[0]).logits
    reorder(supernet, order)
    with torch.no_grad():
        assert torch.allclose(supernet.model(**data[0]).logits, before, atol=1e-5)
    again = importance(supernet, data)
    assert np.allclose(again.heads, np.take_along_axis(scores.heads, order.heads, 1), rtol=1e-3, atol=1e-5)
    assert np.allclose(again.units, np.take_along_axis(scores.units, order.units, 1), rtol=1e-3, atol=1e-5)


def test_alike_in_all_layers_a_head_has_its_mean_share():
    scores = Importance(np.array([[1.0, 3.0, 0.0], [60.0, 20.0, 20.0], [0.0, 0.0, 0.0]]), np.zeros((3, 2)))
    order = scores.order(alike=True)  # shares 0.25, 0.75, 0 and 0.6, 0.2, 0.2; a layer without scores has no say
    assert order.heads.tolist() == [[1, 0, 2]] * 3
    assert scores.order().heads.tolist() == [[1, 0, 2], [0, 1, 2], [0, 1, 2]]


def test_a_table_that_layers_share_follows_its_heads():
    supernet = Supernet(toy_model("mpnet"))
    table = supernet.base.encoder.relative_attention_bias.weight
    before = table.detach().clone()
    heads = np.tile([2, 0, 3, 1], (3, 1))
    reorder(supernet, Order(heads, np.tile(np.arange(12), (3, 1))))
    assert torch.equal(table, before[:, [2, 0, 3, 1]])
    heads[1] = [0, 1, 2, 3]
    with pytest.raises(ConfigurationError, match=r"the order of `heads` must be the same in all layers") as caught:
        reorder(supernet, Order(heads, np.tile(np.arange(12), (3, 1))))
    assert "`encoder.relative_attention_bias`" in str(caught.value)
    assert torch.equal(table, before[:, [2, 0, 3, 1]])


def test_saved_and_restored(tmp_path):
    supernet = Supernet(toy_model("bert"))
    scores = importance(supernet, batches(supernet.model))
    np.savez(tmp_path / "order.npz", **scores.as_arrays(), **scores.order().as_arrays())
    with np.load(tmp_path / "order.npz", allow_pickle=False) as arrays:
        order, restored = Order.from_arrays(arrays), Importance.from_arrays(arrays)
    assert np.array_equal(restored.heads, scores.heads)
    assert np.array_equal(restored.units, scores.units)
    other = Supernet(toy_model("bert"))
    reorder(supernet, scores.order())
    reorder(other, order)
    for one, two in zip(supernet.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize(
    ("heads", "units", "name"),
    [
        (np.zeros((3, 4), int), np.tile(np.arange(12), (3, 1)), "heads"),
        (np.tile(np.arange(4), (3, 1)), np.tile(np.arange(11), (3, 1)), "units"),
        (np.tile(np.arange(4), (2, 1)), np.tile(np.arange(12), (2, 1)), "heads"),
    ],
)
def test_an_order_of_another_network_is_refused(heads, units, name):
    supernet = Supernet(toy_model("bert"))
    before = [p.detach().clone() for p in supernet.model.parameters()]
    with pytest.raises(ConfigurationError, match=f"the order of `{name}` must be a permutation"):
        reorder(supernet, Order(heads, units))
    assert all(torch.equal(p, b) for p, b in zip(supernet.model.parameters(), before, strict=True))
