"""Vectors → mean and deviation. Libraries load when a predictor that needs them is made."""

from secateur.predictors.base import Fitted, Predictor
from secateur.predictors.dngo import Dngo
from secateur.predictors.forest import Forest
from secateur.predictors.gaussian_process import GaussianProcess
from secateur.predictors.graph_predictor import Gcn, Gin
from secateur.predictors.mlp import MlpEnsemble
from secateur.predictors.trees import BoostedTrees

__all__ = ["BoostedTrees", "Dngo", "Fitted", "Forest", "GaussianProcess", "Gcn", "Gin", "MlpEnsemble", "Predictor"]
