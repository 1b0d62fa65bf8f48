"""Spaces of sub-networks of a pre-trained Transformer."""

from secateur.spaces.pruning.base import PruningSpace, plan_of
from secateur.spaces.pruning.large import Large
from secateur.spaces.pruning.layer import Layer, Sublayer
from secateur.spaces.pruning.medium import Medium
from secateur.spaces.pruning.plan import Kept, LayerPlan, Plan, Shape
from secateur.spaces.pruning.small import Small

__all__ = ["Kept", "Large", "Layer", "LayerPlan", "Medium", "Plan", "PruningSpace", "Shape", "Small", "Sublayer", "plan_of"]
