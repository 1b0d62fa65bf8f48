"""The hash by which NAS-Bench-101 knows a cell: equal for isomorphic cells (Ying et al. 2019)."""

from __future__ import annotations

from functools import lru_cache
from hashlib import md5

from secateur.spaces.cells.structures import Cell, bit

#: The labels of input and output.
INPUT, OUTPUT = -1, -2


@lru_cache(maxsize=2**17)
def official_hash(cell: Cell) -> str:
    """Each node begins with the MD5 of its degrees and label, and takes, as often as there are nodes, that of the sorted hashes
    of its neighbours on both sides and its own; the cell's is that of the sorted list of all."""
    before, after = _neighbours(cell.nodes, cell.bits)
    labels = (INPUT, *cell.labels, OUTPUT)
    hashes = [_md5(str((len(after[v]), len(before[v]), labels[v]))) for v in range(cell.nodes)]
    for _ in range(cell.nodes):
        hashes = [
            _md5(f"{''.join(sorted([hashes[w] for w in b]))}|{''.join(sorted([hashes[w] for w in a]))}|{own}")
            for b, a, own in zip(before, after, hashes, strict=True)
        ]
    return _md5(str(sorted(hashes)))


def _md5(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


@lru_cache(maxsize=2**13)
def _neighbours(nodes: int, bits: int) -> tuple[list[list[int]], list[list[int]]]:
    """For each node those with an edge to it and those that it has an edge to."""
    before = [[x for x in range(y) if bits >> bit(x, y) & 1] for y in range(nodes)]
    after = [[y for y in range(x + 1, nodes) if bits >> bit(x, y) & 1] for x in range(nodes)]
    return before, after
