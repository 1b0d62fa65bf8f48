"""BoTorch's Gaussian process. Imported only on use: BoTorch takes seconds to load."""

from __future__ import annotations

import math
import warnings
from functools import cached_property

import numpy as np
import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.utils.cholesky import psd_safe_cholesky
from linear_operator.utils.errors import NanError, NotPSDError

from secateur.predictors.base import Fitted

#: Inputs that are predicted at once.
CHUNK = 4096


class FittedProcess(Fitted):
    """`model` is BoTorch's own, for acquisition functions that can use more than means and deviations."""

    def __init__(self, model: SingleTaskGP, targets: torch.Tensor) -> None:
        self.model = model
        self.targets = targets.numpy()

    @cached_property
    def _observed(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The inputs, the factor of their covariance with noise, and what means are made of, each for m targets."""
        (x,), model = self.model.train_inputs, self.model
        covariance = model.covar_module(x).to_dense() + model.likelihood.noise[..., None] * torch.eye(
            x.shape[-2], dtype=x.dtype
        )
        factor = psd_safe_cholesky(covariance)
        left = (model.train_targets - model.mean_module(x))[..., None]
        return x, factor, torch.cholesky_solve(left, factor)

    def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The posterior's means and variances one input at a time, each (k, m): BoTorch's own takes the covariances of all."""
        parts = []
        with torch.no_grad():
            x, factor, weights = self._observed
            for some in torch.as_tensor(inputs, dtype=torch.float64).split(CHUNK):
                across = self.model.covar_module(x, some).to_dense()
                means = self.model.mean_module(some) + (across * weights).sum(dim=-2)
                explained = torch.linalg.solve_triangular(factor, across, upper=False).square().sum(dim=-2)
                prior = self.model.covar_module(some, diag=True) + self.model.likelihood.noise
                parts.append(
                    ((means.reshape(-1, len(some)).T), (prior - explained).clamp(min=1e-12).sqrt().reshape(-1, len(some)).T)
                )
        means, deviations = (torch.cat(several).numpy() for several in zip(*parts, strict=True))
        return means, deviations


class Loss:
    """The negative marginal likelihood of one target, with its gradients, as the library minimises it. In plain operations it
    takes less than half the time."""

    def __init__(self, mll: ExactMarginalLogLikelihood) -> None:
        self.model = mll.model
        self.parameters = [p for p in mll.parameters() if p.requires_grad]
        (self.x,), self.y = self.model.train_inputs, self.model.train_targets

    def __call__(self) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        value = self.value()
        return value, torch.autograd.grad(value, self.parameters)

    def value(self) -> torch.Tensor:
        model, n = self.model, len(self.x)
        scaled = (self.x - self.x.mean(dim=0)) / model.covar_module.lengthscale
        lengths = scaled.square().sum(dim=1)
        apart = (lengths[:, None] + lengths - 2 * scaled @ scaled.T).clamp(min=0)
        factor = psd_safe_cholesky((-apart / 2).exp() + model.likelihood.noise * torch.eye(n, dtype=self.x.dtype))
        left = torch.linalg.solve_triangular(factor, (self.y - model.mean_module.constant)[:, None], upper=False)
        likelihood = -left.square().sum() / 2 - factor.diagonal().log().sum() - n * math.log(2 * math.pi) / 2
        priors = sum(prior.log_prob(of(module)).sum() for _, module, prior, of, _ in model.named_priors())
        loss: torch.Tensor = -(likelihood + priors) / n
        return loss


def fitted(inputs: np.ndarray, targets: np.ndarray, waiting: np.ndarray, iterations: int, seed: int) -> FittedProcess | None:
    """The process after observing `targets`, standardised and maximised; None where no model could be fitted.

    torch's global generator is left as it was.
    """
    x, y = (torch.as_tensor(a, dtype=torch.float64) for a in (inputs, targets))
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 'maxiter reached' is what we asked for
        torch.manual_seed(seed)
        model = SingleTaskGP(x, y, outcome_transform=None)
        try:
            mll = ExactMarginalLogLikelihood(model.likelihood, model)
            # of several targets, the library fits each by itself
            closure = Loss(mll) if y.shape[1] == 1 else None
            fit_gpytorch_mll(mll, closure=closure, optimizer_kwargs={"options": {"maxiter": iterations}})
            if len(waiting):
                model, y = _believing(model, x, y, torch.as_tensor(waiting, dtype=torch.float64))
        except (ModelFittingError, NanError, NotPSDError):
            return None
    return FittedProcess(model, y)


def _believing(
    model: SingleTaskGP, x: torch.Tensor, y: torch.Tensor, waiting: torch.Tensor
) -> tuple[SingleTaskGP, torch.Tensor]:
    """The model, with its own mean taken for observed at `waiting`, and the targets with those means."""
    with torch.no_grad():
        believed = torch.cat([y, model.posterior(waiting).mean])
    after = SingleTaskGP(torch.cat([x, waiting]), believed, outcome_transform=None)
    after.load_state_dict(model.state_dict())
    return after.eval(), believed
