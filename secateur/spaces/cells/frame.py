"""What the graphs of a space of cells have in common: encodings leave out what all of them share."""

from __future__ import annotations

from typing import NamedTuple


class Frame(NamedTuple):
    """The graphs of a space, the largest given; in smaller ones the last nodes before the output are absent."""

    #: The cells of an architecture, as `graphs` names them.
    roles: tuple[str, ...]
    #: How many nodes the largest graph has, and all names that nodes may have.
    nodes: int
    names: tuple[str, ...]
    #: The edges that a graph may have or lack, and how many of them it has at most.
    edges: tuple[tuple[int, int], ...]
    most_edges: int
    #: The nodes whose operation is chosen, and the operations that pass something on.
    chosen: tuple[int, ...]
    passing: tuple[str, ...]
    #: The names of nodes that paths begin at, the fewest and the most operations on a path, and the most paths of a graph.
    inputs: tuple[str, ...]
    lengths: tuple[int, int]
    most_paths: int
