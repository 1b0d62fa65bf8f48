"""Expected hypervolume improvement (Daulton et al. 2020), by BoTorch. Imported only on use: BoTorch takes seconds to load."""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.logei import qLogExpectedHypervolumeImprovement
from botorch.models.model import Model
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning, NondominatedPartitioning
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal

from secateur.predictors.base import Fitted

#: Candidates scored at once, to bound memory.
CHUNK = 512
#: Quasi-random samples of the posterior for three and more objectives, where there is no closed form to be quick with.
SAMPLES = 32


class Gain:
    """Scores of candidates: the larger, the more hypervolume beyond `reference` (m,) is to be expected.

    In closed form for two objectives; the logarithm of the gain, by sampling, for more.
    """

    def __init__(self, fitted: Fitted, reference: np.ndarray, seed: int) -> None:
        model: Any = getattr(fitted, "model", None) or _Independent(fitted)
        corner = torch.as_tensor(reference, dtype=torch.float64)
        # Both acquisition functions name the slower partitioning in their signatures; they only ask it for its cells.
        cells = cast(
            NondominatedPartitioning,
            FastNondominatedPartitioning(ref_point=corner, Y=torch.as_tensor(fitted.targets, dtype=torch.float64)),
        )
        self.additive = len(reference) > 2
        self._gain: AcquisitionFunction
        if self.additive:
            sampler = SobolQMCNormalSampler(sample_shape=torch.Size([SAMPLES]), seed=seed)
            self._gain = qLogExpectedHypervolumeImprovement(
                model=model, ref_point=corner.tolist(), partitioning=cells, sampler=sampler
            )
        else:
            self._gain = ExpectedHypervolumeImprovement(model=model, ref_point=corner.tolist(), partitioning=cells)

    def __call__(self, candidates: np.ndarray) -> np.ndarray:
        """The scores (k,) of encoded candidates (k, d)."""
        inputs = torch.as_tensor(candidates, dtype=torch.float64).unsqueeze(-2)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(torch.cat([self._gain(chunk) for chunk in torch.split(inputs, CHUNK)]).numpy())


class _Independent(Model):
    """Any predictor as a model of BoTorch's: objectives independent, normal around their means."""

    def __init__(self, fitted: Fitted) -> None:
        super().__init__()
        self.fitted = fitted

    @property
    def num_outputs(self) -> int:
        return int(self.fitted.targets.shape[1])

    def posterior(self, X: torch.Tensor, *args: Any, **kwargs: Any) -> GPyTorchPosterior:  # noqa: N803 - BoTorch's name
        flat = X.reshape(-1, X.shape[-1]).numpy()
        mean, deviation = (torch.as_tensor(a, dtype=torch.float64) for a in self.fitted.predict(flat))
        shape = (*X.shape[:-1], self.num_outputs)
        mean, variance = mean.reshape(shape), deviation.reshape(shape) ** 2
        parts = [MultivariateNormal(mean[..., i], torch.diag_embed(variance[..., i])) for i in range(self.num_outputs)]
        return GPyTorchPosterior(MultitaskMultivariateNormal.from_independent_mvns(parts))  # type: ignore[arg-type]
