"""`cate-outside`: cells with more edges than those an encoding was trained on (White et al. 2020; Yan 2022, chapter 4)."""

from __future__ import annotations

from secateur.spaces.cells.nasbench101 import NasBench101
from secateur.spaces.domains import Range


class CateOutside(NasBench101):
    """NAS-Bench-101's cells of 6 nodes and 7 to 9 edges, with their keys.

    Encodings are trained on those of at most 6 nodes and 7 edges, `training()`, and tested here. As the authors' code draws the
    line, cells of 6 nodes and 7 edges are in both; `CateOutside(edges="8..9")` has none of the training's.
    """

    name = "cate-outside"

    def __init__(self, nodes: str | Range = "6", edges: str | Range = "7..9") -> None:
        super().__init__(nodes, edges)

    @staticmethod
    def training() -> NasBench101:
        """The space that encodings are trained on."""
        return NasBench101(nodes="2..6", edges="1..7")
