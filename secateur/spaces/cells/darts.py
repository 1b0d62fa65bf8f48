"""`darts`: a normal and a reduction cell of four nodes with two inputs each (Liu et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.errors import ConfigurationError
from secateur.rng import Generator
from secateur.spaces.cells.base import CellSpace, chosen_operations
from secateur.spaces.cells.darts_cells import OPERATIONS, CellRows, Genotype
from secateur.spaces.cells.frame import Frame
from secateur.spaces.cells.graph import Graph
from secateur.spaces.domains import Range
from secateur.spaces.product import ProductSpace

ROLES = ("normal", "reduction")
#: The two cells before.
INPUTS = ("c_{k-2}", "c_{k-1}")
#: Per position, of C = 16 channels: a separable convolution is k² · C + C² twice, a dilated one once.
MULTIPLY_ADDS = {
    f"{kind}_conv_{k}x{k}": times * (k**2 * 16 + 16**2) for kind, times in (("sep", 2), ("dil", 1)) for k in (3, 5)
}
#: More have more than 2⁶³ cells.
MOST_NODES = 4


class Darts(ProductSpace, CellSpace):
    """A cell is written as DARTS does: eight pairs (operation, place), two for each node.

    With `shared`, one cell has both roles (Yan 2022, chapters 3 and 4); its architectures are spelt as in the whole space.
    Cells that differ only in the order of their nodes share a key. A million can be drawn at once: `sample_values` gives rows
    of whole numbers, `keys` their identities, `sample_many` architectures. Fewer `nodes` or `operations` make a smaller space.
    """

    name = "darts"

    def __init__(self, shared: bool = False, *, nodes: int = MOST_NODES, operations: Sequence[str] = OPERATIONS) -> None:
        if not 1 <= nodes <= MOST_NODES:
            raise ConfigurationError(f"`nodes` must lie in 1..{MOST_NODES}, got {nodes}.")
        self.operations = chosen_operations(operations, OPERATIONS)
        self.shared = shared
        self._rows = CellRows(nodes, self.operations)
        operation = Range(0, len(self.operations) - 1)
        cell = [domain for pairs in self._rows.pairs for domain in (Range(0, len(pairs) - 1), operation, operation)]
        super().__init__(cell if shared else [*cell, *cell])

    def _cells(self, values: np.ndarray) -> list[np.ndarray]:
        """The rows of the normal and of the reduction cells."""
        return [values, values] if self.shared else np.split(values, 2, axis=1)

    def keys(self, values: np.ndarray) -> list[str]:
        """The keys of vectors (n, d)."""
        normal, reduction = (self._rows.codes(rows).tolist() for rows in self._cells(values))
        return [self._key(n, r) for n, r in zip(normal, reduction, strict=True)]

    def _key(self, normal: int, reduction: int) -> str:
        return digest("darts", f"{self._rows.nodes} {normal} {reduction}")

    def from_many(self, values: np.ndarray) -> list[Architecture]:
        """The architectures of vectors (n, d)."""
        normal, reduction = (self._rows.genotypes(rows) for rows in self._cells(values))
        return [
            Architecture(self.name, (("normal", n), ("reduction", r)), key)
            for n, r, key in zip(normal, reduction, self.keys(values), strict=True)
        ]

    def from_values(self, values: np.ndarray) -> Architecture:
        (normal, n), (reduction, r) = (self._rows.one(tuple(rows[0].tolist())) for rows in self._cells(values[None]))
        return Architecture(self.name, (("normal", normal), ("reduction", reduction)), self._key(n, r))

    def values(self, architecture: Architecture) -> np.ndarray:
        return np.array(self._row(architecture["normal"], architecture["reduction"]), dtype=np.int64)

    def _row(self, normal: Any, reduction: Any) -> tuple[int, ...]:
        if self.shared and normal != reduction:
            raise ValueError("its normal and its reduction cell differ, and the space has one for both")
        return self._rows.row(normal) if self.shared else self._rows.row(normal) + self._rows.row(reduction)

    def make(self, choices: Mapping[str, Any]) -> Architecture:
        try:
            row = self._row(*(tuple(map(tuple, choices[role])) for role in ROLES))
        except KeyError as missing:
            raise ConfigurationError(f"the cells are not of `{self.name}`: there is no `{missing.args[0]}`.") from None
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"the cells are not of `{self.name}`: {error}.") from None
        return self.from_values(np.array(row, dtype=np.int64))

    def sample_many(self, n: int, rng: Generator) -> list[Architecture]:
        return self.from_many(self.sample_values(n, rng))

    def graphs(self, architecture: Architecture) -> dict[str, Graph]:
        """Operations on the nodes, with a `sum` for each node of the cell: 15 nodes, as in Yan (2022)."""
        found: dict[str, Any] = {role: architecture[role] for role in ROLES}
        if self.shared:
            return {"cell": _graph(found["normal"])}
        return {role: _graph(genotype) for role, genotype in found.items()}

    def recognised(self, graph: Graph) -> str | None:
        into = [[x for x, y in graph.edges if y == node] for node in range(len(graph.operations))]
        where = {0: 0, 1: 1, **{4 + 3 * node: 2 + node for node in range(self._rows.nodes)}}
        places = [2 + 3 * node + side for node in range(self._rows.nodes) for side in (0, 1)]
        if any(len(into[place]) != 1 or into[place][0] not in where for place in places):
            return None
        genotype = tuple((graph.operations[place], where[into[place][0]]) for place in places)
        try:
            row = self._rows.row(genotype)
        except ValueError:
            return None
        whole = _graph(genotype)
        same = graph.operations == whole.operations and set(graph.edges) == set(whole.edges)
        return str(self._rows.one(row)[1]) if same else None

    @property
    def frame(self) -> Frame:
        nodes = self._rows.nodes
        places = [0, 1, *(4 + 3 * node for node in range(nodes))]  # in the graph
        earlier = [(places[x], 2 + 3 * node) for node in range(1, nodes) for x in range(1 + node)]
        later = [(places[x], 3 + 3 * node) for node in range(1, nodes) for x in range(1, 2 + node)]
        most = [1, 1]  # paths to each place: each node takes the two places with the most
        for _ in range(nodes):
            most.append(most[-1] + most[-2])
        return Frame(
            roles=("cell",) if self.shared else ROLES,
            nodes=3 + 3 * nodes,
            names=(*INPUTS, *self.operations, "sum", "c_{k}"),
            edges=(*earlier, *later),
            most_edges=2 * (nodes - 1),
            chosen=tuple(2 + 3 * node + side for node in range(nodes) for side in (0, 1)),
            passing=self.operations,
            inputs=INPUTS,
            lengths=(1, nodes),
            most_paths=sum(most[2:]),
        )

    def distance(self, a: Architecture, b: Architecture) -> int:
        """The inputs that have another operation or place, over the best pairing of the nodes of both cells."""
        pairs: list[Any] = [(a[role], b[role]) for role in (ROLES[:1] if self.shared else ROLES)]
        return sum(self._rows.distance(x, y) for x, y in pairs)

    def parameters(self, architecture: Architecture) -> None:
        """No benchmark fixes the network around the cells."""
        return None

    def costs(self, architectures: Sequence[Architecture]) -> np.ndarray:
        """Multiply-adds of each cell's convolutions per position, where a network has 16 channels."""
        roles = ROLES[:1] if self.shared else ROLES
        cells: list[Any] = [a[role] for a in architectures for role in roles]
        found = [sum(MULTIPLY_ADDS.get(name, 0) for name, _ in cell) for cell in cells]
        return np.array(found, dtype=np.float64).reshape(-1, len(roles))


def _graph(genotype: Genotype) -> Graph:
    names, edges = [*INPUTS], []
    where = {0: 0, 1: 1}
    for node in range(len(genotype) // 2):
        for name, place in genotype[2 * node : 2 * node + 2]:
            edges.append((where[place], len(names)))
            names.append(name)
        where[2 + node] = len(names)
        edges += [(len(names) - 2, len(names)), (len(names) - 1, len(names))]
        names.append("sum")
    edges += [(place, len(names)) for node, place in where.items() if node > 1]
    return Graph((*names, "c_{k}"), tuple(edges))
