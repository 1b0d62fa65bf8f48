from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.errors import ConfigurationError
from secateur.spaces.pruning import Kept, LayerPlan, Plan, Shape

SHAPE = Shape(layers=3, heads=2, units=4)
SETS = st.lists(st.integers(0, 20), unique=True, max_size=8)


@settings(deadline=None)
@given(SETS)
def test_chosen_sets_are_canonical(indices: list[int]) -> None:
    kept = Kept.chosen(indices)
    assert kept == Kept.chosen(sorted(indices))
    assert kept.count == len(indices)
    assert kept.indices().tolist() == sorted(indices)
    assert kept.is_prefix == (sorted(indices) == list(range(len(indices))))
    assert kept.within(21)
    assert kept.within(max(indices, default=-1) + 1)
    assert not kept.within(max(indices, default=0)) or not indices


def test_first() -> None:
    assert Kept.first(np.int64(3)) == Kept.chosen([2, 0, 1])
    assert Kept.first(3).indices().tolist() == [0, 1, 2]
    assert not Kept.first(-1).within(4)


def test_bad_sets() -> None:
    with pytest.raises(ConfigurationError, match="names an index twice"):
        Kept.chosen([1, 1])
    with pytest.raises(ConfigurationError, match="must not be negative, got -2"):
        Kept.chosen([-2, 4])


@pytest.mark.parametrize("indices", [[-1, 0], [-1], [-1, 0, 1, 2]])
def test_negative_indices_never_pass_as_a_prefix(indices: list[int]) -> None:
    with pytest.raises(ConfigurationError, match="must not be negative"):
        Kept.chosen(indices)


def test_plans_are_ordered_and_hold_no_empty_layer() -> None:
    full, none = Kept.first(2), Kept.first(0)
    plan = Plan.of([LayerPlan(0, full, none), LayerPlan(1, none, none), LayerPlan(2, none, full)])
    assert [p.index for p in plan.layers] == [0, 2]
    assert plan.attention_layers == 1
    for wrong in ([1, 0], [1, 1]):
        with pytest.raises(ConfigurationError, match="ascending order"):
            Plan.of([LayerPlan(i, full, full) for i in wrong])


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (LayerPlan(3, Kept.first(1), Kept.first(1)), "`layers` must lie in 0…2"),
        (LayerPlan(0, Kept.first(3), Kept.first(1)), "`heads` must lie in 0…2 for this model, got 3 in layer 0"),
        (LayerPlan(0, Kept.chosen([2]), Kept.first(1)), "`heads` must lie in"),
        (LayerPlan(1, Kept.first(1), Kept.chosen([1, 4])), "`units` must lie in 0…4"),
    ],
)
def test_plans_are_checked_against_a_shape(layer: LayerPlan, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Plan.of([layer]).check(SHAPE)


def test_keys_tell_plans_apart() -> None:
    def plan(heads: Kept, units: Kept, index: int = 0) -> Plan:
        return Plan.of([LayerPlan(index, heads, units)])

    plans = [
        plan(Kept.first(1), Kept.first(2)),
        plan(Kept.first(2), Kept.first(1)),
        plan(Kept.first(1), Kept.first(2), index=1),
        plan(Kept.chosen([1]), Kept.first(2)),
        plan(Kept.first(1), Kept.chosen([1, 3])),
        plan(Kept.chosen([1]), Kept.chosen([1, 3])),
        Plan(()),
        Plan.whole(SHAPE),
    ]
    assert len({p.key for p in plans}) == len(plans)
