"""The map to normal quantiles, by scipy's formula and by simulation, and what it is good for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, rankdata, spearmanr

from secateur.predictors import Dngo, Fitted
from secateur.predictors.quantiles import OnQuantiles, Quantiles
from secateur.rng import generator

#: As accuracies lie: most close together, a few far below.
TARGETS = np.concatenate([np.linspace(0.0, 1.0, 30) ** 2, [-40.0, -10.0, -10.0, -3.0]])


class Said(Fitted):
    """Means and deviations (k, m) whatever the inputs."""

    def __init__(self, means: np.ndarray, deviations: np.ndarray) -> None:
        self.both = means, deviations

    def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.both


def test_quantiles_are_those_of_ranks_and_lead_back() -> None:
    found = Quantiles(TARGETS)
    assert found.quantiles == pytest.approx(norm.ppf((rankdata(TARGETS) - 0.5) / len(TARGETS)))
    assert found.back(found.quantiles) == pytest.approx(TARGETS)


def test_it_is_straight_between_targets_and_goes_on_beyond_them() -> None:
    found = Quantiles(np.array([0.0, 1.0, 3.0]))
    end = norm.ppf(5 / 6)
    assert found.quantiles == pytest.approx([-end, 0.0, end])
    assert found.back(np.array([-end / 2, end / 2])) == pytest.approx([0.5, 2.0])
    # A unit inside of the ends (±0.967) lies just beyond the middle, on the other side's slope.
    low, high = (1 - end) * 2 / end + 1, 1 - (1 - end) / end
    beyond = np.array([-end - 2, end, end + 0.5, end + 3])
    assert found.back(beyond) == pytest.approx([-2 * low, 3.0, 3 + 0.5 * (3 - high), 3 + 3 * (3 - high)])


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (-2.0, 0.5), (1.5, 0.3), (3.0, 2.0), (0.2, 0.01)])
def test_moments_are_those_of_mapped_draws(mean: float, deviation: float) -> None:
    found = Quantiles(TARGETS)
    draws = found.back(generator(0).normal(mean, deviation, 400_000))
    (told,), (spread,) = found.moments(np.array([mean]), np.array([deviation]))
    assert told == pytest.approx(draws.mean(), abs=0.02 * draws.std())
    assert spread == pytest.approx(draws.std(), rel=0.03)


def test_each_column_has_its_own_map() -> None:
    targets = np.column_stack([TARGETS, np.exp(TARGETS[::-1])])
    asked: list[np.ndarray] = []
    means, deviations = generator(0).standard_normal((5, 2)), generator(1).random((5, 2))

    def fit(quantiles: np.ndarray) -> Fitted:
        asked.append(quantiles)
        return Said(means, deviations)

    found = OnQuantiles(fit, targets)
    assert np.array_equal(found.targets, targets)
    assert isinstance(found.normal, Said)
    told = found.predict(np.zeros((5, 1)))
    for column in range(2):
        alone = Quantiles(targets[:, column])
        assert np.array_equal(asked[0][:, column], alone.quantiles)
        for both, expected in zip(told, alone.moments(means[:, column], deviations[:, column]), strict=True):
            assert np.array_equal(both[:, column], expected)


@pytest.mark.parametrize("targets", [[2.0], [2.0, 2.0, 2.0], [2.0, 5.0]])
def test_few_or_equal_targets(targets: list[float]) -> None:
    found = Quantiles(np.array(targets))
    assert found.back(found.quantiles) == pytest.approx(targets)
    means, deviations = found.moments(np.zeros(1), np.ones(1))
    assert means == pytest.approx([np.mean(targets)])
    # Equal ones leave quantiles as they are; two have a straight line through them, at ± 0.674.
    assert deviations == pytest.approx([1.5 / norm.ppf(0.75) if len(targets) == 2 else 1.0])


def test_dngo_ranks_better_where_a_few_targets_lie_far_below() -> None:
    """One operation on the first edge and another on the last make a cell fail; all else moves the rest a little."""

    def drawn(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        inputs = np.eye(4)[generator(seed).integers(4, size=(n, 6))].reshape(n, 24)
        values = inputs @ generator(7).standard_normal((24, 1)) / 10
        return inputs, values - 30 * inputs[:, :1] * inputs[:, -1:] - 3 * inputs[:, 5:6] * inputs[:, 9:10]

    inputs, targets = drawn(0, 150)
    targets = (targets - targets.mean()) / targets.std()
    new, truth = drawn(1, 500)
    models = Dngo().fit(inputs, targets, waiting=inputs[:0], seed=0), Dngo()._fitted(inputs, targets, generator(0, "dngo"))
    on_quantiles, on_targets = (spearmanr(model.predict(new)[0], truth).statistic for model in models)
    assert on_quantiles > on_targets + 0.1
