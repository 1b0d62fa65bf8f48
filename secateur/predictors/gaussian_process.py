"""Gaussian processes, one per target, by BoTorch."""

from __future__ import annotations

import numpy as np

from secateur.encodings import Encoding
from secateur.errors import ConfigurationError, MissingExtraError
from secateur.predictors.base import Fitted, Predictor


class GaussianProcess(Predictor):
    """`iterations` bounds the fit: 50 let the length scales settle, and keep a fit to 100 observations below two seconds."""

    name = "gp"
    #: Each dimension has its own length scale: with more of them, a few hundred observations teach little, and slowly.
    most_dimensions = 1000

    @classmethod
    def refuses(cls, encoding: Encoding) -> str | None:
        if encoding.dimensions <= cls.most_dimensions:
            return None
        return (
            f"`{cls.name}` learns from at most {cls.most_dimensions:,} dimensions, and the encoding `{encoding.name}` of "
            f"`{encoding.space.name}` has {encoding.dimensions:,}. Use `dngo` or `forest`."
        )

    def __init__(self, iterations: int = 50) -> None:
        if iterations < 1:
            raise ConfigurationError(f"`iterations` must be at least 1, got {iterations}.")
        try:  # a missing library is said now, not after the first evaluations
            from secateur.predictors import botorch_process
        except ModuleNotFoundError as error:
            if error.name and error.name.startswith("secateur"):
                raise
            raise MissingExtraError("botorch", "bo") from error
        self.iterations = iterations
        self._fit = botorch_process.fitted

    def fit(self, inputs: np.ndarray, targets: np.ndarray, *, waiting: np.ndarray, seed: int) -> Fitted | None:
        return self._fit(inputs, targets, waiting, self.iterations, seed)
