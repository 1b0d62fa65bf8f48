"""A low-cost proxy as an estimator: an architecture's score without training it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import nn

from secateur.architecture import Architecture, digest
from secateur.errors import EvaluationFailure
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build, measured
from secateur.estimators.proxies.probe import Batch, Loss
from secateur.estimators.proxies.scoring import proxy_of, score


class ProxyEstimator(Estimator):
    """The score `name` of the untrained network that `build` builds, on `batch` (or the mean over several).

    `identity` names what `build` builds from (vocabulary, initial weights' seed), so that scores of two builders are never
    mixed up. The other arguments are those of `score`.
    """

    cost: ClassVar[int] = 1

    def __init__(
        self,
        build: Build,
        batch: Batch | Sequence[Batch] | None,
        name: str,
        *,
        seed: int = 0,
        loss: Loss | None = None,
        double: bool | None = None,
        identity: str = "",
    ) -> None:
        self.proxy = proxy_of(name)
        self.name = name
        self.yields = (name,)
        self.build = build
        self.batch = batch
        self.seed = seed
        self.loss = loss
        self.double = double
        self.identity = identity
        self._data = batch_digest(batch)

    @property
    def fingerprint(self) -> str:
        loss = "" if self.loss is None else str(getattr(self.loss, "__qualname__", type(self.loss).__qualname__))
        return digest("proxy", self.name, self.identity, self._data, str(self.seed), loss, str(self.double))

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return measured(self.build, architectures, self._measure)

    def _measure(self, network: nn.Module) -> Evaluation:
        try:
            value = score(self.name, network, self.batch, seed=self.seed, loss=self.loss, double=self.double)
        except EvaluationFailure as failure:
            return Evaluation(failure=str(failure))
        return Evaluation({self.name: value})


def batch_digest(batch: Batch | Sequence[Batch] | None) -> str:
    """A digest of names, types, shapes and values of one batch or several."""
    batches = [] if batch is None else [batch] if isinstance(batch, Mapping) else batch
    parts: list[bytes] = []
    for one in batches:
        parts.append(b"batch")
        for name, value in sorted(one.items()):
            flat = value.detach().cpu().reshape(-1).contiguous()
            parts += [name.encode(), f"{value.dtype} {tuple(value.shape)}".encode(), flat.view(torch.uint8).numpy().tobytes()]
    return digest(*parts)
