"""Cells of DARTS up to isomorphism: nodes that each are the sum of two operations on two of the places before them.

The places are 0 and 1 for the two cells before, then one for each node. A cell is a row of three whole numbers per node: which
pair of places it takes, then its two operations, that on the earlier place first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

OPERATIONS = (
    "max_pool_3x3",
    "avg_pool_3x3",
    "skip_connect",
    "sep_conv_3x3",
    "sep_conv_5x5",
    "dil_conv_3x3",
    "dil_conv_5x5",
)

#: (operation, place) for each input, two for each node.
Genotype = tuple[tuple[str, int], ...]


class CellRows:
    """The rows of cells of so many nodes with these operations."""

    def __init__(self, nodes: int, operations: tuple[str, ...]) -> None:
        self.nodes, self.operations = nodes, operations
        #: The pairs of places that each node may take.
        self.pairs = [list(itertools.combinations(range(2 + node), 2)) for node in range(nodes)]
        ops = list(itertools.product(operations, repeat=2))
        #: For each node the two inputs that pair and operations make, by their number.
        self._inputs = [[((a, x), (b, y)) for x, y in pairs for a, b in ops] for pairs in self.pairs]
        #: Codes count operations as the whole space does.
        self._numbers = np.array([OPERATIONS.index(name) for name in operations])
        self._units = len(OPERATIONS) ** np.arange(2 * nodes)[::-1]
        self._wirings = [math.prod(len(pairs) for pairs in self.pairs[node + 1 :]) for node in range(nodes)]
        self._orders = lru_cache(maxsize=2**10)(self._orders_of)
        #: How DARTS writes the cell of a row, and its code.
        self.one = lru_cache(maxsize=2**16)(self._one)
        #: The row of a cell as DARTS writes it.
        self.row = lru_cache(maxsize=2**16)(self._row_of)

    def __reduce__(self) -> tuple[type[CellRows], tuple[int, tuple[str, ...]]]:
        return CellRows, (self.nodes, self.operations)  # what is remembered stays with its process

    def codes(self, rows: np.ndarray) -> np.ndarray:
        """A whole number (n,) for each cell (n, 3 × nodes): equal for those that differ only in the order of their nodes."""
        wiring = rows[:, ::3] @ np.array(self._wirings)
        operations = self._numbers[np.delete(rows, np.s_[::3], axis=1)]
        out = np.empty(len(rows), dtype=np.int64)
        for number in np.unique(wiring).tolist():
            chosen = np.flatnonzero(wiring == number)
            least, orders = self._orders(number)
            found = (operations[chosen][:, orders] @ self._units).min(axis=1)
            out[chosen] = least * len(OPERATIONS) ** (2 * self.nodes) + found
        return out

    def _orders_of(self, wiring: int) -> tuple[int, np.ndarray]:
        """The least number of a wiring over the orders of its nodes, and where its operations come from in the orders
        (m, 2 × nodes) that give it."""
        taken = [pairs[wiring // unit % len(pairs)] for pairs, unit in zip(self.pairs, self._wirings, strict=True)]
        found: dict[int, list[list[int]]] = {}
        for order, place in self._placed():
            if any(place[x] >= 2 + at for at, node in enumerate(order) for x in taken[node]):
                continue
            number, operations = 0, []
            for at, node in enumerate(order):
                (x, left), (y, right) = sorted((place[x], side) for side, x in enumerate(taken[node]))
                number += self.pairs[at].index((x, y)) * self._wirings[at]
                operations += [2 * node + left, 2 * node + right]
            found.setdefault(number, []).append(operations)
        return min(found), np.array(found[min(found)])

    def _placed(self) -> Iterator[tuple[tuple[int, ...], dict[int, int]]]:
        """Every order of the nodes, and where each place comes to lie in it."""
        for order in itertools.permutations(range(self.nodes)):
            yield order, {0: 0, 1: 1, **{2 + node: 2 + at for at, node in enumerate(order)}}

    def genotypes(self, rows: np.ndarray) -> list[Genotype]:
        """The cells as DARTS writes them."""
        count = len(self.operations)
        numbers = [
            ((a * count + b) * count + c).tolist() for a, b, c in rows.reshape(len(rows), self.nodes, 3).transpose(1, 2, 0)
        ]
        found = [[inputs[i] for i in column] for inputs, column in zip(self._inputs, numbers, strict=True)]
        return [sum(parts, ()) for parts in zip(*found, strict=True)]

    def _one(self, row: tuple[int, ...]) -> tuple[Genotype, int]:
        rows = np.array([row])
        return self.genotypes(rows)[0], int(self.codes(rows)[0])

    def _row_of(self, genotype: Any) -> tuple[int, ...]:
        """The two inputs of a node may stand in either order. Raises ValueError with the rule that the cell breaks."""
        if len(genotype) != 2 * self.nodes or any(len(edge) != 2 for edge in genotype):
            raise ValueError(f"a cell is {2 * self.nodes} pairs of operation and place, two for each of {self.nodes} nodes")
        row: list[int] = []
        for node, pairs in enumerate(self.pairs):
            two = genotype[2 * node : 2 * node + 2]
            for name, _ in two:
                if name not in self.operations:
                    raise ValueError(f"unknown operation `{name}`; known are {', '.join(self.operations)}")
            (a, x), (b, y) = two if two[0][1] <= two[1][1] else two[::-1]
            if (x, y) not in pairs:
                raise ValueError(f"node {2 + node} must take two different places from 0 to {1 + node}, got {x} and {y}")
            row += [pairs.index((x, y)), self.operations.index(a), self.operations.index(b)]
        return tuple(row)

    def distance(self, a: Genotype, b: Genotype) -> int:
        """The fewest inputs that must change their operation or place, over all orders of the second's nodes."""
        own = [set(a[2 * node : 2 * node + 2]) for node in range(self.nodes)]
        return min(
            sum(len({(op, place[x]) for op, x in b[2 * node : 2 * node + 2]} - own[at]) for at, node in enumerate(order))
            for order, place in self._placed()
        )
