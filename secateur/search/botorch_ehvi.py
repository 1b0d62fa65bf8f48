"""The model and the acquisition function of `ehvi`. Imported only on use: the one file that imports BoTorch at its head."""

from __future__ import annotations

import warnings
from typing import cast

import numpy as np
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.logei import qLogExpectedHypervolumeImprovement
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch.utils.multi_objective.box_decompositions import (
    FastNondominatedPartitioning,
    NondominatedPartitioning,
)
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.utils.errors import NanError, NotPSDError

#: Candidates scored at once, to bound memory.
CHUNK = 512
#: Quasi-random samples of the posterior for three and more objectives, where there is no closed form to be quick with.
SAMPLES = 32


def standardise(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minimised points (n, m) as BoTorch wants them: maximised, mean 0, deviation 1; and the reference (m,) on that same scale.

    The reference is a tenth of each objective's range beyond the worst value observed. It goes through the same change of sign
    and scale as the points: left in the points' own sign, it lies beyond the front and the search collapses to one corner.
    """
    spread = points.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    width = np.ptp(points, axis=0)
    reference = points.max(axis=0) + 0.1 * np.where(width > 0, width, 1.0)
    centre = points.mean(axis=0)
    return -(points - centre) / scale, -(reference - centre) / scale


class Acquisition:
    """Scores of candidates: the larger, the more hypervolume is to be expected, times the chance of being feasible."""

    def __init__(self, gain: AcquisitionFunction, logarithmic: bool, feasible: np.ndarray, infeasible: np.ndarray) -> None:
        self._gain = gain
        self._logarithmic = logarithmic
        self._feasible = feasible
        self._infeasible = infeasible

    def __call__(self, candidates: np.ndarray) -> np.ndarray:
        """The scores (k,) of encoded candidates (k, d)."""
        if not len(candidates):
            return np.zeros(0)
        inputs = torch.as_tensor(candidates, dtype=torch.float64).unsqueeze(-2)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = torch.cat([self._gain(chunk) for chunk in torch.split(inputs, CHUNK)]).numpy()
        chance = self._chance(candidates)
        return np.asarray(scores + np.log(chance) if self._logarithmic else scores * chance)

    def _chance(self, candidates: np.ndarray) -> np.ndarray:
        """The share of feasible ones among each candidate's five nearest results, never 0: (k,)."""
        if not len(self._infeasible):
            return np.ones(len(candidates))
        known = np.concatenate([self._feasible, self._infeasible])
        good = np.arange(len(known)) < len(self._feasible)
        distances = _squares(candidates, known)
        k = min(5, len(known))
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return np.asarray((good[nearest].sum(axis=1) + 0.1) / (k + 0.2))


def _squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared distances (k, n) between rows, without the (k, n, d) array."""
    return np.asarray((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None] - 2 * a @ b.T)


def _believing(
    model: SingleTaskGP, x: torch.Tensor, y: torch.Tensor, waiting: torch.Tensor
) -> tuple[SingleTaskGP, torch.Tensor]:
    """The model, with its own mean taken for observed at `waiting`, and the targets with those means."""
    with torch.no_grad():
        believed = torch.cat([y, model.posterior(waiting).mean])
    after = SingleTaskGP(torch.cat([x, waiting]), believed, outcome_transform=None)
    after.load_state_dict(model.state_dict())
    return after.eval(), believed


def fitted(
    inputs: np.ndarray, points: np.ndarray, waiting: np.ndarray, infeasible: np.ndarray, iterations: int, seed: int
) -> Acquisition | None:
    """The acquisition function after observing `points` (n, m), minimised, at `inputs` (n, d) of the unit cube.

    `waiting` (p, d) are being evaluated: the model's mean stands for what they will bring (Ginsbourger et al. 2010 call it the
    kriging believer), so that the next proposal looks elsewhere. `infeasible` (i, d) broke a bound.
    None where no model could be fitted. torch's global generator is left as it was.
    """
    targets, reference = standardise(points)
    x, y, r = (torch.as_tensor(a, dtype=torch.float64) for a in (inputs, targets, reference))
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
        # Both acquisition functions name the slower partitioning in their signatures; they only ask it for its cells.
        partitioning = cast(NondominatedPartitioning, FastNondominatedPartitioning(ref_point=r, Y=y))
        two = len(reference) == 2
        gain: AcquisitionFunction
        if two:
            gain = ExpectedHypervolumeImprovement(model=model, ref_point=r.tolist(), partitioning=partitioning)
        else:
            sampler = SobolQMCNormalSampler(sample_shape=torch.Size([SAMPLES]), seed=seed)
            gain = qLogExpectedHypervolumeImprovement(
                model=model, ref_point=r.tolist(), partitioning=partitioning, sampler=sampler
            )
    return Acquisition(gain, not two, inputs, infeasible)
