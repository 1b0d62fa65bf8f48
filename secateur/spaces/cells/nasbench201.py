"""`nasbench201`: four nodes, one of five operations on each of the six edges between them (Dong & Yang 2020)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.errors import ConfigurationError
from secateur.spaces.cells.base import CellSpace, chosen_operations
from secateur.spaces.cells.frame import Frame
from secateur.spaces.cells.graph import Graph
from secateur.spaces.domains import Range
from secateur.spaces.product import ProductSpace

#: In the benchmark's order.
OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
#: In the order of the benchmark's strings: from node to node.
EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
_FORM = "|{}~0|+|{}~0|{}~1|+|{}~0|{}~1|{}~2|"
_PATTERN = re.compile(re.escape(_FORM).replace(r"\{\}", "([^|~+]+)"))
#: Sides of the kernels that are trained.
KERNELS = {"nor_conv_1x1": 1, "nor_conv_3x3": 3}
#: The channels of the three stages, and the cells of each.
STAGES, CELLS = (16, 32, 64), 5
CLASSES = 10


class NasBench201(ProductSpace, CellSpace):
    """A cell is `cell`, the benchmark's string: `|op~0|+|op~0|op~1|+|op~0|op~1|op~2|`, operations on edges.

    With `merged`, strings that the benchmark's authors count as the same network, 6,466 of 15,625, share a key. The benchmark
    trained each string for itself and counts the parameters of edges that lead nowhere: `merged=False` gives each its own key.
    Fewer `operations` make a smaller space.
    """

    name = "nasbench201"

    def __init__(self, merged: bool = True, *, operations: Sequence[str] = OPERATIONS) -> None:
        self.operations = chosen_operations(operations, OPERATIONS)
        self.merged = merged
        super().__init__([Range(0, len(self.operations) - 1)] * len(EDGES))

    def from_values(self, values: np.ndarray) -> Architecture:
        return _architecture(tuple(self.operations[number] for number in values.tolist()), self.merged)

    def values(self, architecture: Architecture) -> np.ndarray:
        return np.array([self._number(name) for name in _names(architecture["cell"])], dtype=np.int64)

    def _number(self, name: str) -> int:
        if name not in self.operations:
            raise ValueError(f"unknown operation `{name}`; known are {', '.join(self.operations)}")
        return self.operations.index(name)

    def make(self, choices: Mapping[str, Any]) -> Architecture:
        try:
            numbers = [self._number(name) for name in _names(choices["cell"])]
        except KeyError:
            raise ConfigurationError(f"the cell is not one of `{self.name}`: there is no `cell`.") from None
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"the cell is not one of `{self.name}`: {error}.") from None
        return self.from_values(np.array(numbers))

    def graphs(self, architecture: Architecture) -> dict[str, Graph]:
        """Operations on the nodes: an edge's operation takes what those on the edges into its source give."""
        return {"cell": Graph(("input", *_names(architecture["cell"]), "output"), _flow())}

    def recognised(self, graph: Graph) -> str | None:
        first, *names, last = graph.operations
        whole = (first, last) == ("input", "output") and set(graph.edges) == set(_flow())
        return _architecture(tuple(names), self.merged).key if whole and set(names) <= set(self.operations) else None

    @property
    def frame(self) -> Frame:
        return Frame(
            roles=("cell",),
            nodes=len(EDGES) + 2,
            names=("input", *self.operations, "output"),
            edges=(),
            most_edges=0,
            chosen=tuple(range(1, len(EDGES) + 1)),
            passing=tuple(name for name in self.operations if name != "none"),
            inputs=("input",),
            lengths=(1, 3),
            most_paths=4,
        )

    def distance(self, a: Architecture, b: Architecture) -> int:
        """How many edges have another operation."""
        return int(np.sum(self.values(a) != self.values(b)))

    def parameters(self, architecture: Architecture) -> int:
        """Stem, three stages of five cells with a residual block between, and classifier, for ten classes."""
        names = _names(architecture["cell"])
        total = _convolution(3, 3, STAGES[0])
        for width in STAGES:
            total += CELLS * sum(_convolution(KERNELS[name], width, width) for name in names if name in KERNELS)
        for narrow, wide in pairwise(STAGES):
            total += _convolution(3, narrow, wide) + _convolution(3, wide, wide) + narrow * wide
        return total + 2 * STAGES[-1] + STAGES[-1] * CLASSES + CLASSES


def same_network(names: Sequence[str]) -> str:
    """What a cell computes, as its authors write it to find isomorphic cells: nothing is `#`, a skip is what it takes, and sums
    are sorted. (`#` stays in a sum, so that some equal networks count as two.)"""
    nodes = ["0", *["#"] * 3]
    for node in (1, 2, 3):
        terms = []
        for (source, target), name in zip(EDGES, names, strict=True):
            if target == node:
                taken = nodes[source]
                gone = name == "none" or taken == "#"
                terms.append("#" if gone else taken if name == "skip_connect" else f"({taken})@{name}")
        nodes[node] = "+".join(sorted(terms))
    return nodes[3]


@lru_cache(maxsize=1)
def _flow() -> tuple[tuple[int, int], ...]:
    """From operation to operation, the input first and the output last."""
    last = len(EDGES) + 1
    edges = [(0, i) for i, (source, _) in enumerate(EDGES, 1) if source == 0]
    edges += [(i, j) for i, (_, a) in enumerate(EDGES, 1) for j, (b, _) in enumerate(EDGES, 1) if a == b]
    return (*edges, *((i, last) for i, (_, target) in enumerate(EDGES, 1) if target == 3))


@lru_cache(maxsize=2**16)
def _architecture(names: tuple[str, ...], merged: bool) -> Architecture:
    text = _FORM.format(*names)
    return Architecture.of("nasbench201", {"cell": text}, digest("nasbench201", same_network(names) if merged else text))


@lru_cache(maxsize=2**16)
def _names(text: Any) -> tuple[str, ...]:
    """The operations of a string. Raises ValueError where it has another form."""
    found = _PATTERN.fullmatch(text)
    if found is None:
        raise ValueError(f"it must look like {_FORM.format(*['op'] * 6)}, got `{text}`")
    return found.groups()


def _convolution(kernel: int, incoming: int, outgoing: int) -> int:
    """With the scales and shifts of its normalisation."""
    return kernel * kernel * incoming * outgoing + 2 * outgoing
