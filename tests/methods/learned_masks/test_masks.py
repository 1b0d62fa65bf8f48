"""Masks that are learnt: thresholding, the three levels, a network under masks, what they cost, and how budgets are kept."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from secateur.methods.learned_masks.scores import BEGIN, Scores, Switches
from secateur.methods.learned_masks.spending import STEEP, Descent, affordable, cost, penalty, threshold_for
from secateur.methods.learned_masks.switching import switched
from secateur.methods.learned_masks.training import Budget, kept
from secateur.methods.prices import Prices, within_sizes
from secateur.objectives import Bound
from secateur.spaces.pruning import Large, Plan, Shape
from secateur.supernet import Supernet
from secateur.supernet.step import step
from secateur.testing.anatomies import contract_plans
from secateur.testing.models import FAMILIES, toy_batch, toy_model

SHAPE = Shape(layers=2, heads=3, units=4)


def of_plan(plan: Plan, shape: Shape) -> Switches:
    heads, units = torch.zeros(shape.layers, shape.heads), torch.zeros(shape.layers, shape.units)
    for p in plan.layers:
        heads[p.index, torch.from_numpy(p.heads.indices())] = 1
        units[p.index, torch.from_numpy(p.units.indices())] = 1
    return Switches(heads, units)


def scores_of(seed: int = 0, shape: Shape = SHAPE) -> Scores:
    rng = np.random.default_rng(seed)
    return Scores(shape, rng.random((shape.layers, shape.heads)), rng.random((shape.layers, shape.units)))


def test_the_step_and_its_gradient() -> None:
    values = torch.tensor([-1.0, 0.0, 0.5, 2.0], requires_grad=True)
    found = step(values)
    assert found.tolist() == [0.0, 0.0, 1.0, 1.0]
    (found * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_scores_begin_as_ranks() -> None:
    heads, units = np.array([[5.0, 1.0, 9.0], [2.0, 0.5, 7.0]]), np.arange(8.0).reshape(2, 4)
    found = Scores(SHAPE, heads, units)
    assert torch.allclose(found.heads, torch.tensor([[4, 2, 6], [3, 1, 5]]) / 6 * BEGIN)
    assert found.above().masks()[0].all()
    assert found.above().masks()[1].all()


def test_what_is_kept_is_kept_on_every_level() -> None:
    shape = Shape(layers=2, heads=2, units=128)
    found = Scores(shape, np.ones((2, 2)), np.vstack([np.arange(128.0), np.arange(128.0)[::-1]]))
    assert found.groups.shape == (2, 2)
    assert found.members[0].tolist() == [0] * 64 + [1] * 64
    assert found.members[1].tolist() == [1] * 64 + [0] * 64
    with torch.no_grad():
        found.layers[:] = torch.tensor([1.0, 1.0])
        found.groups[0, 0] = -1.0
        found.heads[1, 0] = -1.0
        found.units[0, 100] = -1.0
    heads, units = found.above().masks()
    assert heads.tolist() == [[True, True], [False, True]]
    assert units[0].tolist() == [False] * 64 + [place != 100 for place in range(64, 128)]
    assert units[1].all()
    with torch.no_grad():
        found.layers[1] = 0.0
    heads, units = found.above().masks()
    assert not heads[1].any()
    assert not units[1].any()


def test_gradients_reach_every_level() -> None:
    found = scores_of()
    switches = found.above()
    (switches.heads.sum() + 2 * switches.units.sum()).backward()
    assert found.heads.grad is not None
    assert torch.equal(found.heads.grad, torch.ones(2, 3))
    assert torch.equal(found.units.grad, 2 * torch.ones(2, 4))
    assert found.layers.grad is not None
    assert found.layers.grad.tolist() == [3 + 8, 3 + 8]
    assert torch.equal(found.groups.grad, torch.full((2, 1), 8.0))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_network_under_masks_is_the_extracted_one(family: str) -> None:
    supernet = Supernet(toy_model(family).eval())
    batch = toy_batch(supernet.model)
    with switched(supernet) as by:
        whole = supernet.model(**batch).logits
        found = []
        plans = contract_plans(supernet.shape)
        for plan in plans:
            by.now = of_plan(plan, supernet.shape)
            found.append(supernet.model(**batch).logits)
    assert torch.equal(whole, supernet.model(**batch).logits)
    for plan, logits in zip(plans, found, strict=True):
        small = supernet.extract(plan).eval()
        assert torch.allclose(
            small(**batch, **({} if plan.attention_layers else {"use_cache": False})).logits, logits, atol=1e-5
        ), plan


@pytest.mark.parametrize("family", FAMILIES)
def test_in_mixed_precision(family: str) -> None:
    supernet = Supernet(toy_model(family).eval())
    batch = toy_batch(supernet.model)
    shape = supernet.shape
    masks = Switches(*(torch.ones(shape.layers, n, requires_grad=True) for n in (shape.heads, shape.units)))
    with switched(supernet) as by, torch.autocast("cpu", torch.bfloat16):
        by.now = masks
        supernet.model(**batch).loss.backward()
    assert masks.heads.grad is not None
    assert torch.isfinite(masks.heads.grad).all()


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_gradients_of_sublayers_point_to_what_their_removal_costs(family: str) -> None:
    """Of sub-layers that do little, so that it is nearly linear. Embeddings are large: what a norm does to them matters to
    nothing but the sub-layer that is removed."""
    supernet = Supernet(toy_model(family).double().eval())
    batch, shape = toy_batch(supernet.model), supernet.shape
    with torch.no_grad():
        supernet.model.get_input_embeddings().weight.mul_(20.0)
        for layer in supernet.layers:
            projection = layer.get_submodule(supernet.anatomy.output("heads").module)
            for part in projection.parameters():
                part.mul_(0.01 if part is projection.weight else 0.0)
    heads = torch.ones(shape.layers, shape.heads, dtype=torch.float64, requires_grad=True)
    units = torch.ones(shape.layers, shape.units, dtype=torch.float64)
    with switched(supernet) as by:
        by.now = Switches(heads, units)
        whole = supernet.model(**batch).loss
        whole.backward()
        for layer in range(shape.layers):
            fewer = torch.ones(shape.layers, shape.heads, dtype=torch.float64)
            fewer[layer] = 0.0
            by.now = Switches(fewer, units)
            change = float((whole - supernet.model(**batch).loss).detach())
            assert heads.grad is not None
            # a sub-layer is in it twice: its heads, and whether there are any
            assert float(heads.grad[layer].sum()) == pytest.approx(2 * change, rel=0.2, abs=1e-7)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_gradients_of_masks_are_differences(family: str) -> None:
    """At values between 0 and 1, where nothing jumps."""
    supernet = Supernet(toy_model(family).double().eval())
    batch = toy_batch(supernet.model)
    rng = np.random.default_rng(0)
    shape = supernet.shape
    parts = [torch.tensor(rng.uniform(0.3, 0.9, (shape.layers, n))) for n in (shape.heads, shape.units)]
    with switched(supernet) as by:

        def loss(heads: torch.Tensor, units: torch.Tensor) -> torch.Tensor:
            by.now = Switches(heads, units)
            found: torch.Tensor = supernet.model(**batch).loss
            return found

        leaves = [part.clone().requires_grad_() for part in parts]
        loss(*leaves).backward()
        with torch.no_grad():
            for kind, leaf in enumerate(leaves):
                for place in [(0, 1), (1, 0), (shape.layers - 1, 2)]:
                    ends = []
                    for side in (1, -1):
                        moved = [part.clone() for part in parts]
                        moved[kind][place] += side * 1e-6
                        ends.append(float(loss(*moved)))
                    assert leaf.grad is not None
                    assert float(leaf.grad[place]) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4, abs=1e-8)


def test_masks_cost_what_networks_have() -> None:
    supernet = Supernet(toy_model("bert"))
    shape = supernet.shape
    ((prices, budget),) = within_sizes(supernet, [Bound.parse("50%")])
    (counts, *_) = supernet.counts
    for plan in contract_plans(shape):
        spent = float(cost(prices, of_plan(plan, shape))) + len(plan.layers) * counts.always
        assert spent == supernet.body_parameters(plan)
    assert prices.whole(shape) + shape.layers * counts.always == supernet.body_parameters(supernet.whole)
    assert budget == 0.5 * supernet.body_parameters(supernet.whole) - shape.layers * counts.always


@pytest.mark.parametrize("seed", range(5))
def test_the_threshold_is_the_lowest_that_fits(seed: int) -> None:
    """By trying one above each score."""
    shape = Shape(layers=3, heads=4, units=6)
    found, prices = scores_of(seed, shape), Prices(3.0, 1.0, 2.0, 2.0)
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for part in found.parameters():
            part.copy_(torch.from_numpy(rng.normal(0.5, 0.5, tuple(part.shape)).astype(np.float32)))
    every = torch.cat([part.detach().flatten() for part in found.parameters()])
    for budget in (0.0, 5.0, 11.0, 20.0, 1000.0):
        candidates = [0.0, *sorted(float(value) for value in every if value > 0)]
        with torch.no_grad():
            spent = [float(cost(prices, found.above(at))) for at in candidates]
        wanted = next(s for s in spent if s <= budget)
        at = threshold_for(found, prices, budget)
        assert float(cost(prices, found.above(at)).detach()) == wanted
        assert all(not mask.any() for mask in found.above(threshold_for(found, prices, -1.0)).masks())


def test_the_tighter_of_two_budgets_counts() -> None:
    scores, descent = scores_of(2), Descent([0.5], 10)
    loose = Budget(Prices(1.0, 1.0), Prices(1.0, 1.0).whole(SHAPE), descent)
    heads_alone = Budget(Prices(1.0, 0.0), Prices(1.0, 0.0).whole(SHAPE) / 3, descent)  # one of six heads
    both, one = kept(scores, [loose, heads_alone], 0), kept(scores, [loose], 0)
    assert int(both.heads.sum()) == 1 < int(one.heads.sum())
    assert float(cost(loose.prices, both)) <= 7


@pytest.mark.parametrize(("price", "whole"), [(1.0, 49.0), (1.0, 98.0), (7.0, 107.0), (3.0, 49.0)])
def test_what_a_share_pays_for_exactly_is_kept(price: float, whole: float) -> None:
    """One head, also where the share of the whole is rounded below its price."""
    budget = Budget(Prices(price, 2 * whole), whole, Descent([price / whole], 10))
    found = kept(scores_of(0), [budget], 0)
    assert (int(found.heads.sum()), int(found.units.sum())) == (1, 0)


def test_where_a_threshold_leaves_too_much_or_nothing() -> None:
    """Two layers of like score below those of their parts: the best of the better layer's are taken one by one."""
    scores, prices = scores_of(3), Prices(4.0, 1.0, 2.0, 1.0)
    with torch.no_grad():
        scores.layers[:] = torch.tensor([0.5, 0.6])
        scores.heads[:] = torch.tensor([[0.7, 0.8, 0.9], [0.7, 0.9, 0.8]])
        scores.units[:] = torch.tensor([[0.9, 0.9, 0.9, 0.9], [0.61, 0.62, 0.63, 0.64]])
    assert not scores.above(threshold_for(scores, prices, 5.0)).masks()[0].any()
    for budget, heads, units in (
        (5.0, [0, 0, 0], [1, 1, 1, 1]),  # no head fits in: 4 + 2
        (8.0, [0, 1, 0], [0, 0, 0, 1]),  # the head with 0.9 first, then a unit: 4 + 2 + 1 + 1
        (12.0, [0, 1, 1], [0, 0, 0, 1]),
    ):
        found = affordable(scores, [(prices, budget)])
        assert (found.heads[1].tolist(), found.units[1].tolist()) == (heads, units)
        assert float(cost(prices, found)) <= budget
        assert not found.heads[0].any()
        assert not found.units[0].any()
    assert not affordable(scores, [(prices, 1.0)]).units.any()
    budget = Budget(prices, 100.0, Descent([0.05], 10))
    assert kept(scores, [budget], 0).units[1].tolist() == [1, 1, 1, 1]


