from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from torch import nn

from secateur.architecture import Architecture
from secateur.decoders import Builder, Sizes
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError, MeasurementError
from secateur.estimators.decoder_latency import DecoderLatency, DecoderParts, sizes_of
from secateur.estimators.latency_fit import corrections, held_back, solve, spread_sample
from secateur.estimators.latency_model import LatencyModel
from secateur.estimators.latency_sample import Fitting
from secateur.rng import generator
from secateur.spaces.decoder import Decoder, architecture

SMALL: dict[str, Any] = {"layers": "1..4", "width": "16..48:16", "inner": "32..128:16", "heads": (1, 2)}
SPACE = Decoder(**SMALL, embedding=(0, 8), factor=(1,))
PARTS = DecoderParts(SPACE)
SETUP = Setup(length=16, kind="language_modelling")


def true_cost(a: Architecture) -> float:
    """Seconds that add up over layers, by coefficients of our own."""
    layers, width, heads, inner = sizes_of(a)
    outside = 1e-3 + 2e-5 * width if PARTS.kind(a)[0] else 2e-3 + 5e-5 * width
    return layers * 1e-4 + layers * width**2 * 3e-7 + heads * 2e-5 + width * inner * 2e-7 + outside


class Named(nn.Module):
    """Stands for the network of an architecture."""

    def __init__(self, a: Architecture) -> None:
        super().__init__()
        self.of = a


@pytest.fixture
def pretended(measuring: Any) -> list[Named]:
    """Measuring a `Named` takes no time and gives `true_cost`; returns what was measured."""
    seen: list[Named] = measuring(lambda network: true_cost(network.of), loaded=lambda n: n == 1)
    return seen


def fit(build: Any = Named, setup: Setup = SETUP, progress: Any = lambda *_: None, **settings: Any) -> LatencyModel:
    return LatencyModel.fit(build, PARTS, setup, Fitting(**{"networks": 40, "held_out": 8, **settings}), progress)


def test_costs_that_add_up_are_found_exactly(pretended: list[Named]) -> None:
    told: list[tuple[int, int]] = []
    model = fit(progress=lambda done, total: told.append((done, total)))
    others = SPACE.sample_many(50, generator(5))
    assert model.predict(others) == pytest.approx([true_cost(a) for a in others], rel=1e-6)
    assert model.report.max < 1e-6
    assert (model.report.networks, model.report.held_out, model.report.loaded) == (40, 8, 1)
    assert told == [(n, 3 * 48) for n in range(1, 3 * 48 + 1)], "three turns for each"
    assert "the machine was busy during 1" in str(model.report)
    assert model.coefficients["width_squared"] == pytest.approx(3e-7, rel=1e-6)


def test_the_report_is_of_networks_that_were_not_fitted(measuring: Any) -> None:
    """Pure noise: fitted networks come out better than those held out, so an error of 0 would be a leak."""
    noise = generator(1)
    measuring(lambda _: float(noise.uniform(1, 2)))
    report = fit(networks=12, held_out=4).report
    assert report.mean > 0.05
    assert report.max >= report.mean


def test_one_disturbed_measurement_does_not_bend_the_model(measuring: Any) -> None:
    seen: list[Named] = measuring(lambda network: true_cost(network.of) * (3 if len(seen) == 7 else 1))
    model = fit()
    others = SPACE.sample_many(30, generator(6))
    assert np.mean(np.abs(model.predict(others) / [true_cost(a) for a in others] - 1)) < 0.02


def test_real_networks_of_this_machine() -> None:
    build = Builder(Sizes(vocabulary=50, positions=32))
    model = LatencyModel.fit(build, PARTS, SETUP, Fitting(networks=8, held_out=2, seconds=0.2, seed=1))
    assert min(model.coefficients.values()) >= 0
    assert model.report.mean > 0
    shallow, deep = (architecture("gpt2", 32, [2] * n, [64] * n) for n in (1, 4))
    assert model.predict([shallow])[0] > 0
    assert model.predict([deep])[0] >= model.predict([shallow])[0]
    model.check(SETUP)


#: Seconds allowed → measurements made, a coefficient, and the mean of its errors, as they were found once.
FITS = [
    (500.0, 132, 1.7288622848704893e-07, 0.05030147518872194),
    (30.0, 31, 9.289474676158316e-08, 0.1291079655180678),
    (5.0, 12, 7.36281576330627e-08, 0.08643201276578127),
]


