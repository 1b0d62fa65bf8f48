"""A pre-trained network as the container of all its sub-networks."""

from secateur.supernet.evaluating import evaluating
from secateur.supernet.order import Importance, Order, importance, reorder
from secateur.supernet.supernet import Supernet
from secateur.supernet.sweep import sweep, sweeping

__all__ = ["Importance", "Order", "Supernet", "evaluating", "importance", "reorder", "sweep", "sweeping"]
