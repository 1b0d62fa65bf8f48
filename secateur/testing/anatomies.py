"""The contract of an anatomy: what a model family must pass before its sub-networks can be trusted.

Subclass `AnatomyContract` in a test, with a pytest fixture `supernet` (a Supernet around a small random model of the family, in
eval mode, without dropout) and a fixture `batch` (its keyword arguments, with labels). `secateur.testing.models` shows how such
models are made.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from secateur.anatomy.inputs import blank_inputs
from secateur.rng import generator
from secateur.spaces.pruning import Kept, Large, Layer, LayerPlan, Medium, Plan, Shape, Small, Sublayer
from secateur.supernet import Importance, Supernet, reorder
from secateur.testing.masks import masked

TOLERANCE = 1e-5


def contract_plans(shape: Shape, seed: int = 0, each: int = 2) -> list[Plan]:
    """Plans to try: random ones of all five spaces, and every case of zero."""
    rng = generator(seed, "anatomy contract")
    plans: list[Plan] = []
    for make in (Small, Medium, Layer, Sublayer, Large):
        space = make(shape)
        plans += [space.plan(a) for a in [*space.sample_many(each, rng), space.smallest(), space.largest()]]
    last = shape.layers - 1
    heads, units = Kept.chosen([shape.heads - 1]), Kept.chosen(range(1, shape.units))
    none = Kept.first(0)
    plans += [
        Plan.uniform(shape.layers, 0, shape.units),  # no attention at all
        Plan.uniform(shape.layers, shape.heads, 0),  # no feed-forward at all
        Plan.of([LayerPlan(0, none, units), LayerPlan(last, heads, none)]),
        Plan.of([LayerPlan(0, heads, none), LayerPlan(last, none, units)]),
        Plan.of([LayerPlan(last, heads, units)]),
    ]
    return list({plan.key: plan for plan in plans}.values())


def gradients(supernet: Supernet) -> dict[str, torch.Tensor]:
    """The gradient of every parameter, zeros where it has none; the model's own are emptied."""
    found = {name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in supernet.model.named_parameters()}
    supernet.model.zero_grad(set_to_none=True)
    return found


def assert_close(one: Any, other: Any, what: object, tolerance: float = TOLERANCE) -> None:
    """For values of size 1 or less; what is allowed grows with the largest value, as rounding does."""
    assert one.shape == other.shape, what
    difference = float((one - other).abs().max()) if one.numel() else 0.0
    allowed = tolerance * max(1.0, float(other.abs().max())) if one.numel() else 0.0
    assert difference <= allowed, f"{what}: the largest difference is {difference}"


class AnatomyContract:
    """What every family must pass."""

    def test_select_extract_and_masks_agree(self, supernet: Supernet, batch: Mapping[str, torch.Tensor]) -> None:
        with torch.no_grad():
            before = supernet.model(**batch).logits
            for plan in contract_plans(supernet.shape):
                with masked(supernet, plan) as model:
                    reference = model(**batch).logits
                with supernet.select(plan) as model:
                    assert_close(model(**batch).logits, reference, plan)
                assert_close(supernet.extract(plan)(**batch).logits, reference, plan)
            assert torch.equal(supernet.model(**batch).logits, before)

    def test_the_whole_plan_is_the_model(self, supernet: Supernet, batch: Mapping[str, torch.Tensor]) -> None:
        with torch.no_grad():
            before = supernet.model(**batch).logits
            with supernet.select(supernet.whole) as model:
                assert torch.equal(model(**batch).logits, before)

    def test_gradients_are_those_of_masks(self, supernet: Supernet, batch: Mapping[str, torch.Tensor]) -> None:
        supernet.model.train()
        for plan in contract_plans(supernet.shape, seed=1, each=1):
            with masked(supernet, plan) as model:
                model(**batch).loss.backward()
            reference = gradients(supernet)
            with supernet.select(plan) as model:
                loss = model(**batch).loss
            loss.backward()
            for name, gradient in gradients(supernet).items():
                assert_close(gradient, reference[name], (name, plan))

    def test_parameters_are_counted_exactly(self, supernet: Supernet) -> None:
        for plan in contract_plans(supernet.shape):
            small = supernet.extract(plan)
            assert supernet.parameters(plan) == sum(p.numel() for p in small.parameters())
            body = small.base_model.get_submodule(supernet.anatomy.layers)
            assert supernet.body_parameters(plan) == sum(p.numel() for p in body.parameters())

    def test_macs_are_counted_exactly(self, supernet: Supernet) -> None:
        from torch.utils.flop_counter import FlopCounterMode

        supernet = Supernet(copy.deepcopy(supernet.model))
        supernet.model.set_attn_implementation("eager")  # the counter knows plain matrix products
        inputs = blank_inputs(supernet.model, 2, 5)
        for plan in contract_plans(supernet.shape, each=1):
            small = supernet.extract(plan)
            with FlopCounterMode(display=False) as counter, torch.no_grad():
                small(**inputs)
            assert supernet.macs(plan, batch=2, length=5) == counter.get_total_flops() // 2, plan

    def test_reordering_changes_names_and_nothing_else(self, supernet: Supernet, batch: Mapping[str, torch.Tensor]) -> None:
        """The function stays, and a prefix then is what the chosen ones were before: prefixes and gathers meet here."""
        shape = supernet.shape
        rng = np.random.default_rng(0)
        scores = Importance(rng.random((shape.layers, shape.heads)), rng.random((shape.layers, shape.units)))
        order = scores.order(alike=supernet.heads_alike)
        heads, units = max(1, shape.heads // 2), shape.units // 2 + 1
        chosen = Plan.of(
            [
                LayerPlan(i, Kept.chosen(order.heads[i][:heads]), Kept.chosen(order.units[i][:units]))
                for i in range(shape.layers)
            ]
        )
        with torch.no_grad():
            before = supernet.model(**batch).logits
            with supernet.select(chosen) as model:
                picked = model(**batch).logits
            reorder(supernet, order)
            assert_close(supernet.model(**batch).logits, before, "the whole network")
            with supernet.select(Plan.uniform(shape.layers, heads, units)) as model:
                assert_close(model(**batch).logits, picked, chosen)
