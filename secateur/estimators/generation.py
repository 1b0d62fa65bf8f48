"""How long a language model's network takes for a prompt and for each token that it writes, measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import nn

from secateur.architecture import Architecture, digest
from secateur.devices.generation import measure_generation
from secateur.devices.runtime import check_setup
from secateur.devices.setup import Setup
from secateur.errors import MeasurementError
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build, measured


class GenerationEstimator(Estimator):
    """`prompt_latency` and `token_latency`, as `setup` says, over `tokens` tokens written greedily."""

    yields = ("prompt_latency", "token_latency")
    cost: ClassVar[int] = 2

    def __init__(self, build: Build, setup: Setup, tokens: int, *, identity: str = "") -> None:
        check_setup(setup)
        self.build, self.setup, self.tokens, self.identity = build, setup, tokens, identity

    @property
    def fingerprint(self) -> str:
        return digest("generation", self.identity, str(self.tokens), str(self.setup))

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return measured(self.build, architectures, self._measure)

    def _measure(self, network: nn.Module) -> Evaluation:
        try:
            found = measure_generation(network, self.tokens, self.setup)
        except MeasurementError as error:  # a network without attention keeps no cache
            return Evaluation(failure=str(error))
        return Evaluation(values={"prompt_latency": found.prompt.median, "token_latency": found.token.median})
