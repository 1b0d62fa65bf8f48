"""Architecture → vector."""

from secateur.encodings.base import Encoding
from secateur.encodings.unit_cube import UnitCube

__all__ = ["Encoding", "UnitCube"]
