"""Ends of trainings from their beginnings: every extrapolator, on curves that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from secateur.catalogue import find, names
from secateur.errors import ConfigurationError
from secateur.predictors.curves.extrapolators import LastValue, features_of

EVERY = names("extrapolator")


def crossing(known: Any) -> np.ndarray:
    """Curves of which those that fall fast at first end higher: the last value misleads."""
    inputs, steps = known.inputs, known.budgets
    end, rate = 1 + 0.3 * inputs[:, :1], 0.3 + 0.4 * inputs[:, :1]
    return np.asarray(end + (2 + 0.1 * inputs[:, 1:2]) * np.exp(-rate * steps))


@pytest.mark.parametrize("name", EVERY)
def test_ends_are_ranked(name: str, trainings: Any) -> None:
    known = trainings(count=70, noise=0.002)
    curves = known.curves[:, 0]
    model = find("extrapolator", name)(known.budgets, 5, seed=1)
    model.learn(known.inputs[:50], curves[:50])
    means, deviations = model.predict(known.inputs[50:], curves[50:, :5])
    assert means.shape == deviations.shape == (20,)
    assert kendalltau(means, curves[50:, -1]).statistic > 0.7
    assert (deviations > 0).all()
    again = find("extrapolator", name)(known.budgets, 5, seed=1)
    again.learn(known.inputs[:50], curves[:50])
    assert np.array_equal(again.predict(known.inputs[50:], curves[50:, :5])[0], means)


@pytest.mark.parametrize("name", [name for name in EVERY if name != "wpm"])
def test_an_accuracy_is_a_loss_upside_down(name: str, trainings: Any) -> None:
    known = trainings(count=40, noise=0.002)
    curves = known.curves[:, 0]
    found = []
    for sign in (1.0, -1.0):
        model = find("extrapolator", name)(known.budgets, 4, maximised=sign < 0)
        model.learn(known.inputs, sign * curves)
        found.append(sign * model.predict(known.inputs, sign * curves[:, :4])[0])
    assert np.allclose(*found, rtol=0.05)


@pytest.mark.parametrize("name", ["svr", "gp"])
def test_what_learns_from_others_knows_that_the_last_value_misleads(name: str, trainings: Any) -> None:
    known = trainings(count=80)
    curves = crossing(known)
    assert kendalltau(curves[:, 3], curves[:, -1]).statistic < 0
    model = find("extrapolator", name)(known.budgets, 4)
    model.learn(known.inputs[:50], curves[:50])
    means, deviations = model.predict(known.inputs[50:], curves[50:, :4])
    assert kendalltau(means, curves[50:, -1]).statistic > 0.8
    assert (np.abs(means - curves[50:, -1]) < 3 * deviations).mean() > 0.8


@pytest.mark.parametrize("name", ["svr", "gp"])
def test_too_few_curves_teach_nothing(name: str, trainings: Any) -> None:
    known = trainings(count=9)
    model = find("extrapolator", name)(known.budgets, 4)
    model.learn(known.inputs, known.curves[:, 0])
    with pytest.raises(ConfigurationError, match="at least 10 whole curves"):
        model.predict(known.inputs, known.curves[:, 0, :4])


def test_the_last_value_counts_what_others_have_gained() -> None:
    model = LastValue(np.arange(1.0, 5.0), 2)
    assert model.predict(np.zeros((1, 0)), np.array([[3.0, 2.0]]))[0].tolist() == [2.0]
    assert np.isnan(model.predict(np.zeros((1, 0)), np.array([[3.0, 2.0]]))[1][0])
    model.learn(np.zeros((2, 0)), np.array([[9.0, 4.0, 3.0, 2.0], [9.0, 5.0, 5.0, 1.0]]))
    means, deviations = model.predict(np.zeros((1, 0)), np.array([[3.0, 2.0]]))
    assert means[0] == -1.0
    assert deviations[0] == pytest.approx(np.std([-2.0, -4.0], ddof=1))


def test_features_are_values_differences_and_a_summary() -> None:
    found = features_of(np.array([[7.0]]), np.array([[4.0, 2.0, 1.0, 0.5]]))
    assert found.tolist() == [[7, 4, 2, 1, 0.5, -2, -1, -0.5, 1, 0.5, 0.5, 4, 1.875, -0.5]]
    assert features_of(np.zeros((2, 0)), np.ones((2, 1))).shape == (2, 5)


@pytest.mark.parametrize("seen", [0, 4, 5])
def test_something_must_be_seen_and_something_left(seen: int) -> None:
    with pytest.raises(ConfigurationError, match="from 1…3"):
        LastValue(np.arange(1.0, 5.0), seen)
