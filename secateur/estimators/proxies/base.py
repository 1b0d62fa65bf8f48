"""What a low-cost proxy is: a name, a formula, which direction is better and what it needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from secateur.errors import ConfigurationError, EvaluationFailure
from secateur.estimators.proxies.probe import Probe

#: What a proxy looks at beside the weights: nothing, the shapes of a batch only, or a batch with its labels.
Needs = Literal["nothing", "shapes", "data"]


@dataclass(frozen=True)
class Proxy:
    """A number that ranks untrained networks.

    `direction` says which networks it calls better: those with a larger ("max") or smaller ("min") score. `weights` is
    False where the values of the weights do not matter. `double` computes in float64 unless told otherwise.
    """

    name: str
    compute: Callable[[Probe], float]
    description: str
    direction: Literal["max", "min"] = "max"
    needs: Needs = "data"
    weights: bool = True
    double: bool = False

    def __post_init__(self) -> None:
        if self.direction not in ("max", "min"):
            raise ConfigurationError(f"`direction` of the proxy `{self.name}` must be max or min, got `{self.direction}`.")

    def __call__(self, probe: Probe) -> float:
        """The score, always finite.

        Raises:
            EvaluationFailure: with the reason why there is none.
        """
        if self.weights:
            check_weights(probe)
        value = float(self.compute(probe))
        if not math.isfinite(value):
            hint = "" if probe.double else " Computing in float64 may help."
            raise EvaluationFailure(f"`{self.name}` is {value}: it overflowed or is not defined for this network.{hint}")
        return value


@dataclass(frozen=True)
class Cost:
    """What one score took. `flops`: of matrix products and convolutions, two per multiply-accumulate; `seconds`: wall clock."""

    flops: int
    seconds: float


def check_weights(probe: Probe) -> None:
    """Raise EvaluationFailure where a weight of the body is not a finite number, and name it."""
    for name, weight in probe.body.items():
        if not torch.isfinite(weight).all():
            raise EvaluationFailure(f"the weights of `{name}` hold values that are not finite.")


def check_finite(tensor: Tensor, what: str) -> Tensor:
    """`tensor`, or EvaluationFailure that names `what` where it is not finite."""
    if not torch.isfinite(tensor).all():
        raise EvaluationFailure(f"{what} is not finite.")
    return tensor
