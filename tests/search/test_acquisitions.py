from __future__ import annotations

import numpy as np
import pytest

from secateur.predictors import Fitted
from secateur.search import acquisitions
from secateur.search.acquisitions import log_chance, log_improvement

MEANS = np.array([-2.0, -0.3, 0.0, 0.4, 3.0])
DEVIATIONS = np.array([1.5, 0.7, 1.0, 0.2, 0.5])
BEST = 0.5


class Known(Fitted):
    """Predicts the columns of its inputs: a mean and a deviation."""

    targets = np.array([[-1.0], [BEST]])

    def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return inputs[:, :1], inputs[:, 1:]


def scored(acquisition: acquisitions.Scored) -> np.ndarray:
    return acquisition(np.stack([MEANS, DEVIATIONS], axis=1))


@pytest.fixture(scope="module")
def drawn() -> np.ndarray:
    return MEANS + DEVIATIONS * np.random.default_rng(0).standard_normal((400_000, len(MEANS)))


def test_expected_improvement_is_the_mean_of_draws(drawn: np.ndarray) -> None:
    by_draws = np.maximum(drawn - BEST, 0).mean(axis=0)
    found = np.exp(scored(acquisitions.expected_improvement(Known(), np.zeros(1), 0)))
    assert found == pytest.approx(by_draws, rel=0.03, abs=1e-4)


def test_probability_of_improvement_is_the_share_of_draws(drawn: np.ndarray) -> None:
    found = np.exp(scored(acquisitions.probability_of_improvement(Known(), np.zeros(1), 0)))
    assert found == pytest.approx((drawn > BEST).mean(axis=0), abs=3e-3)


def test_a_deviation_is_no_variance() -> None:
    """At the best mean so far, the expected improvement is deviation / √(2π)."""
    for deviation in (0.1, 3.0):
        found = np.exp(log_improvement(np.array([2.0]), np.array([deviation]), 2.0))
        assert found == pytest.approx([deviation / np.sqrt(2 * np.pi)])


def test_far_below_the_best_candidates_still_differ() -> None:
    """As the integral says, to digits where the plain formula is 0."""
    from scipy.integrate import quad

    for z in (-0.5, -0.999, -1.001, -5.0, -20.0, -37.0):
        # ∫ (x + z) φ(x) dx above −z, with φ(z) taken out.
        whole, _ = quad(lambda x, z=z: x * np.exp(-(x**2) / 2 + x * z), 0, np.inf)
        expected = np.log(whole / np.sqrt(2 * np.pi)) - z**2 / 2
        assert log_improvement(np.array([z]), np.array([1.0]), 0.0)[0] == pytest.approx(expected, rel=1e-6)
    far = log_improvement(-np.logspace(0, 12, 200), np.ones(200), 0.0)
    assert np.all(np.isfinite(far))
    assert np.all(np.diff(far) < 0)
    assert np.all(np.diff(log_chance(-np.logspace(0, 12, 200), np.ones(200), 0.0)) < 0)


def test_no_deviation_is_survived() -> None:
    assert np.exp(log_improvement(np.array([1.5]), np.array([acquisitions.LEAST]), 1.0)) == pytest.approx([0.5])
    sure = np.stack([MEANS, np.zeros(5)], axis=1)
    for kind in (acquisitions.expected_improvement, acquisitions.probability_of_improvement):
        scores = kind(Known(), np.zeros(1), 0)(sure)
        assert np.all(np.isfinite(scores))
        assert np.argmax(scores) == 4


def test_upper_confidence_bound() -> None:
    assert scored(acquisitions.upper_confidence_bound(Known(), np.zeros(1), 0)) == pytest.approx(MEANS + 2 * DEVIATIONS)
    wide = acquisitions.upper_confidence_bound(Known(), np.zeros(1), 0, weight=5.0)
    assert scored(wide) == pytest.approx(MEANS + 5 * DEVIATIONS)


def test_thompson_draws_each_candidate_by_itself() -> None:
    inputs = np.tile([[1.0, 0.5]], (20_000, 1))
    found = acquisitions.thompson(Known(), np.zeros(1), 3)(inputs)
    assert (found.mean(), found.std()) == pytest.approx((1.0, 0.5), abs=0.02)
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.03
    assert np.array_equal(found, acquisitions.thompson(Known(), np.zeros(1), 3)(inputs))
    assert not np.array_equal(found, acquisitions.thompson(Known(), np.zeros(1), 4)(inputs))


def test_improvement_is_that_of_what_the_model_has_normal() -> None:
    """On another scale that model has other targets; what it says of the first does not count."""

    class Elsewhere(Known):
        targets = np.array([[100.0]])

        @property
        def normal(self) -> Fitted:
            return Known()

    for kind in (acquisitions.expected_improvement, acquisitions.probability_of_improvement):
        assert np.array_equal(scored(kind(Elsewhere(), np.zeros(1), 0)), scored(kind(Known(), np.zeros(1), 0)))
