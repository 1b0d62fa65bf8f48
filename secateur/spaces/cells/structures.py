"""Cells up to isomorphism: directed acyclic graphs from an input to an output, with a label on each node between.

A structure is written as a whole number, as NAS-Bench-101 does (Ying et al. 2019): bit x + y (y − 1) / 2 is the edge from node
x to node y > x. Of all spellings of a cell, the one with the least (bits, labels) is its own; it is also the one that the
benchmark's enumeration meets first.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

#: Labels of the nodes between input and output: three operations.
LABELS = 3


class Cell(NamedTuple):
    """A cell in its own spelling: the number of nodes, the edges as bits, and the labels (nodes − 2) of those in between."""

    nodes: int
    bits: int
    labels: tuple[int, ...]

    @property
    def edges(self) -> int:
        return self.bits.bit_count()


def bit(source: int, target: int) -> int:
    """The place of an edge in the bits."""
    return source + target * (target - 1) // 2


@lru_cache(maxsize=2**16)
def targets(nodes: int, bits: int) -> tuple[int, ...]:
    """For each node the set of nodes that its edges lead to, as a whole number of bits."""
    return tuple(sum((bits >> bit(x, y) & 1) << y for y in range(x + 1, nodes)) for x in range(nodes))


def paths(nodes: int, bits: int) -> int:
    """How many paths lead from the first node to the last."""
    found = [1] + [0] * (nodes - 1)
    for y in range(1, nodes):
        found[y] = sum(found[x] for x in range(y) if bits >> bit(x, y) & 1)
    return found[-1]


def reached(ahead: Sequence[int], start: int) -> int:
    """The set of nodes that paths from `start` lead to, itself included."""
    found, waiting = 1 << start, ahead[start]
    while waiting:
        node = (waiting & -waiting).bit_length() - 1
        found |= 1 << node
        waiting = (waiting | ahead[node]) & ~found
    return found


def pruned(ahead: Sequence[int], labels: Sequence[int]) -> tuple[Sequence[int], Sequence[int]] | None:
    """A graph, given as its `targets` and the labels of all nodes but the first and the last, without the nodes that lie on no
    path from the first to the last; None where there is no path."""
    last = len(ahead) - 1
    inside = reached(ahead, 0)
    if not inside >> last & 1:
        return None
    kept = [x for x in range(last + 1) if inside >> x & 1 and reached(ahead, x) >> last & 1]
    if len(kept) > last:
        return ahead, labels
    place = {x: i for i, x in enumerate(kept)}
    fewer = [sum(1 << place[y] for y in kept if ahead[x] >> y & 1) for x in kept]
    return fewer, [labels[x - 1] for x in kept[1:-1]]


def cell(ahead: Sequence[int], labels: Sequence[int]) -> Cell | None:
    """The cell of an acyclic graph, pruned; None where no path leads to its last node."""
    left = pruned(ahead, labels)
    if left is None:
        return None
    ahead, labels = left
    bits, orders = _orders(tuple(ahead))
    return Cell(len(ahead), bits, min(tuple(labels[i - 1] for i in order) for order in orders))


@lru_cache(maxsize=2**16)
def _orders(ahead: tuple[int, ...]) -> tuple[int, tuple[tuple[int, ...], ...]]:
    """The least bits of a graph over all orders of its inner nodes, and the orders that give them."""
    nodes = len(ahead)
    matrix = np.array([[a >> y & 1 for y in range(nodes)] for a in ahead], dtype=np.int64)
    orders = orders_of(nodes)
    turned = matrix[orders[:, :, None], orders[:, None, :]]
    forward = ~np.tril(turned).any(axis=(1, 2))
    weights = np.array([[1 << bit(x, y) if x < y else 0 for y in range(nodes)] for x in range(nodes)])
    bits = np.where(forward, (turned * weights).sum(axis=(1, 2)), np.iinfo(np.int64).max)
    least = int(bits.min())
    return least, tuple(tuple(order[1:-1]) for order in orders[bits == least].tolist())


@lru_cache(maxsize=16)
def orders_of(nodes: int) -> np.ndarray:
    """Every order (m, nodes) that leaves the first and the last node in place; the first is the given one."""
    inner = list(itertools.permutations(range(1, nodes - 1)))
    return np.array([(0, *order, nodes - 1) for order in inner], dtype=np.int64)


@lru_cache(maxsize=64)
def structures(nodes: int, least: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The structures of so many nodes and from `least` to `most` edges with nothing to prune, each once, ascending: their bits
    (n,), and how many cells each of them has (n,): labellings up to the structure's own symmetries (Burnside's lemma)."""
    bits = np.arange(2 ** (nodes * (nodes - 1) // 2), dtype=np.int64)
    edges = np.bitwise_count(bits)
    bits = bits[(edges >= least) & (edges <= most)]
    for y in range(1, nodes):  # every node but the first has an edge in, every one but the last an edge out
        bits = bits[bits & sum(1 << bit(x, y) for x in range(y)) != 0]
    for x in range(nodes - 1):
        bits = bits[bits & sum(1 << bit(x, y) for y in range(x + 1, nodes)) != 0]
    fixed, symmetries = np.zeros_like(bits), np.zeros_like(bits)
    for order in orders_of(nodes).tolist():
        turned, forward = _turned(bits, nodes, order)
        own = ~forward | (turned >= bits)  # others have a lesser spelling
        same = forward[own] & (turned[own] == bits[own])
        bits, fixed, symmetries = bits[own], fixed[own], symmetries[own]
        fixed += same * LABELS ** _cycles(order[1:-1])
        symmetries += same
    return bits, fixed // symmetries


def _turned(bits: np.ndarray, nodes: int, order: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The bits (n,) of structures with their nodes in another order, and whether their edges (n,) still go forward."""
    place = {node: i for i, node in enumerate(order)}
    out, forward = np.zeros_like(bits), np.ones(len(bits), dtype=bool)
    for y in range(1, nodes):
        for x in range(y):
            there = bits >> bit(x, y) & 1
            if place[x] < place[y]:
                out |= there << bit(place[x], place[y])
            else:
                forward &= there == 0
    return out, forward


def _cycles(order: list[int]) -> int:
    """The number of cycles of a permutation of 1 … n."""
    left, found = set(order), 0
    while left:
        found += 1
        node = next(iter(left))
        while node in left:
            left.remove(node)
            node = order[node - 1]
    return found


@lru_cache(maxsize=2**13)
def labellings(nodes: int, bits: int) -> tuple[tuple[int, ...], ...]:
    """The labels of every cell of a structure, ascending."""
    _, orders = _orders(targets(nodes, bits))
    every = itertools.product(range(LABELS), repeat=nodes - 2)
    if len(orders) == 1:
        return tuple(every)
    return tuple(labels for labels in every if all(tuple(labels[i - 1] for i in order) >= labels for order in orders))