@pytest.mark.parametrize(("seconds", "measured", "coefficient", "mean"), FITS)
def test_time_is_limited_and_the_same_measurements_give_the_same_model(
    seconds: float, measured: int, coefficient: float, mean: float, measuring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every measurement takes a second, some networks do not fit; never fewer are measured than the fit needs."""
    noise, clock = generator(3), {"now": 0.0}
    monkeypatch.setattr(time, "perf_counter", lambda: clock["now"])

    def slow(network: Named) -> float:
        clock["now"] += 1.0
        layers, width, heads, inner = sizes_of(network.of)
        cost = layers * 1e-4 + layers * width**2 * 3e-7 + heads * 2e-5 + width * inner * 2e-7 + 1e-3 + 2e-5 * width
        return cost * float(noise.uniform(1, 1.3))

    def build(a: Architecture) -> nn.Module:
        if a["width"] == 48 and len(a["heads"]) == 4:  # type: ignore[arg-type]
            raise RuntimeError("no space")
        return Named(a)

    seen = measuring(slow, loaded=lambda n: n % 7 == 0)
    model = fit(build, replace(SETUP, threads=2), seconds=seconds, seed=4)
    assert len(seen) == measured
    assert model.coefficients["width_inner"] == pytest.approx(coefficient, rel=1e-6)
    assert model.report.mean == pytest.approx(mean, rel=1e-6)


def test_a_network_that_cannot_be_measured_is_left_out_and_too_few_are_refused(pretended: list[Named], measuring: Any) -> None:
    def build(a: Architecture) -> nn.Module:
        if len(a["heads"]) == 4:  # type: ignore[arg-type]
            raise RuntimeError("no space")
        return Named(a)

    model = fit(build)
    assert model.report.networks + model.report.held_out == len(pretended) / 3 < 48

    measuring(lambda _: (_ for _ in ()).throw(MemoryError("no space")))
    with pytest.raises(MeasurementError, match=r"only 0 of 48 networks .* MemoryError: no space"):
        fit()


def test_an_embedding_that_could_not_be_measured_is_refused(pretended: list[Named]) -> None:
    def build(a: Architecture) -> nn.Module:
        if a["embedding"]:
            raise RuntimeError("no space")
        return Named(a)

    model = fit(build)
    assert model.kinds == ((0, 1),)
    known, unseen = architecture("gpt2", 32, [2], [64]), architecture("gpt2", 32, [2], [64], 8, 1)
    found = DecoderLatency(model).evaluate([known, unseen])
    assert found[0].values["latency"] == pytest.approx(true_cost(known))
    assert "not seen `embedding` 8 with `factor` 1" in str(found[1].failure)


def test_two_networks_of_each_embedding_are_measured_whatever_the_time(
    pretended: list[Named], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "perf_counter", iter(range(0, 10**6, 10)).__next__)
    tried: list[Architecture] = []

    def build(a: Architecture) -> nn.Module:
        tried.append(a)
        # All those of embedding 8 that come before the number of networks which the fit needs do not fit.
        if a["embedding"] and len(tried) < 30:
            raise RuntimeError("no space")
        return Named(a)

    model = fit(build, networks=60, seconds=1.0)
    assert sum(PARTS.kind(network.of)[0] == 8 for network in pretended) == 2
    assert len(pretended) == len({network.of.key for network in pretended}), "no further turns"
    assert model.kinds == ((0, 1), (8, 1))


def test_what_is_held_back_leaves_every_embedding_in_the_fit() -> None:
    narrow, wide = ([architecture("gpt2", 16, [1], [inner], e, 1) for inner in range(16, 160, 16)] for e in (8, 0))

    def held(*architectures: Architecture) -> list[int]:
        return held_back([PARTS.kind(a) for a in architectures], 3)

    assert held(*wide, narrow[0], narrow[1]) == [2, 4, 6]
    assert held(wide[0], narrow[0], wide[1], narrow[1]) == [2, 3], "one of each is left"
    assert held(wide[0], narrow[0]) == []


def test_it_survives_json_and_refuses_what_it_was_not_fitted_for(pretended: list[Named]) -> None:
    model = fit()
    again = LatencyModel.from_dict(json.loads(json.dumps(model.to_dict())), PARTS)
    assert again == model
    assert again.fingerprint == model.fingerprint != fit(setup=replace(SETUP, length=32)).fingerprint
    again.check(SETUP)
    for change in ({"threads": 2}, {"batch": 2}, {"length": 17}, {"runtime": "torch-int8"}):
        with pytest.raises(MeasurementError, match=f"fitted with `{next(iter(change))}`"):
            again.check(replace(SETUP, **change))
    with pytest.raises(MeasurementError, match="damaged"):
        LatencyModel.from_dict({**model.to_dict(), "coefficients": {}}, PARTS)
    with pytest.raises(MeasurementError, match="damaged"):
        LatencyModel.from_dict({"kinds": 3}, PARTS)


def test_the_estimator_says_what_the_model_predicts(pretended: list[Named]) -> None:
    model = fit()
    estimator = DecoderLatency(model)
    some = SPACE.sample_many(200, generator(2))
    assert [e.values["latency"] for e in estimator.evaluate(some)] == model.predict(some).tolist()
    assert estimator.fingerprint != DecoderLatency(model, identity="other").fingerprint


def test_what_it_has_not_seen_fails_with_its_reason(pretended: list[Named]) -> None:
    model = fit()
    known = architecture("gpt2", 32, [2], [64])
    other = architecture("transformer_xl", 32, [2], [64])
    narrow = architecture("gpt2", 32, [2], [64], 4, 2)
    found = DecoderLatency(model).evaluate([other, known, narrow])
    assert "`backbone` gpt2, not transformer_xl" in str(found[0].failure)
    assert found[1].values["latency"] == pytest.approx(true_cost(known))
    assert "not seen `embedding` 4 with `factor` 2" in str(found[2].failure)
    with pytest.raises(ConfigurationError, match="not transformer_xl"):
        model.predict([other])


def test_faults_of_the_settings_are_reported_together() -> None:
    with pytest.raises(ConfigurationError) as caught:
        fit(setup=replace(SETUP, threads=0), networks=1, held_out=0, seconds=0)
    assert len(caught.value.faults) == 4


def test_features_are_sums_over_the_layers() -> None:
    row = PARTS.rows([architecture("gpt2", 32, (1, 2), (64, 80), 8, 1)], [(0, 1), (8, 1)])[0]
    assert row.tolist() == [2, 64, 2048, 3, 144, 32 * 144, 0, 0, 1, 32]
    assert len(PARTS.names([(0, 1), (8, 1)])) == len(row) == len(PARTS.layers) + 4


def test_coefficients_are_never_negative() -> None:
    matrix = generator(0).uniform(size=(30, 4))
    found = solve(matrix, np.maximum(matrix @ [1.0, -2.0, 0.5, 3.0], 0.1))
    assert (found >= 0).all()
    assert found[1] == 0


def test_the_sample_covers_every_embedding_and_both_ends() -> None:
    chosen = spread_sample(PARTS, 24, seed=3)
    assert len({a.key for a in chosen}) == 24
    counts = [sum(PARTS.kind(a)[0] == e for a in chosen) for e in (0, 8)]
    assert min(counts) >= 11
    assert chosen == spread_sample(PARTS, 24, seed=3)
    assert [sum(PARTS.kind(a)[0] == e for a in chosen[:4]) for e in (0, 8)] == [2, 2], "two of each come first"
    one = Decoder(layers="1", width="16", inner="32", heads=(1,), embedding=(0,), factor=(1,))
    assert len(spread_sample(DecoderParts(one), 24, seed=3)) == 1


def test_what_a_width_takes_more_is_found_and_drawn_to_nothing() -> None:
    layers, around = np.array([2.0, 4.0, 3.0, 5.0]), np.array([1.0, 1.0, 1.0, 1.0])
    widths = ["32", "32", "64", "64"]
    seconds = layers * np.array([1.1, 1.1, 1.0, 1.0]) + around
    found = corrections(widths, layers, layers + around, seconds)
    weight = layers[:2] / seconds[:2]
    by_hand = (weight * (1 - (layers[:2] + 1) / seconds[:2])).sum() / ((weight**2).sum() + 2)
    assert found == {"32": pytest.approx(by_hand), "64": pytest.approx(0.0)}
    assert 0 < found["32"] < 0.1
    many = corrections(widths[:2] * 500, np.tile(layers[:2], 500), np.tile(layers[:2] + 1, 500), np.tile(seconds[:2], 500))
    assert many["32"] == pytest.approx(0.1, rel=0.02)
