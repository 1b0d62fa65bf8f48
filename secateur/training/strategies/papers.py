"""The six strategies of Klein et al. (2024, section 4.1.3)."""

from __future__ import annotations

from secateur.rng import Generator
from secateur.training.strategies.base import Draw, Strategy


class Standard(Strategy):
    """Ordinary fine-tuning: the whole network."""

    name = "standard"

    def draws(self, step: int, steps: int, rng: Generator) -> list[Draw]:
        return [Draw()]


class Random(Strategy):
    """One random sub-network."""

    name = "random"

    def draws(self, step: int, steps: int, rng: Generator) -> list[Draw]:
        return self.random(1, rng)


class RandomLinear(Strategy):
    """One random sub-network with probability step / steps, else the whole network."""

    name = "random-linear"

    def draws(self, step: int, steps: int, rng: Generator) -> list[Draw]:
        return self.random(1, rng) if rng.random() < step / steps else [Draw()]


class Sandwich(Strategy):
    """The largest, the smallest and k random ones."""

    name = "sandwich"

    def draws(self, step: int, steps: int, rng: Generator) -> list[Draw]:
        return [Draw(), self.smallest(), *self.random(self.k, rng)]


class InPlaceDistillation(Strategy):
    """k random ones, distilled from the whole network, which is trained as well.

    The paper leaves open whether it is. Its teacher is 'obtained for free', and a teacher whose head is never trained teaches
    nothing: so it is.
    """

    name = "kd"

    def draws(self, step: int, steps: int, rng: Generator) -> list[Draw]:
        return [Draw(), *self.random(self.k, rng, distilled=True)]


class Full(Strategy):
    """The sandwich, its smaller members distilled from the largest."""

    name = "full"

    def draws(self, step: int, steps: int, rng: Generator) -> list[Draw]:
        return [Draw(), self.smallest(distilled=True), *self.random(self.k, rng, distilled=True)]
