"""Which sub-networks a training step updates."""

from secateur.training.strategies.base import Draw, Strategy
from secateur.training.strategies.papers import Full, InPlaceDistillation, Random, RandomLinear, Sandwich, Standard

STRATEGIES: dict[str, type[Strategy]] = {
    s.name: s for s in (Standard, Random, RandomLinear, Sandwich, InPlaceDistillation, Full)
}

__all__ = ["STRATEGIES", "Draw", "Full", "InPlaceDistillation", "Random", "RandomLinear", "Sandwich", "Standard", "Strategy"]
