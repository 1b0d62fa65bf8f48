"""Cells of NAS-Bench-101 as numbers for trees: how often each path of operations occurs, a few counts, and the matrix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from secateur.spaces.cells.matrices import Padded
from secateur.spaces.cells.nasbench101 import MOST_NODES
from secateur.spaces.cells.structures import LABELS, Cell, bit

#: Operations on the longest path.
MOST = MOST_NODES - 2
#: Paths of so many operations or fewer: where those of each length begin, and how many there are.
STARTS = tuple((LABELS**length - 1) // (LABELS - 1) for length in range(MOST + 2))
PATHS = STARTS[-1]
#: Nodes, edges, edges into the output, longest and shortest path, whether input meets output, nodes of each label.
COUNTS = 6 + LABELS
#: Then, of each label, how many nodes are fed by the input, how many feed the output, and the most on one path.
OWN = PATHS + COUNTS + 3 * LABELS
#: At last the matrix above its diagonal and the labels, both in thirds, as the space encodes them.
PADDED = Padded(MOST_NODES)
WIDTH = OWN + PADDED.dimensions


def featured(cells: Sequence[Cell]) -> np.ndarray:
    """The features (n, WIDTH) of cells, as small whole numbers; isomorphic cells have the same."""
    found = np.zeros((len(cells), WIDTH), dtype=np.uint8)
    rows: dict[tuple[int, int], list[int]] = {}
    for row, cell in enumerate(cells):
        rows.setdefault((cell.nodes, cell.bits), []).append(row)
    for (nodes, bits), members in rows.items():
        labels = np.array([cells[row].labels for row in members], dtype=np.int64).reshape(len(members), nodes - 2)
        found[np.array(members), :OWN] = _of_structure(nodes, bits, labels)
    found[:, OWN:] = np.rint(LABELS * PADDED.encoded(cells))
    return found


def _of_structure(nodes: int, bits: int, labels: np.ndarray) -> np.ndarray:
    """The first features (m, OWN) of the cells that have these labels (m, nodes − 2) in one structure."""
    found = np.zeros((len(labels), OWN), dtype=np.uint8)
    paths = _paths(nodes, bits)
    each = np.arange(len(labels))
    one_hot = labels[:, :, None] == np.arange(LABELS)
    most = found[:, PATHS + COUNTS + 2 * LABELS :]
    for path in paths:
        code = np.full(len(labels), STARTS[len(path)])
        for place, node in enumerate(path):
            code += labels[:, node - 1] * LABELS**place
        found[each, code] += 1
        np.maximum(most, one_hot[:, [node - 1 for node in path]].sum(axis=1), out=most, casting="unsafe")
    lengths = [len(path) for path in paths]
    entering = [x for x in range(nodes - 1) if bits >> bit(x, nodes - 1) & 1]
    fed = [y for y in range(1, nodes - 1) if bits >> bit(0, y) & 1]
    counts = [nodes, bits.bit_count(), len(entering), max(lengths), min(lengths), int(0 in entering)]
    found[:, PATHS : PATHS + 6] = counts
    found[:, PATHS + 6 : PATHS + COUNTS] = one_hot.sum(axis=1)
    found[:, PATHS + COUNTS : PATHS + COUNTS + LABELS] = one_hot[:, [y - 1 for y in fed]].sum(axis=1)
    feeding = [x - 1 for x in entering if x]
    found[:, PATHS + COUNTS + LABELS : PATHS + COUNTS + 2 * LABELS] = one_hot[:, feeding].sum(axis=1)
    return found


@lru_cache(maxsize=2**12)
def _paths(nodes: int, bits: int) -> list[tuple[int, ...]]:
    """Every path from input to output, as the nodes between."""
    found: list[tuple[int, ...]] = []
    waiting: list[tuple[int, ...]] = [(0,)]
    while waiting:
        path = waiting.pop()
        for node in range(path[-1] + 1, nodes):
            if bits >> bit(path[-1], node) & 1:
                if node == nodes - 1:
                    found.append(path[1:])
                else:
                    waiting.append((*path, node))
    return found
