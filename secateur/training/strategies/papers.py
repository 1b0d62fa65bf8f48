"""The six strategies of Klein et al. (2024, section 4.1.3), and `kd` as their first code had it."""

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
    takes_k = True

    def draws(self, step: int, steps: int, rng: Generator) -> list[Draw]:
        return [Draw(), self.smallest(), *self.random(self.k, rng)]


class InPlaceDistillation(Strategy):
    """k random ones, distilled from the whole network. The paper leaves open whether that is trained as well.

    By equation 2 we train it, for a head that is never trained teaches nothing; the authors' code does not.
    """

    name = "kd"
    takes_k = True

    def draws(self, step: int, steps: int, rng: Generator) -> list[Draw]:
        return [Draw(teaches=True), *self.random(self.k, rng, distilled=True)]


class LinearDistillation(Strategy):
    """What `kd` was in the authors' first code: k distilled random ones with probability step / steps, else the whole network.

    There the network that teaches is trained, in the other steps; in their later code it never is.
    """

    name = "kd-linear"
    takes_k = True

    def draws(self, step: int, steps: int, rng: Generator) -> list[Draw]:
        if rng.random() >= step / steps:
            return [Draw()]
        return [Draw(teaches=True), *self.random(self.k, rng, distilled=True)]


class Full(Strategy):
    """The sandwich, its smaller members distilled from the largest."""

    name = "full"
    takes_k = True

    def draws(self, step: int, steps: int, rng: Generator) -> list[Draw]:
        return [Draw(), self.smallest(distilled=True), *self.random(self.k, rng, distilled=True)]
