"""What holds of every predictor: shapes, seeds, what waits, and how honest deviations are."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

from secateur.catalogue import find
from secateur.errors import ConfigurationError, MissingExtraError
from secateur.predictors import BoostedTrees, Dngo, Forest, MlpEnsemble, Predictor
from secateur.predictors.mlp import bound
from secateur.predictors.spread import Spread

#: Of held-out targets of `drawn`: the least and the most within one and within two deviations. 68 % and 95 % would be right.
WITHIN = {
    "gp": ((0.50, 0.75), (0.84, 0.98)),
    "dngo": ((0.62, 0.85), (0.92, 1.00)),
    "mlp": ((0.20, 0.45), (0.40, 0.70)),  # too sure of itself, as its docstring says
    "trees": ((0.58, 0.80), (0.90, 0.99)),
    "forest": ((0.58, 0.80), (0.90, 0.99)),
}
NAMES = list(WITHIN)


def made(name: str) -> Predictor:
    found: Predictor = find("predictor", name)()
    return found


def drawn(seed: int, n: int, targets: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Cells of five edges with one of four operations each, one-hot (n, 20); targets of deviation 1, a tenth of it noise."""
    rng = np.random.default_rng(seed)
    inputs = np.eye(4)[rng.integers(4, size=(n, 5))].reshape(n, 20)
    means = inputs @ np.random.default_rng(7).standard_normal((20, targets)) / 2
    return inputs, means + 0.3 * np.sin(2 * means) + 0.3 * rng.standard_normal((n, targets))


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_and_its_deviations_are_as_honest_as_it_says(name: str) -> None:
    ones, twos, correlations = [], [], []
    for seed in range(3):
        inputs, targets = drawn(seed, 80)
        fitted = made(name).fit(inputs, targets, waiting=inputs[:0], seed=seed)
        assert fitted is not None
        new, truth = drawn(100 + seed, 400)
        means, deviations = fitted.predict(new)
        ones.append((np.abs(truth - means) < deviations).mean())
        twos.append((np.abs(truth - means) < 2 * deviations).mean())
        correlations.append(np.corrcoef(means[:, 0], truth[:, 0])[0, 1])
    assert np.mean(correlations) > 0.75
    (low, high), (low_2, high_2) = WITHIN[name]
    assert low <= np.mean(ones) <= high
    assert low_2 <= np.mean(twos) <= high_2


@pytest.mark.parametrize("name", NAMES)
def test_shapes_seeds_and_several_targets(name: str) -> None:
    inputs, targets = drawn(0, 24, targets=2)
    first, again, other = (made(name).fit(inputs, targets, waiting=inputs[:0], seed=seed) for seed in (1, 1, 2))
    assert first is not None
    assert again is not None
    assert other is not None
    assert np.array_equal(first.targets, targets)
    means, deviations = first.predict(inputs[:5])
    assert means.shape == deviations.shape == (5, 2)
    assert (deviations > 0).all()
    assert all(np.array_equal(a, b) for a, b in zip(first.predict(inputs), again.predict(inputs), strict=True))
    if name != "gp":  # which draws nothing
        assert not np.array_equal(first.predict(inputs)[0], other.predict(inputs)[0])
    assert np.corrcoef(means[:, 0] - means[:, 1], (targets[:, 0] - targets[:, 1])[:5])[0, 1] > 0.5  # each target its own


