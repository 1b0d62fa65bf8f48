"""The weighted probabilistic model: its families, its walkers, and curves whose end is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from secateur.errors import ConfigurationError
from secateur.predictors.curves.families import FAMILIES
from secateur.predictors.curves.wpm import Mixture, Wpm, least_squares, posterior, sampled
from secateur.rng import generator

#: Domhan et al. (2015), table 1, written again; x and then the parameters in our order.
BY_HAND = {
    "vapor pressure": lambda x, a, b, c: math.exp(a + b / x + c * math.log(x)),
    "pow3": lambda x, c, a, alpha: c - a * x**-alpha,
    "log log linear": lambda x, a, b: math.log(a * math.log(x) + b),
    "hill3": lambda x, top, eta, kappa: top * x**eta / (kappa**eta + x**eta),
    "log power": lambda x, a, b, c: a / (1 + (x / math.exp(b)) ** c),
    "pow4": lambda x, c, a, b, alpha: c - (a * x + b) ** -alpha,
    "mmf": lambda x, end, start, kappa, delta: end - (end - start) / (1 + (kappa * x) ** delta),
    "exp4": lambda x, c, a, b, alpha: c - math.exp(-a * x**alpha + b),
    "janoschek": lambda x, end, start, kappa, delta: end - (end - start) * math.exp(-kappa * x**delta),
    "weibull": lambda x, end, start, kappa, delta: end - (end - start) * math.exp(-((kappa * x) ** delta)),
    "ilog2": lambda x, c, a: c - a / math.log(x + 1),
}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_families_are_the_formulas(family) -> None:
    usual = [value for _, value, _ in family.ranges]
    found = family(np.array([1.0, 2.5, 20.0]), np.array([usual, usual]))
    wanted = [BY_HAND[family.name](x, *usual) for x in (1.0, 2.5, 20.0)]
    assert np.allclose(found, [wanted, wanted])
    assert all(low <= middle <= high for low, middle, high in family.ranges)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_is_fitted_to_its_own_curve(family) -> None:
    x = np.arange(1.0, 11.0)
    target = np.array([0.7 * value + 0.3 * high if high < 10 else 1.5 * value for _, value, high in family.ranges])
    target = np.clip(target, [low for low, _, _ in family.ranges], [high for _, _, high in family.ranges])
    y = family(x, target[None])[0]
    assert np.abs(family(x, least_squares(family, x, y)[None])[0] - y).max() < 0.02


def test_walkers_find_a_normal_distribution() -> None:
    covariance = np.array([[2.0, 0.9], [0.9, 1.0]])
    inverse, mean = np.linalg.inv(covariance), np.array([3.0, -1.0])

    def log_density(walkers: np.ndarray) -> np.ndarray:
        apart = walkers - mean
        return -np.einsum("wi,ij,wj->w", apart, inverse, apart) / 2

    rng = generator(0, "walkers")
    draws = sampled(log_density, rng.standard_normal((40, 2)), 2000, 300, rng)
    assert np.allclose(draws.mean(axis=0), mean, atol=0.1)
    assert np.allclose(np.cov(draws.T), covariance, atol=0.25)


def test_draws_are_inside_and_do_not_fall() -> None:
    x, y = np.arange(1.0, 6.0), 0.8 - 0.6 * np.arange(1.0, 6.0) ** -0.7
    mixture = Mixture(x, y, 20.0)
    rng = generator(0, "draws")
    draws = sampled(mixture.log_posterior, mixture.started(rng), 60, 20, rng)
    assert (draws >= mixture.low).all()
    assert (draws <= mixture.high).all()
    assert (mixture.ends(draws) >= mixture._values(draws)[:, 0]).all()
    assert (mixture.ends(draws) <= 1).all()


@pytest.mark.parametrize(
    "values",
    [
        *((0.0, 0.25), (0.0, 0.025), (0.1, 0.9), (0.0, 0.25, 0.325), (0.0, -0.1), (0.0, -9.0), (0.9, 0.2), (0.5, 0.5)),
        *((1.0,), (0.3,), (1.0, 1.0, 1.0), (0.95, 1.0), (0.5, 0.9, 1.0, 1.0, 1.0), (0.5, 1.1)),
    ],
    ids=str,
)
def test_all_walkers_start_within_the_prior_and_no_two_alike(values: tuple[float, ...]) -> None:
    """The families' own fits to two points end above 1 where they are mixed, and values that fall fit none."""
    mixture = Mixture(np.arange(1.0, 1.0 + len(values)), np.array(values), 20.0)
    found = mixture.started(generator(0, "started"))
    assert np.isfinite(mixture.log_posterior(found)).all()
    assert len(np.unique(found, axis=0)) == len(found)


