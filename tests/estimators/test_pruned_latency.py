"""What the latency of sub-networks is made of, and a model of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch import nn

from secateur.architecture import Architecture
from secateur.devices.setup import Setup
from secateur.estimators.latency_fit import spread_sample
from secateur.estimators.latency_model import LatencyModel, PredictedLatency
from secateur.estimators.latency_sample import Fitting
from secateur.estimators.pruned_latency import PrunedParts
from secateur.rng import generator
from secateur.spaces.pruning import Large, Layer, Medium, Plan, Shape, Small, Sublayer, plan_of
from secateur.supernet import Supernet
from secateur.testing.models import toy_model

SHAPE = Shape(6, 12, 1536)
PARTS = PrunedParts(SHAPE)
SPACES = (Small, Medium, Layer, Sublayer, Large)


def true_cost(plan: Plan) -> float:
    """Seconds by coefficients of our own, layer by layer."""
    seconds = 3e-4
    for layer in plan.layers:
        seconds += (2e-4 + 1.9e-4 * layer.heads.count) if layer.heads.count else 0.0
        seconds += (1e-4 + 2.5e-6 * layer.units.count) if layer.units.count else 0.0
    return seconds


class Named(nn.Module):
    """Stands for the network of an architecture."""

    def __init__(self, a: Architecture) -> None:
        super().__init__()
        self.of = a


def test_parts_are_counted() -> None:
    plan = Medium(SHAPE).make({"heads": [3, 0, 0, 1, 0, 0], "units": [0, 7, 0, 5, 0, 0]})
    assert list(PARTS.of_layers(plan)) == [2, 2, 4, 12]
    assert PARTS.rows([plan], [()]).tolist() == [[2, 2, 4, 12, 1]]
    assert PARTS.names([()]) == ("attention", "feed_forward", "heads", "units", "outside")
    assert PARTS.rows([Layer(SHAPE).largest()], [()]).tolist() == [[6, 6, 72, 6 * 1536, 1]]


@pytest.mark.parametrize("space", SPACES)
def test_an_architecture_of_any_space_has_the_plan_that_its_space_gives(space: Any) -> None:
    own = space(SHAPE)
    for architecture in own.sample_many(5, generator(1)):
        assert plan_of(architecture, SHAPE) == own.plan(architecture)


def test_costs_that_add_up_are_found_exactly_in_every_space(measuring: Any) -> None:
    measuring(lambda network: true_cost(plan_of(network.of, SHAPE)))
    model = LatencyModel.fit(Named, PARTS, Setup(), Fitting(networks=24, held_out=8))
    assert model.report.max < 1e-6
    assert LatencyModel.from_dict(model.to_dict(), PARTS) == model
    for space in SPACES:
        some = space(SHAPE).sample_many(20, generator(2))
        found = [e.values["latency"] for e in PredictedLatency(model).evaluate(some)]
        assert found == pytest.approx([true_cost(plan_of(a, SHAPE)) for a in some], rel=1e-6)


def test_the_sample_tells_attention_from_feed_forward_and_has_both_ends() -> None:
    for seed in range(5):
        chosen = spread_sample(PARTS, 32, seed)
        rows = PARTS.rows(chosen, [()])
        assert np.linalg.matrix_rank(rows[:7]) == 5, "also of the first ones, should the time be over"
        keys = [a.key for a in chosen[:2]]
        assert keys == [Plan.of([]).key, Plan.whole(SHAPE).key]
        assert {PARTS.stratum(a) for a in chosen} == set("0123456")


def test_real_sub_networks_of_this_machine() -> None:
    supernet = Supernet(toy_model("bert"))
    parts = PrunedParts(supernet.shape)
    fitting = Fitting(networks=8, held_out=2, seconds=0.2)
    model = LatencyModel.fit(lambda a: supernet.extract(plan_of(a, supernet.shape)), parts, Setup(length=8), fitting)
    assert min(model.coefficients.values()) >= 0
    small = Small(supernet.shape)
    least, most = model.predict([small.smallest(), small.largest()])
    assert 0 < least < most
