"""Graph networks as predictors: BO-GCN's (Shi et al. 2020) and one of isomorphism layers."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from secateur.encodings import Encoding, GraphEncoding
from secateur.encodings.graph import Shape
from secateur.errors import ConfigurationError
from secateur.predictors.base import Fitted, Predictor
from secateur.predictors.basis import BasisRegression, left_out
from secateur.predictors.believing import believing
from secateur.predictors.quantiles import OnQuantiles
from secateur.rng import Generator, generator

if TYPE_CHECKING:
    from secateur.predictors.graph_networks import Layer


class GraphPredictor(Predictor):
    """A network of `layers` × `width` units per node learns an embedding of graphs, and Bayesian linear regression on it gives
    means and deviations of the targets' quantiles (Shi et al. 2020). `folds` as in DNGO: networks that leave a part out tell
    how large errors are.

    `for_encoding` must be called first: it tells how vectors become graphs.
    """

    layer: ClassVar[Layer]

    def __init__(self, width: int = 32, layers: int = 3, steps: int = 150, folds: int = 3) -> None:
        for name, value in (("width", width), ("layers", layers), ("steps", steps)):
            if value < 1:
                raise ConfigurationError(f"`{name}` must be at least 1, got {value}.")
        if folds < 0 or folds == 1:
            raise ConfigurationError(f"`folds` must be at least 0, and not 1, got {folds}.")
        self.width, self.layers, self.steps, self.folds = width, layers, steps, folds
        self.shape: Shape | None = None

    @classmethod
    def refuses(cls, encoding: Encoding) -> str | None:
        if isinstance(encoding, GraphEncoding):
            return None
        return f"the predictor `{cls.name}` learns from graphs, and the encoding `{encoding.name}` gives none. Use `graph`."

    def for_encoding(self, encoding: Encoding) -> GraphPredictor:
        if not isinstance(encoding, GraphEncoding):
            raise ConfigurationError(self.refuses(encoding) or "")
        told = copy(self)
        told.shape = encoding.shape
        return told

    def fit(self, inputs: np.ndarray, targets: np.ndarray, *, waiting: np.ndarray, seed: int) -> Fitted:
        def fit(x: np.ndarray, y: np.ndarray) -> Fitted:
            return OnQuantiles(lambda quantiles: self._fitted(x, quantiles, generator(seed, self.name)), y)

        return believing(fit, inputs, targets, waiting)

    def _fitted(self, inputs: np.ndarray, targets: np.ndarray, rng: Generator) -> Fitted:
        from secateur.predictors.graph_networks import GraphNetworks, train

        if self.shape is None:
            raise ConfigurationError(f"the predictor `{self.name}` must be told of its encoding first: call `for_encoding`.")
        seen = left_out(len(targets), self.folds, rng)
        networks = GraphNetworks(
            self.shape,
            self.layer,
            width=self.width,
            layers=self.layers,
            members=len(seen),
            targets=targets.shape[1],
            rng=rng,
        )
        train(networks, inputs, targets, seen / (seen.sum(axis=1, keepdims=True) * targets.shape[1]), self.steps)
        return BasisRegression(networks, inputs, targets, seen)


class Gcn(GraphPredictor):
    """Graph convolutions along and against the edges (Wen et al. 2020)."""

    name = "gcn"
    layer = "gcn"


class Gin(GraphPredictor):
    """Layers of a graph isomorphism network (Xu et al. 2019), on edges without direction as in Yan (2022), chapter 3."""

    name = "gin"
    layer = "gin"
