"""`mobilenet`: MobileNetV3 networks in stages of inverted residual layers (Howard et al. 2019; Lee et al. 2022, section 4)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.errors import ConfigurationError
from secateur.rng import Generator
from secateur.spaces.domains import Options, Range, options
from secateur.spaces.product import ProductSpace, chosen

#: The ranges of the paper, which are the defaults: (5 + 25 + 125 + 625)⁵ networks.
PAPER: dict[str, Any] = {"stages": 5, "layers": "1..4", "expansion": (2, 4, 6, 8, 10)}

Stages = Sequence[Sequence[int]]


def architecture(expansions: Stages) -> Architecture:
    """The architecture whose stages have layers of these expansions, whatever the bounds of a space."""
    choices = {"expansions": [[int(e) for e in stage] for stage in expansions]}
    return Architecture.of("mobilenet", choices, digest("mobilenet", json.dumps(choices, separators=(",", ":"))))


def expansions_of(architecture: Architecture) -> tuple[tuple[int, ...], ...]:
    """The expansions of each layer, by stage. Raises ConfigurationError for an architecture of another space."""
    if architecture.space != "mobilenet":
        raise ConfigurationError(f"`space` must be `mobilenet` for a network of images, got `{architecture.space}`.")
    stages: Any = architecture["expansions"]
    return tuple(tuple(stage) for stage in stages)


class Mobilenet(ProductSpace):
    """For each stage its number of layers, and for each layer the ratio by which it widens its input; kernels are 3 × 3.

    A vector has a place for each layer that there may be, stage after stage: 0 where there is none, else the number of its
    expansion, from 1. Layers are added and taken away at a stage's end, so a stage is a run of numbers and then zeros.
    """

    name = "mobilenet"

    def __init__(
        self, *, stages: int = PAPER["stages"], layers: Options = PAPER["layers"], expansion: Options = PAPER["expansion"]
    ) -> None:
        if not isinstance(stages, int) or not 1 <= stages <= 100:
            raise ConfigurationError(f"`stages` must be a whole number from 1 to 100, got {stages!r}.")
        self.depths, self.expansions = options(layers, "layers", most=100), options(expansion, "expansion", most=1000)
        if self.depths != tuple(range(self.depths[0], self.depths[-1] + 1)):
            raise ConfigurationError(f"`layers` must be a range without gaps, as in 1..4, got {list(self.depths)}.")
        self.stages, self.places = stages, self.depths[-1]
        one = [Range(int(place < self.depths[0]), len(self.expansions)) for place in range(self.places)]
        super().__init__(one * stages)

    # Architectures and vectors.

    def from_values(self, values: np.ndarray) -> Architecture:
        rows = values.reshape(self.stages, self.places).tolist()
        return architecture([[self.expansions[v - 1] for v in row if v] for row in rows])

    def values(self, architecture: Architecture) -> np.ndarray:
        return self._values_of(dict(architecture.choices))

    def _values_of(self, choices: Mapping[str, Any]) -> np.ndarray:
        """Raises ValueError, KeyError or TypeError where the choices are not even of the right form."""
        stages = list(choices["expansions"])
        if len(stages) != self.stages:
            raise ValueError(f"it has {len(stages)} stages, the space has {self.stages}")
        out = np.zeros((self.stages, self.places), dtype=np.int64)
        for row, stage in zip(out, stages, strict=True):
            if len(stage) not in self.depths:
                raise ValueError(f"it has a stage of {len(stage)} layers, the space {self.depths[0]}..{self.places}")
            if any(isinstance(e, bool) or e not in self.expansions for e in stage):
                raise ValueError(f"its expansions must be of {list(self.expansions)}, got {list(stage)}")
            row[: len(stage)] = [self.expansions.index(e) + 1 for e in stage]
        return out.reshape(-1)

    def make(self, choices: Mapping[str, Any]) -> Architecture:
        try:
            return self.from_values(self._values_of(choices))
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(
                f"`{dict(choices)}` is not an architecture of the space `{self.name}`: {error}."
            ) from error

    def from_indices(self, indices: np.ndarray) -> Architecture:
        """The architecture of positions (d,), repaired: what stands behind a place without a layer is left out."""
        return self.from_values(self._repaired(self._low + np.asarray(indices, dtype=np.int64)))

    def contains_values(self, values: np.ndarray) -> bool:
        return super().contains_values(values) and bool(np.array_equal(self._repaired(values), values))

    def active(self, architecture: Architecture) -> np.ndarray:
        return np.asarray(self.values(architecture) > 0)

    def _repaired(self, values: np.ndarray) -> np.ndarray:
        rows = values.reshape(self.stages, self.places)
        return np.asarray(np.where(np.cumprod(rows > 0, axis=1), rows, 0).reshape(-1))

    def _depths(self, values: np.ndarray) -> np.ndarray:
        return np.asarray((values.reshape(self.stages, self.places) > 0).sum(axis=1))

    # Moves.

    def sample_values(self, n: int, rng: Generator) -> np.ndarray:
        """`n` vectors (n, d): the depth of each stage uniform, then the expansion of each layer."""
        depths = rng.integers(self.depths[0], self.places + 1, size=(n, self.stages, 1))
        drawn = rng.integers(1, len(self.expansions) + 1, size=(n, self.stages, self.places))
        return np.asarray(np.where(np.arange(self.places) < depths, drawn, 0).reshape(n, self.dimensions))

    def mutate(self, architecture: Architecture, rng: Generator, probability: float | None = None) -> Architecture:
        """A layer gets another expansion, the last of a stage is left out, or one is added behind it."""
        values = self.values(architecture)
        places = np.array([d for d in range(self.dimensions) if self._others(values, d)], dtype=np.int64)
        if not len(places):
            return architecture
        changed = values
        # From the back, so that a stage that loses its last layer loses no other that has just been changed.
        for d in sorted(chosen(places, rng, probability).tolist(), reverse=True):
            others = self._others(values, d)
            changed = changed.copy()
            changed[d] = others[int(rng.integers(len(others)))]
        return self.from_values(self._repaired(changed))

    def _others(self, values: np.ndarray, d: int) -> tuple[int, ...]:
        """The other numbers that a place may have, all else being equal."""
        stage, place = divmod(d, self.places)
        depth = int(self._depths(values)[stage])
        if place > depth:
            return ()
        found = tuple(v for v in range(1, len(self.expansions) + 1) if v != values[d])
        return (0, *found) if place == depth - 1 and depth > self.depths[0] else found

    def crossover(self, a: Architecture, b: Architecture, rng: Generator) -> Architecture:
        """The depth of each stage from either parent, each layer from either that has it."""
        x, y = self.values(a), self.values(b)
        depths = np.where(rng.random(self.stages) < 0.5, self._depths(x), self._depths(y))
        mixed = np.where(rng.random(self.dimensions) < 0.5, x, y)
        mixed = np.where(mixed == 0, np.maximum(x, y), mixed).reshape(self.stages, self.places)
        return self.from_values(np.where(np.arange(self.places) < depths[:, None], mixed, 0).reshape(-1))

    def neighbours(self, architecture: Architecture) -> Iterator[Architecture]:
        values = self.values(architecture)
        for d in range(self.dimensions):
            for new in self._others(values, d):
                changed = values.copy()
                changed[d] = new
                yield self.from_values(changed)

    def smallest(self) -> Architecture:
        return architecture([[self.expansions[0]] * self.depths[0]] * self.stages)

    def size(self) -> int:
        return int(sum(len(self.expansions) ** depth for depth in self.depths) ** self.stages)

    def every(self) -> Iterator[Architecture]:
        kinds = [k for depth in self.depths for k in itertools.product(self.expansions, repeat=depth)]
        return (architecture(stages) for stages in itertools.product(kinds, repeat=self.stages))
