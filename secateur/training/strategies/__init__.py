"""Which sub-networks a training step updates."""

from secateur.training.strategies.base import Draw, Strategy
from secateur.training.strategies.papers import (
    Full,
    InPlaceDistillation,
    LinearDistillation,
    Random,
    RandomLinear,
    Sandwich,
    Standard,
)

__all__ = [
    "Draw",
    "Full",
    "InPlaceDistillation",
    "LinearDistillation",
    "Random",
    "RandomLinear",
    "Sandwich",
    "Standard",
    "Strategy",
]
