"""Noise of single trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from secateur.errors import ConfigurationError
from secateur.predictors.curves.known import Known
from secateur.predictors.curves.noise import KernelDensity, PerStep, Seeds, Window, around
from secateur.rng import generator

NOISES = [PerStep, KernelDensity, Window, Seeds]


def correlated(count: int = 400, steps: int = 4, seeds: int = 1) -> tuple[Known, np.ndarray]:
    """Trainings with noise that one part of the inputs makes larger, whose neighbouring steps go together."""
    rng = generator(0, "noise")
    inputs = np.repeat(rng.random((count, 2)), seeds, axis=0)
    drawn = rng.standard_normal((len(inputs), steps + 1))
    residuals = (drawn[:, 1:] + drawn[:, :-1]) * np.array([4.0, 2.0, 1.0, 0.5])
    rebuilt = np.repeat(rng.random((count, 1, steps)), seeds, axis=0)
    keys = tuple(str(row // seeds) for row in range(len(inputs)))
    return Known(inputs, rebuilt + residuals[:, None], ("a",), np.arange(1.0, steps + 1), keys), rebuilt


def draws(noise: Any, inputs: np.ndarray) -> np.ndarray:
    return np.asarray(noise.draw(inputs, [generator(1, row) for row in range(len(inputs))]))


def test_the_deviation_of_a_step_is_the_formula() -> None:
    known, rebuilt = correlated()
    found = PerStep.fitted(known, rebuilt)
    residuals = known.curves - rebuilt
    wanted = [np.sqrt(sum(residuals[i, 0, j] ** 2 for i in range(400)) / 399) for j in range(4)]
    assert np.allclose(found.deviation(known.inputs[:2])[1, 0], wanted)
    assert np.allclose(draws(found, np.zeros((4000, 2))).std(axis=0)[0], wanted, rtol=0.05)


def test_the_density_is_that_of_scipy() -> None:
    known, rebuilt = correlated()
    found = KernelDensity.fitted(known, rebuilt)
    flat = (known.curves - rebuilt).reshape(400, -1)
    theirs = gaussian_kde(flat.T)
    assert np.allclose(found.factor @ found.factor.T, theirs.covariance)
    drawn = draws(found, np.zeros((6000, 2)))[:, 0]
    other = theirs.resample(20_000, seed=0)
    assert np.allclose(drawn.std(axis=0), other.std(axis=1), rtol=0.05)
    assert np.allclose(np.corrcoef(drawn.T), np.corrcoef(other), atol=0.05)
    assert np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1] == pytest.approx(0.5, abs=0.1)
    assert np.allclose(found.deviation(known.inputs[:1])[0, 0], drawn.std(axis=0), rtol=0.05)


def test_a_window_follows_the_architecture() -> None:
    rng = generator(0, "window")
    inputs = rng.random((500, 2))
    residuals = rng.standard_normal((500, 1, 30)) * np.exp(2 * inputs[:, :1, None])
    known = Known(inputs, residuals, ("a",), np.arange(1.0, 31.0), tuple(map(str, range(500))))
    found = Window.fitted(known, np.zeros_like(residuals))
    told, true = (found.deviation(inputs) ** 2).mean(), (residuals**2).mean()
    assert told == pytest.approx(true, rel=0.05)
    quiet, loud = found.deviation(np.array([[0.1, 0.5], [0.9, 0.5]]))[:, 0].mean(axis=1)
    assert loud / quiet == pytest.approx(np.exp(1.6), rel=0.1)
    assert draws(found, np.tile([0.9, 0.5], (3000, 1))).std() == pytest.approx(loud, rel=0.05)


def test_a_window_is_narrower_at_the_ends() -> None:
    residuals = np.arange(6.0)[None, None]
    assert np.allclose(around(residuals, 4)[0, 0], [np.std(residuals[0, 0, max(0, s - 2) : s + 2], ddof=1) for s in range(6)])


def test_several_seeds_show_what_compression_hides() -> None:
    """Residuals of a perfect compression are 0, and trainings still differ."""
    known, _ = correlated(count=200, seeds=5)
    found = Seeds.fitted(known, known.curves)
    wanted = np.array([4.0, 2.0, 1.0, 0.5]) * np.sqrt(2)
    assert np.allclose(found.deviation(known.inputs[:1])[0, 0], wanted, rtol=0.05)
    assert np.allclose(draws(found, np.zeros((6000, 2))).std(axis=0)[0], wanted, rtol=0.05)
    pooled = known.curves.reshape(200, 5, 1, 4).var(axis=1, ddof=1).mean(axis=0)
    assert np.allclose(found.deviation(known.inputs[:1])[0], np.sqrt(pooled), rtol=1e-3), "the kernel widens nothing"
    assert KernelDensity.fitted(known, known.curves).deviation(known.inputs[:1]).max() == 0
    with pytest.raises(ConfigurationError, match="trained with several seeds"):
        Seeds.fitted(known.take(range(0, 1000, 5)), known.curves[::5])


@pytest.mark.parametrize("kind", NOISES)
def test_noise_is_a_trainings_own_and_what_is_written_is_read(kind: Any, tmp_path: Path) -> None:
    known, rebuilt = correlated(count=40, seeds=3)
    noise = kind.fitted(known, rebuilt)
    noise.write(tmp_path / "noise")
    whole = draws(noise, known.inputs)
    assert np.array_equal(draws(kind.read(tmp_path / "noise"), known.inputs), whole)
    part = noise.draw(known.inputs[3:5], [generator(1, row) for row in (3, 4)])
    assert np.allclose(part, whole[3:5])


@pytest.mark.parametrize("kind", [PerStep, KernelDensity])
def test_one_training_has_no_noise(kind: Any) -> None:
    known, rebuilt = correlated(count=1)
    with pytest.raises(ConfigurationError, match="at least 2 trainings"):
        kind.fitted(known, rebuilt)
