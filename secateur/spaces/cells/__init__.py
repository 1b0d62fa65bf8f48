"""Spaces of cells: small graphs that a network repeats, as the tables of trained networks have them."""

from secateur.spaces.cells.base import CellSpace
from secateur.spaces.cells.cate_outside import CateOutside
from secateur.spaces.cells.darts import Darts
from secateur.spaces.cells.graph import Graph
from secateur.spaces.cells.nasbench101 import NasBench101
from secateur.spaces.cells.nasbench201 import NasBench201

__all__ = ["CateOutside", "CellSpace", "Darts", "Graph", "NasBench101", "NasBench201"]
