"""A strategy says which sub-networks a training step updates. How they are run and distilled is the trainer's part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from secateur.errors import ConfigurationError
from secateur.rng import Generator
from secateur.spaces.pruning.base import PruningSpace
from secateur.spaces.pruning.plan import Plan


@dataclass(frozen=True)
class Draw:
    """One pass of a step: the whole network (`plan` None) or a sub-network, distilled from the whole one's logits or not.

    A pass that only `teaches` is there for its logits: the authors' way to distil does not train it.
    """

    plan: Plan | None = None
    distilled: bool = False
    teaches: bool = False


class Strategy(ABC):
    """One of the papers' ways to fine-tune a super-network (Klein et al. 2024, sections 3.2.1 and 4.1.3)."""

    name: ClassVar[str]
    #: Whether `k` says how many sub-networks it draws.
    takes_k: ClassVar[bool] = False

    def __init__(self, space: PruningSpace, k: int = 2) -> None:
        if k < 0:
            raise ConfigurationError(f"`k`, the number of random sub-networks a step, must not be negative, got {k}.")
        self.space = space
        self.k = k

    @abstractmethod
    def draws(self, step: int, steps: int, rng: Generator) -> list[Draw]:
        """The passes of step `step` of `steps`, in order: the whole network comes before those distilled from it."""

    def random(self, n: int, rng: Generator, *, distilled: bool = False) -> list[Draw]:
        return [Draw(self.space.plan(a), distilled) for a in self.space.sample_many(n, rng)]

    def smallest(self, *, distilled: bool = False) -> Draw:
        return Draw(self.space.plan(self.space.smallest()), distilled)