@pytest.mark.parametrize("name", NAMES)
def test_what_waits_is_believed(name: str) -> None:
    """Its mean joins the targets; where there was none near, less is doubted."""
    inputs, targets = drawn(0, 24)
    before = made(name).fit(inputs, targets, waiting=inputs[:0], seed=3)
    after = made(name).fit(inputs, targets, waiting=np.eye(20)[:2], seed=3)
    assert before is not None
    assert after is not None
    assert after.targets[:24] == pytest.approx(targets)
    assert after.targets[24:] == pytest.approx(before.predict(np.eye(20)[:2])[0])
    assert not np.allclose(after.predict(np.eye(20))[1], before.predict(np.eye(20))[1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", ["two", "equal", "constant columns"])
def test_little_to_learn_from_is_no_trouble(name: str, case: str) -> None:
    inputs, targets = drawn(0, 2 if case == "two" else 12)
    if case == "equal":
        targets = np.zeros_like(targets)
    elif case == "constant columns":
        inputs = np.ones_like(inputs)
    fitted = made(name).fit(inputs, targets, waiting=inputs[:0], seed=0)
    assert fitted is not None
    means, deviations = fitted.predict(drawn(1, 6)[0])
    assert np.isfinite(means).all()
    assert (deviations > 0).all()
    assert np.isfinite(deviations).all()


@pytest.mark.parametrize(("name", "most"), [("dngo", 0.3), ("mlp", 1.0), ("forest", 1.0), ("trees", 2.0)])
def test_a_fit_and_all_of_a_table_are_quick(name: str, most: float) -> None:
    """100 observations, then all 15,625 cells of the size that NAS-Bench-201's have: the best of three, in this thread."""
    inputs, targets = (np.random.default_rng(0).random((100, d)) for d in (30, 1))
    every = np.random.default_rng(1).random((15_625, 30))
    predictor, times = made(name), []
    for _ in range(3):
        began = time.thread_time()
        fitted = predictor.fit(inputs, targets, waiting=inputs[:0], seed=0)
        assert fitted is not None
        fitted.predict(every)
        times.append(time.thread_time() - began)
    assert min(times) < most


def test_dngo_as_published_is_far_too_sure() -> None:
    shares = {}
    inputs, targets = drawn(0, 40)
    new, truth = drawn(100, 400)
    for folds in (0, 3):
        means, deviations = Dngo(folds=folds).fit(inputs, targets, waiting=inputs[:0], seed=0).predict(new)
        shares[folds] = (np.abs(truth - means) < deviations).mean()
    assert shares[0] < 0.5 < shares[3]


def test_relative_errors_count_for_more_near_the_best() -> None:
    """Two targets at one input: the mean absolute error takes any value between them, the relative one the better."""
    inputs, targets = np.ones((4, 1)), np.array([[0.0], [0.0], [1.0], [1.0]])
    assert bound(targets) == pytest.approx([1.1])
    fitted = MlpEnsemble(layers=1, loss="mape", steps=600).fit(inputs, targets, waiting=inputs[:0], seed=0)
    assert fitted.predict(inputs[:1])[0] == pytest.approx(1.0, abs=0.05)


def test_a_spread_is_that_which_errors_were_drawn_from() -> None:
    rng = np.random.default_rng(0)
    claimed = rng.exponential(size=(20_000, 2)) * [1e-6, 5.0]
    errors = np.sqrt(0.25 + np.array([2e6, 0.1]) * claimed) * rng.standard_normal(claimed.shape)
    found = Spread.of(errors, claimed)
    assert found.noise == pytest.approx([0.25, 0.25], rel=0.2)
    assert found.factor == pytest.approx([2e6, 0.1], rel=0.2)
    assert found.deviations(claimed) == pytest.approx(np.sqrt(found.noise + found.factor * claimed))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Dngo(width=0), "`width` must be at least 1, got 0"),
        (lambda: Dngo(folds=1), "`folds` must be at least 0, and not 1, got 1"),
        (lambda: MlpEnsemble(members=1), "`members` must be at least 2, got 1"),
        (lambda: MlpEnsemble(loss="mse"), "mse"),
        (lambda: Forest(trees=1), "`trees` must be at least 2, got 1"),
        (lambda: BoostedTrees(trees=0), "`trees` must be at least 1, got 0"),
    ],
)
def test_bad_settings(make: object, said: str) -> None:
    assert callable(make)
    with pytest.raises(ConfigurationError, match=said):
        make()


def test_a_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(
        MissingExtraError, match=r"`lightgbm` is not installed. Install it with: pip install 'secateur\[trees\]'"
    ):
        BoostedTrees()


def test_nothing_heavy_loads_with_the_predictors() -> None:
    code = "import sys, secateur.predictors; print([h for h in ('torch', 'sklearn', 'scipy', 'lightgbm') if h in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
