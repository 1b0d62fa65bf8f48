"""A pre-trained network as the container of all its sub-networks."""

from secateur.supernet.order import Importance, Order, importance, reorder
from secateur.supernet.supernet import Supernet
from secateur.supernet.sweep import sweep, sweeping

__all__ = ["Importance", "Order", "Supernet", "importance", "reorder", "sweep", "sweeping"]
