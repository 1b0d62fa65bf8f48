"""Vectors → mean and deviation. Libraries load when a predictor that needs them is made."""

from secateur.predictors.base import Fitted, Predictor
from secateur.predictors.gaussian_process import GaussianProcess

__all__ = ["Fitted", "GaussianProcess", "Predictor"]
