"""Architecture → vector."""

from secateur.encodings.adjacency import Adjacency, AdjacencyCategorical, AdjacencyContinuous
from secateur.encodings.base import Encoding
from secateur.encodings.graph import GraphEncoding
from secateur.encodings.path import Path, PathCategorical, PathContinuous, PathTruncated
from secateur.encodings.unit_cube import UnitCube

__all__ = [
    "Adjacency",
    "AdjacencyCategorical",
    "AdjacencyContinuous",
    "Encoding",
    "GraphEncoding",
    "Path",
    "PathCategorical",
    "PathContinuous",
    "PathTruncated",
    "UnitCube",
]
