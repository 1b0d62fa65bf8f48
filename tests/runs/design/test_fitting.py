"""The latency model of a run learns from the networks that it would pick itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.devices.setup import Setup
from secateur.estimators.base import Evaluation
from secateur.estimators.cost import DecoderCost
from secateur.estimators.decoder_latency import DecoderParts, sizes_of
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.latency_model import LatencyModel
from secateur.estimators.latency_sample import TURNS, Fitting
from secateur.objectives import Objective
from secateur.runs.design.fitting import PICKS, ROUNDS, fit_model, picked
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_sizes import Sizes

SPACE = Decoder("gpt2", layers="2..8", width="64..256:64", inner="128..1024:64", heads=(2, 4), embedding=(32,), factor=(2,))
PARTS = DecoderParts(SPACE)
COUNTS = DecoderCost(Sizes(vocabulary=500))
WANTED = [Objective("decoder_parameters", "max"), Objective("latency")]


def true_cost(a: Architecture) -> float:
    """The widest networks take 30 % longer than a sum over layers says."""
    layers, width, heads, inner = sizes_of(a)
    summed = 1e-4 * layers + 1e-9 * layers * width**2 + 1e-6 * heads + 2e-9 * width * inner
    return summed * (1.3 if width == 256 else 1.0) + 1e-3


def no_network(_: Architecture) -> Any:
    return None


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []

    def evaluate(self: Any, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        seen.extend(a.key for a in architectures)
        return [Evaluation({"latency": true_cost(a)}) for a in architectures]

    monkeypatch.setattr(LatencyEstimator, "evaluate", evaluate)
    return seen


def fit() -> LatencyModel:
    told: list[tuple[int, int]] = []
    fitting = Fitting(networks=24, held_out=6, seconds=50.0)
    setup = Setup(length=16)
    model = fit_model(no_network, SPACE, setup, fitting, COUNTS, WANTED, lambda done, most: told.append((done, most)))
    assert told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    return model


def errors(model: LatencyModel) -> np.ndarray:
    """How far the model is off on what it now picks."""
    picks = picked(model, SPACE, COUNTS, WANTED, seed=99)
    return model.errors([(a, true_cost(a)) for a in picks])


def test_its_own_picks_join_the_fit(measured: list[str]) -> None:
    model = fit()
    first = LatencyModel.fit(no_network, PARTS, Setup(length=16), Fitting(networks=24, held_out=6))
    assert errors(model).mean() < 0.7 * errors(first).mean()
    assert model.report.front is not None
    assert model.report.networks > first.report.networks
    assert "on its own picks" in str(model.report)
    assert "on its own picks" not in str(first.report)


def test_picks_keep_the_bounds(measured: list[str]) -> None:
    model = fit()
    wanted = [*WANTED[:1], Objective.parse("latency<=3ms"), Objective.parse("parameters<=1M")]
    picks = picked(model, SPACE, COUNTS, wanted, seed=0)
    assert picks
    assert all(model.predict([a])[0] <= 3e-3 and COUNTS.count(a)["parameters"] <= 1e6 for a in picks)
    assert picked(model, SPACE, COUNTS, [*WANTED, Objective.parse("parameters<=10")], seed=0) == []


def test_three_turns_for_each(measured: list[str]) -> None:
    fit()
    most = TURNS * (24 + 6 + ROUNDS * PICKS)
    assert most - TURNS * ROUNDS * PICKS < len(measured) <= most


def test_it_survives_json(measured: list[str]) -> None:
    model = fit()
    told = model.to_dict()
    assert LatencyModel.from_dict(told, PARTS) == model
    # As earlier versions wrote it.
    old = {**told, "backbone": "gpt2", "pairs": told["kinds"], "widths": told["corrections"]}
    old = {name: value for name, value in old.items() if name not in ("kinds", "corrections")}
    assert LatencyModel.from_dict(old, PARTS) == model
    del old["widths"]
    assert LatencyModel.from_dict(old, PARTS).corrections == {}
