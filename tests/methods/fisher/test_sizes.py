"""Masks for sizes in parameters: by brute force on a toy, and the same however the examples are batched."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from secateur.methods.fisher.information import diagonal, mask_gradients
from secateur.methods.fisher.sizes import masks_by_information
from secateur.objectives import Bound
from secateur.spaces.pruning import Large, plan_of
from secateur.supernet import Supernet
from secateur.testing.models import toy_model


@pytest.fixture
def supernet() -> Supernet:
    return Supernet(toy_model("bert", seed=3, layers=2, num_attention_heads=2, intermediate_size=3))


@pytest.fixture
def batches() -> list[dict[str, Any]]:
    torch.manual_seed(0)
    return [
        {
            "input_ids": torch.randint(5, 30, (n, 6)),
            "attention_mask": torch.ones(n, 6, dtype=torch.long),
            "labels": torch.randint(0, 2, (n,)),
        }
        for n in (4, 2, 3)
    ]


def test_no_network_of_the_size_keeps_more_information(supernet: Supernet, batches: list[dict[str, Any]]) -> None:
    """All 1,024 networks of two layers with two heads and three units."""
    gradients = mask_gradients(supernet, batches)
    information = np.hstack([diagonal(gradients.heads), diagonal(gradients.units)]).ravel()
    space, whole = Large(supernet.shape), supernet.body_parameters(supernet.whole)
    (counts, *_) = supernet.counts
    every = np.array(list(product((0, 1), repeat=information.size)))
    full = [space.plan(space.from_values(row)) for row in every]
    sizes = np.array([supernet.body_parameters(p) + (2 - len(p.layers)) * counts.always for p in full])
    for share in (0.3, 0.5, 0.8):
        (found,) = masks_by_information(supernet, batches, [Bound.parse(f"{100 * share:.0f}%")])
        best = (every @ information)[sizes <= share * whole].max()
        assert space.values(found) @ information == pytest.approx(best)
        assert supernet.body_parameters(plan_of(found, supernet.shape)) <= share * whole


def test_examples_count_alike_in_batches_of_any_size(supernet: Supernet, batches: list[dict[str, Any]]) -> None:
    levels = [Bound.parse("40%"), Bound.parse("60%")]
    one_by_one = [
        {name: value[i : i + 1] for name, value in batch.items()} for batch in batches for i in range(len(batch["labels"]))
    ]
    assert masks_by_information(supernet, batches, levels) == masks_by_information(supernet, one_by_one, levels)


def test_a_size_too_small_for_a_head_or_unit_has_no_network(supernet: Supernet, batches: list[dict[str, Any]]) -> None:
    assert masks_by_information(supernet, batches, [Bound.parse("1")]) == []
