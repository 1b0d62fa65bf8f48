"""Toy problems: spaces with closed-form costs, and the true front by brute force. No torch."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from secateur.architecture import Architecture
from secateur.objectives import Objective, matrix
from secateur.pareto import hypervolume, non_dominated
from secateur.search.base import Searcher
from secateur.spaces import decoder_counts
from secateur.spaces.base import Space
from secateur.spaces.decoder_sizes import Sizes
from secateur.spaces.pruning import Large, Layer, Medium, PruningSpace, Shape, Small, Sublayer
from secateur.trial import Trial

#: Of toy decoders.
SIZES = Sizes(vocabulary=1000, positions=64)
#: Small enough to enumerate every space of.
SHAPE = Shape(layers=2, heads=2, units=3)

#: Every pruning space there is, by name.
SPACES: Mapping[str, type[Small | Medium | Layer | Sublayer | Large]] = {
    kind.name: kind for kind in (Small, Medium, Layer, Sublayer, Large)
}


@dataclass(frozen=True)
class Problem(ABC):
    """A space, objectives, and `evaluate`: made-up values of any architecture, more than there are objectives."""

    space: Space
    objectives: tuple[Objective, ...]

    @abstractmethod
    def evaluate(self, architecture: Architecture) -> dict[str, float]:
        """Named values, the same each time."""

    def seeking(self, *objectives: Objective) -> Self:
        """The same with other objectives."""
        return replace(self, objectives=objectives)

    def points(self, architectures: Iterable[Architecture]) -> np.ndarray:
        """The (n, m) objective values, minimised."""
        return matrix([self.evaluate(a) for a in architectures], self.objectives)

    def front(self) -> np.ndarray:
        """The true front (k, m), each point once, sorted; by brute force."""
        points = self.points(self.space.every())
        return np.asarray(np.unique(points[non_dominated(points)], axis=0))

    def reference(self) -> np.ndarray:
        """A point (m,) worse than every architecture of the space."""
        return np.asarray(self.points(self.space.every()).max(axis=0) + 1e-3)

    def result(self, architecture: Architecture, number: int | None = None, **fields: Any) -> Trial:
        """The complete result of an architecture, unless `fields` say otherwise; `number` is the id that it was asked by."""
        return Trial(number, architecture, **{"values": self.evaluate(architecture), **fields})

    def run(self, searcher: Searcher, trials: int) -> list[Architecture]:
        """Ask, evaluate and tell, one at a time: the architectures asked, fewer than `trials` where the searcher ends."""
        asked = []
        for _ in range(trials):
            for proposal in searcher.ask():
                asked.append(proposal.architecture)
                searcher.tell(self.result(proposal.architecture, proposal.id))
        return asked

    def hypervolume(self, architectures: Sequence[Architecture], reference: np.ndarray) -> float:
        return hypervolume(self.points(architectures), reference)


@dataclass(frozen=True)
class Toy(Problem):
    """Costs that every plan has, without a network: error falls with what is kept, by less and less; all else rises with it."""

    space: PruningSpace

    @classmethod
    def of(cls, space: PruningSpace, *names: str) -> Toy:
        return cls(space, tuple(Objective(n) for n in names or ("error", "parameters")))

    def evaluate(self, architecture: Architecture) -> dict[str, float]:
        """Made-up error, parameters, macs and latency of an architecture."""
        shape, plan = self.space.shape, self.space.plan(architecture)
        shares = [(p.heads.count / shape.heads, p.units.count / shape.units) for p in plan.layers]
        quality = sum(math.sqrt(h) + 0.6 * math.sqrt(u) for h, u in shares) / shape.layers
        return {
            "error": math.exp(-2 * quality),
            "parameters": sum(4 * h + 8 * u for h, u in shares),  # in squares of the width, as in a Transformer's layer
            "macs": float(sum(p.heads.count**2 + p.units.count for p in plan.layers)),
            "latency": len(plan.layers) + 0.25 * sum(h > 0 for h, _ in shares),
        }


@dataclass(frozen=True)
class ToyDecoders(Problem):
    """Decoders, whose dimensions depend on each other, by what they count."""

    objectives: tuple[Objective, ...] = (Objective("decoder_parameters", "max"), Objective("macs"))

    def evaluate(self, architecture: Architecture) -> dict[str, float]:
        """Decoder parameters, MACs, parameters and layers of an architecture."""
        return {
            "decoder_parameters": float(decoder_counts.decoder_parameters(architecture)),
            "macs": float(decoder_counts.macs(architecture, SIZES, 1, 64)),
            "parameters": float(decoder_counts.parameters(architecture, SIZES)),
            "latency": float(len(tuple(architecture["heads"]))),  # type: ignore[arg-type]
        }


def toy(space: str = "small", *objectives: str, shape: Shape = SHAPE) -> Toy:
    """The toy problem on a pruning space by name."""
    return Toy.of(SPACES[space](shape), *objectives)
