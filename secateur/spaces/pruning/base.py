"""What all pruning spaces share: a model's shape, and the way down to a Plan."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.catalogue import find
from secateur.errors import ConfigurationError
from secateur.rng import Generator
from secateur.spaces.domains import Range
from secateur.spaces.product import ProductSpace
from secateur.spaces.pruning.plan import Plan, Shape

Limit = str | Range | None

BIT = Range(0, 1)


class PruningSpace(ProductSpace):
    """A space of sub-networks of one network."""

    def __init__(self, shape: Shape, domains: list[Range]) -> None:
        super().__init__(domains)
        self.shape = shape

    @abstractmethod
    def plan_of(self, values: np.ndarray) -> Plan:
        """The plan of a vector."""

    @abstractmethod
    def choices_of(self, values: np.ndarray) -> dict[str, Any]:
        """The vector as named choices."""

    @abstractmethod
    def values_of(self, choices: Mapping[str, Any]) -> np.ndarray:
        """The named choices as a vector."""

    def plan(self, architecture: Architecture) -> Plan:
        """What the architecture keeps of the network."""
        return self.plan_of(self.values(architecture))

    def start(self, rng: Generator) -> Architecture:
        """The upper bound: without bounds the unpruned network, the best that there is."""
        return self.largest()

    def line(self, weights: np.ndarray, least: bool = True) -> Callable[[float], Architecture]:
        """Architectures from the smallest (at 0) to the largest (at 1), each containing those before it.

        A dimension of weight w in (0, 1] is whole from w on; with `least`, none is at its lower bound above 0.
        """
        rounded = np.ceil if least else np.floor
        return lambda at: self.from_indices(rounded(np.minimum(1.0, at / weights) * (self._count - 1)).astype(np.int64))

    def costs(self, architectures: Sequence[Architecture]) -> np.ndarray:
        """The share of the layers' parameters, where a feed-forward part has twice those of attention, as usual."""
        plans = [self.plan(a).layers for a in architectures]
        heads = np.array([sum(layer.heads.count for layer in layers) for layers in plans], dtype=np.float64)
        units = np.array([sum(layer.units.count for layer in layers) for layers in plans], dtype=np.float64)
        share = heads / max(self.shape.heads, 1) + 2 * units / max(self.shape.units, 1)
        return (share / (3 * self.shape.layers))[:, None]

    def values(self, architecture: Architecture) -> np.ndarray:
        return self.values_of(dict(architecture.choices))

    def from_values(self, values: np.ndarray) -> Architecture:
        return Architecture.of(self.name, self.choices_of(values), self.plan_of(values).key)

    def make(self, choices: Mapping[str, Any]) -> Architecture:
        try:
            values = self.values_of(choices)
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(f"`{choices}` is not an architecture of the space `{self.name}`: {error}.") from error
        if not self.contains_values(values):
            raise ConfigurationError(f"`{dict(choices)}` is outside the bounds of the space `{self.name}`.")
        return self.from_values(values)


def plan_of(architecture: Architecture, shape: Shape) -> Plan:
    """What an architecture of any pruning space keeps of a network of this shape."""
    return _space(architecture.space, shape).plan(architecture)


@lru_cache(maxsize=16)
def _space(name: str, shape: Shape) -> PruningSpace:
    space: PruningSpace = find("space", name, "prune")(shape)
    return space


class BinarySpace(PruningSpace):
    """A bit per part. Sampled as the papers do: first how many are kept, uniformly, then which."""

    def __init__(self, shape: Shape, bits: int) -> None:
        super().__init__(shape, [BIT] * bits)

    def line(self, weights: np.ndarray, least: bool = True) -> Callable[[float], Architecture]:
        """As many parts as the place on the line says, those of the least weights."""
        place = np.argsort(np.argsort(weights, kind="stable"))
        return lambda at: self.from_indices((place < np.ceil(at * len(place))).astype(np.int64))

    def sample_values(self, n: int, rng: Generator) -> np.ndarray:
        bits = len(self.domains)
        out = np.zeros((n, bits), dtype=np.int64)
        for row in out:
            kept = int(rng.integers(0, bits + 1))
            row[rng.choice(bits, size=kept, replace=False)] = 1
        return out


def whole_numbers(choices: Mapping[str, Any], *names: str) -> np.ndarray:
    """The named choices as rows of whole numbers; a fraction is refused, not cut off."""
    values = np.array([choices[name] for name in names])
    if values.dtype.kind not in "iu":
        listed = "`, `".join(names)
        raise ValueError(f"`{listed}` must be whole numbers")
    return values.astype(np.int64)


def refuse_bounds(space: str, **limits: Limit) -> None:
    """Spaces of bits take no ranges."""
    given = [name for name, limit in limits.items() if limit is not None]
    if given:
        raise ConfigurationError(
            f"the space `{space}` has one bit per part and takes no range for `{'`, `'.join(given)}`; `small` and `medium` do."
        )