@pytest.mark.parametrize(
    "begun", [(1.0,), (1.0, 1.0, 1.0), (0.95, 1.0), (99.0, 99.9, 100.0), (0.98, 0.99, 1.0, 1.0), (0.5, 0.9, 1.0, 1.0, 1.0)]
)
def test_what_has_reached_the_top_stays_near_it(begun: tuple[float, ...]) -> None:
    wpm = Wpm(np.arange(1.0, 21.0), len(begun), maximised=True)
    (mean,), (deviation,) = wpm.predict(np.zeros((1, 0)), np.array([begun]))
    top = 100.0 if begun[0] > 1 else 1.0
    assert 0.97 * top < mean < 1.01 * top
    assert deviation < 0.1 * top


@pytest.mark.parametrize(
    ("values", "maximised"), [((200.0, 550.0), True), ((1.2, 1.35), True), ((-6.0, -4.0), True), ((0.4, -0.9), False)]
)
def test_values_that_are_no_accuracies_and_losses_below_0(values: tuple[float, ...], maximised: bool) -> None:
    with pytest.raises(ConfigurationError, match=r"`wpm` extrapolates .*, and not .* Take another extrapolator"):
        Wpm(np.arange(1.0, 9.0), 2, maximised=maximised).predict(np.zeros((1, 0)), np.array([values]))


def test_a_correlation_may_begin_below_0() -> None:
    means, _ = Wpm(np.arange(1.0, 9.0), 3, maximised=True).predict(np.zeros((1, 0)), np.array([[-0.38, -0.07, 0.05]]))
    assert 0 < means[0] < 1


def test_one_per_cent_is_not_all_where_others_tell() -> None:
    wpm, begun = Wpm(np.arange(1.0, 21.0), 3, maximised=True), np.array([[1.0, 1.2, 1.3]])
    wpm.learn(np.zeros((1, 0)), np.linspace(1.0, 70.0, 20)[None])
    (parts,), _ = Wpm(np.arange(1.0, 21.0), 3, maximised=True).predict(np.zeros((1, 0)), begun / 100)
    assert wpm.predict(np.zeros((1, 0)), begun)[0][0] == pytest.approx(100 * parts)


@pytest.mark.parametrize("begun", [(0.1, 0.0), (0.3, 0.1, 0.0, 0.0)])
def test_an_error_that_is_gone_does_not_come_back(begun: tuple[float, ...]) -> None:
    (mean,), _ = Wpm(np.arange(1.0, 21.0), len(begun)).predict(np.zeros((1, 0)), np.array([begun]))
    assert 0 <= mean < 0.01


@pytest.mark.parametrize("y", [(0.0, math.nan), (0.0, 1e200)])
def test_values_that_no_curve_is_near(y: tuple[float, ...]) -> None:
    with pytest.raises(ConfigurationError, match="`wpm` finds no curve near the values 0, "):
        Mixture(np.arange(1.0, 3.0), np.array(y), 20.0).started(generator(0, "started"))


@pytest.mark.parametrize(
    ("begun", "least"),
    [((4.0, 3.0), 0.1), ((4.0, 3.9), 0.1), ((1.0, 0.4), 0.02), ((4.0, 3.0, 2.7), 0.1), ((4.0, 3.9, 3.85), 0.02)],
)
def test_a_loss_that_hardly_began_ends_between_0_and_its_first_value(begun: tuple[float, ...], least: float) -> None:
    (mean,), (deviation,) = Wpm(np.arange(1.0, 21.0), len(begun)).predict(np.zeros((1, 0)), np.array([begun]))
    assert 0 <= mean <= begun[-1]
    assert deviation > least


def test_the_end_of_a_curve_of_one_of_the_families() -> None:
    x = np.arange(1.0, 21.0)
    y = 0.9 - 0.7 * x**-0.8 + 0.002 * generator(0, "noise").standard_normal(20)
    found = posterior(x[:10], y[:10], 20.0, generator(0, "ends"))
    assert found.mean() == pytest.approx(0.9 - 0.7 * 20**-0.8, abs=0.04)


@pytest.mark.parametrize(("scale", "maximised"), [(1.0, True), (100.0, True), (-4.0, False)])
def test_losses_and_accuracies_are_seen_alike(scale: float, maximised: bool) -> None:
    budgets = np.arange(1.0, 13.0) * 125
    curve = 0.8 - 0.6 * np.arange(1.0, 13.0) ** -0.7
    values = scale * curve if maximised else 4.0 + scale * (curve - curve[0])
    means, deviations = Wpm(budgets, 6, maximised=maximised).predict(np.zeros((1, 0)), values[None, :6])
    assert means[0] == pytest.approx(values[-1], abs=0.05 * abs(scale))
    assert deviations[0] < 0.2 * abs(scale)
