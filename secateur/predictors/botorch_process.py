"""BoTorch's Gaussian process. Imported only on use: BoTorch takes seconds to load."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.utils.errors import NanError, NotPSDError

from secateur.predictors.base import Fitted

#: Inputs that are predicted at once: a posterior holds their covariances, the square of this number.
CHUNK = 1000


class FittedProcess(Fitted):
    """`model` is BoTorch's own, for acquisition functions that can use more than means and deviations."""

    def __init__(self, model: SingleTaskGP, targets: torch.Tensor) -> None:
        self.model = model
        self.targets = targets.numpy()

    def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = []
        with torch.no_grad():
            for some in torch.as_tensor(inputs, dtype=torch.float64).split(CHUNK):
                posterior = self.model.posterior(some, observation_noise=True)
                parts.append((posterior.mean.numpy(), posterior.variance.detach().sqrt().numpy()))
        means, deviations = (np.concatenate(several) for several in zip(*parts, strict=True))
        return means, deviations


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
            fit_gpytorch_mll(
                ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs={"options": {"maxiter": iterations}}
            )
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