def test_the_way_down() -> None:
    descent = Descent([0.6, 0.2], 40)
    assert [descent.target(done) for done in (0, 5, 10, 19)] == pytest.approx([1.0, 0.8, 0.6, 0.6])
    assert [descent.target(done) for done in (20, 25, 30, 39, 40)] == pytest.approx([0.6, 0.4, 0.2, 0.2, 0.2])
    assert descent.ends() == {20: [0], 40: [1]}
    assert Descent([0.5, 0.3, 0.1], 10).ends() == {3: [0], 7: [1], 10: [2]}
    assert Descent([0.5, 0.3, 0.1], 1).ends() == {1: [0, 1, 2]}


def test_the_price_of_spending_too_much() -> None:
    found, prices = scores_of(), Prices(1.0, 1.0)
    whole = prices.whole(SHAPE)

    def paid(threshold: float = 0.0) -> torch.Tensor:
        return penalty(found, cost(prices, found.above(threshold)) / whole - 0.75)

    first = paid()
    assert float(first.detach()) == pytest.approx(STEEP * 0.25**2 / 2)
    assert float(found.multiplier) == pytest.approx(0.25)
    second = paid()
    assert float(second.detach()) == pytest.approx(0.25 * 0.25 + STEEP * 0.25**2 / 2)
    second.backward()
    assert found.heads.grad is not None
    assert found.heads.grad[0, 0] == pytest.approx((0.25 + STEEP * 0.25) / whole)
    for _ in range(3):
        paid(2 * BEGIN)
    assert float(found.multiplier) == 0.0


def test_switches_as_an_architecture() -> None:
    shape = Shape(2, 3, 4)
    heads, units = torch.ones(2, 3), torch.ones(2, 4)
    heads[0, 1] = units[1, :] = 0
    masks = Switches(heads, units).masks()
    plan = Large(shape).plan(Large(shape).from_values(np.hstack(masks).astype(np.int64).ravel()))
    assert [p.heads.indices().tolist() for p in plan.layers] == [[0, 2], [0, 1, 2]]
    assert [p.units.count for p in plan.layers] == [4, 0]
