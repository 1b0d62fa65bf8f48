"""The Gaussian process: what it learns, believes of what is waiting, and leaves alone."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch

from secateur.encodings import Path
from secateur.errors import ConfigurationError, MissingExtraError
from secateur.predictors import GaussianProcess
from secateur.spaces.cells import NasBench101

NONE = np.zeros((0, 2))


def observed(n: int = 15) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (n, 2) and two smooth targets (n, 2), standardised."""
    inputs = np.random.default_rng(0).random((n, 2))
    targets = np.stack([np.sin(3 * inputs[:, 0]), inputs[:, 0] - inputs[:, 1] ** 2], axis=1)
    return inputs, (targets - targets.mean(axis=0)) / targets.std(axis=0)


def test_it_repeats_what_it_saw_and_doubts_what_is_far() -> None:
    inputs, targets = observed()
    fitted = GaussianProcess(iterations=60).fit(inputs, targets, waiting=NONE, seed=0)
    assert fitted is not None
    assert np.array_equal(fitted.targets, targets)
    mean, deviation = fitted.predict(inputs)
    assert mean.shape == deviation.shape == (15, 2)
    assert np.abs(mean - targets).max() < 0.2
    far = fitted.predict(np.array([[5.0, -5.0]]))[1]
    assert far.min() > deviation.max()


def test_its_mean_stands_for_what_is_waiting() -> None:
    inputs, targets = observed()
    process = GaussianProcess(iterations=20)
    spot = np.array([[0.9, 0.05]])
    before = process.fit(inputs, targets, waiting=NONE, seed=0)
    after = process.fit(inputs, targets, waiting=spot, seed=0)
    assert before is not None
    assert after is not None
    assert after.targets.shape == (16, 2)
    assert after.targets[:15] == pytest.approx(targets)
    assert after.targets[15:] == pytest.approx(before.predict(spot)[0])
    assert (after.predict(spot)[1] < before.predict(spot)[1]).all()


def test_the_same_seed_gives_the_same_and_torch_is_left_alone() -> None:
    import torch

    inputs, targets = observed(8)
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    first, second = (GaussianProcess(5).fit(inputs, targets, waiting=NONE, seed=3) for _ in range(2))
    assert torch.equal(state, torch.random.get_rng_state())
    assert first is not None
    assert second is not None
    assert np.array_equal(first.predict(inputs)[0], second.predict(inputs)[0])


def test_a_fit_that_fails_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from botorch.exceptions.errors import ModelFittingError

    import secateur.predictors.botorch_process as library

    def fail(*_: object, **__: object) -> None:
        raise ModelFittingError("all attempts failed")

    monkeypatch.setattr(library, "fit_gpytorch_mll", fail)
    assert GaussianProcess(5).fit(*observed(4), waiting=NONE, seed=0) is None


def test_too_many_dimensions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 364 paths of NAS-Bench-101 are not too many."""
    assert GaussianProcess.refuses(Path(NasBench101())) is None
    monkeypatch.setattr(GaussianProcess, "most_dimensions", 300)
    assert GaussianProcess.refuses(Path(NasBench101())) == (
        "`gp` learns from at most 300 dimensions, and the encoding `path` of `nasbench101` has 364. Use `dngo` or `forest`."
    )


def test_bad_settings_and_a_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="`iterations` must be at least 1, got 0"):
        GaussianProcess(0)
    import secateur.predictors

    monkeypatch.delitem(sys.modules, "secateur.predictors.botorch_process", raising=False)
    monkeypatch.delattr(secateur.predictors, "botorch_process", raising=False)
    for name in ("botorch", "botorch.exceptions.errors"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"`botorch` is not installed. Install it with: pip install 'secateur\[bo\]'"):
        GaussianProcess()


@pytest.mark.parametrize("waiting", [NONE, np.array([[0.9, 0.05]])])
def test_it_predicts_what_the_librarys_posterior_says(waiting: np.ndarray) -> None:
    inputs, targets = observed()
    fitted: Any = GaussianProcess(iterations=20).fit(inputs, targets, waiting=waiting, seed=0)
    asked = np.random.default_rng(1).random((50, 2)) * 2 - 0.5
    posterior = fitted.model.posterior(torch.from_numpy(asked), observation_noise=True)
    mean, deviation = fitted.predict(asked)
    assert mean == pytest.approx(posterior.mean.detach().numpy(), abs=1e-10)
    assert deviation == pytest.approx(posterior.variance.detach().sqrt().numpy(), abs=1e-10)


def test_its_loss_is_the_librarys() -> None:
    from botorch.models import SingleTaskGP
    from botorch.optim.closures import get_loss_closure_with_grads
    from gpytorch.mlls import ExactMarginalLogLikelihood

    from secateur.predictors.botorch_process import Loss

    inputs, targets = observed()
    model = SingleTaskGP(
        torch.from_numpy(inputs), torch.from_numpy(targets[:, :1] / targets[:, :1].std(ddof=1)), outcome_transform=None
    )
    mll = ExactMarginalLogLikelihood(model.likelihood, model).train()
    for scale in (1.0, 0.3):
        model.covar_module.lengthscale = scale * torch.tensor([[0.5, 2.0]])
        expected = get_loss_closure_with_grads(mll, parameters=dict(mll.named_parameters()))()
        value, gradients = Loss(mll)()
        assert value.item() == pytest.approx(expected[0].item(), rel=1e-9)
        for mine, theirs in zip(gradients, expected[1], strict=True):
            assert theirs is not None
            assert mine.numpy() == pytest.approx(theirs.numpy(), rel=1e-6)
