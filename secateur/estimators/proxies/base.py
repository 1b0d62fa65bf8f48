"""What a low-cost proxy is: a formula with a name, and what it needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from secateur.errors import EvaluationFailure
from secateur.estimators.proxies.probe import Probe
from secateur.objectives import QUANTITIES

#: What a proxy looks at beside the weights: nothing, the shapes of a batch only, or a batch with its labels.
Needs = Literal["nothing", "shapes", "data"]
Formula = Callable[[Probe], float]


@dataclass(frozen=True)
class Proxy:
    """A number that ranks untrained networks: those with more of it are called better. `objectives.QUANTITIES` says what it is.

    `needs`: what it looks at. `weights` is False where their values do not matter. `double` computes in float64 unless told
    otherwise.
    """

    name: str
    compute: Formula
    needs: Needs = "data"
    weights: bool = True
    double: bool = False

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


#: Name → proxy; a formula with the decorator `proxy` puts itself here.
PROXIES: dict[str, Proxy] = {}


def proxy(*, needs: Needs = "data", weights: bool = True, double: bool = False) -> Callable[[Formula], Formula]:
    """Make a formula the proxy of its name, which must be one of `objectives.QUANTITIES`."""

    def register(formula: Formula) -> Formula:
        name = formula.__name__
        assert name in QUANTITIES, f"`{name}` is not a quantity: describe it in objectives.QUANTITIES."
        PROXIES[name] = Proxy(name, formula, needs, weights, double)
        return formula

    return register


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
