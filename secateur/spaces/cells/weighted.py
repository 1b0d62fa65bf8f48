"""Cells with any number of edges and of operations on an edge, each with a weight (HM-NAS: Yan 2022, chapter 2).

The places are those of `darts`: 0 and 1 for the two cells before, then one for each node. A node without an input is not there,
and neither is an edge that comes from one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from secateur.architecture import Architecture, digest
from secateur.errors import ConfigurationError
from secateur.rng import Generator
from secateur.spaces.cells.darts import INPUTS, MOST_NODES, ROLES, Darts
from secateur.spaces.cells.darts_cells import OPERATIONS
from secateur.spaces.cells.graph import Graph

#: What the architectures are called: they are no points of `darts`, whose nodes have two inputs of one operation each.
NAME = "weighted-cells"


class Edge(NamedTuple):
    """From a place to a node: how much it counts, and its operations with how much each counts within it."""

    source: int
    target: int
    weight: float
    operations: tuple[tuple[str, float], ...]

    @property
    def place(self) -> tuple[int, int]:
        """Where it goes."""
        return self.source, self.target


Edges = tuple[Edge, ...]


def places(nodes: int) -> list[tuple[int, int]]:
    """All edges (source, target) of a cell of so many nodes, by their targets."""
    return [(source, 2 + node) for node in range(nodes) for source in range(2 + node)]


def living(edges: Iterable[Edge]) -> Edges:
    """The edges, in order, without those that have no operation or come from a node without an input."""
    found: list[Edge] = []
    there = {0, 1}
    for edge in sorted(edges, key=lambda edge: (edge.target, edge.source)):
        if edge.operations and edge.source in there:
            found.append(edge)
            there.add(edge.target)
    return tuple(found)


def weighted(cells: Mapping[str, Iterable[Edge]]) -> Architecture:
    """The architecture of a normal and a reduction cell; edges that carry nothing are left out.

    Raises ConfigurationError where a cell has no edge left, or one that cannot be.
    """
    found = {role: living(cells[role]) for role in ROLES}
    for role, edges in found.items():
        if fault := _fault(edges):
            raise ConfigurationError(f"the {role} cell cannot be built: {fault}.")
    choices = {role: tuple(map(tuple, edges)) for role, edges in found.items()}
    return Architecture.of(NAME, choices, digest(NAME, json.dumps(choices)))


def _fault(edges: Edges) -> str | None:
    if not edges:
        return "no edge with an operation is left"
    if len({edge.place for edge in edges}) < len(edges):
        return "an edge is there twice"
    for edge in edges:
        if not 0 <= edge.source < edge.target < 2 + MOST_NODES or edge.target < 2:
            return f"an edge must go from a place to a later node up to {1 + MOST_NODES}, got {edge.source} to {edge.target}"
        names = [name for name, _ in edge.operations]
        unknown = [name for name in names if name not in OPERATIONS]
        if unknown:
            return f"unknown operation `{unknown[0]}`; known are {', '.join(OPERATIONS)}"
        if len(set(names)) < len(names):
            return f"an operation is twice on the edge from {edge.source} to {edge.target}"
        if not all(math.isfinite(weight) for weight in (edge.weight, *(weight for _, weight in edge.operations))):
            return "weights must be finite numbers"
    return None


def edges_of(architecture: Architecture) -> dict[str, Edges]:
    """The edges of both cells; those of a cell of `darts` all count alike, 1. Raises ConfigurationError for another space's."""
    if architecture.space == Darts.name:
        return {role: _darts_edges(architecture[role]) for role in ROLES}
    if architecture.space != NAME:
        raise ConfigurationError(f"`{architecture.space}` has no cells of DARTS: give an architecture of darts or {NAME}.")
    found: dict[str, Any] = {role: architecture[role] for role in ROLES}
    return {role: tuple(Edge(*edge) for edge in edges) for role, edges in found.items()}


def _darts_edges(genotype: Any) -> Edges:
    inputs = [(source, 2 + place // 2, name) for place, (name, source) in enumerate(genotype)]
    return living(Edge(source, target, 1.0, ((name, 1.0),)) for source, target, name in inputs)


def random_like(architecture: Architecture, rng: Generator) -> Architecture:
    """Cells with as many operations as those of `architecture`, at random places, whose nodes all have an input: weights
    are those that softmaxes have before they learn anything."""
    out = {}
    for role, edges in edges_of(architecture).items():
        nodes = max(edge.target for edge in edges) - 1
        count = max(nodes, sum(len(edge.operations) for edge in edges))
        every = [(place, name) for place in places(nodes) for name in OPERATIONS]
        first = [int(rng.choice([i for i, (place, _) in enumerate(every) if place[1] == 2 + node])) for node in range(nodes)]
        rest = [i for i in range(len(every)) if i not in first]
        chosen = {*first, *rng.choice(rest, count - nodes, replace=False).tolist()}
        names: dict[tuple[int, int], list[str]] = {}
        for i in sorted(chosen):
            names.setdefault(every[i][0], []).append(every[i][1])
        alike = 1 / len(OPERATIONS)
        out[role] = [Edge(s, t, 1 / t, tuple((name, alike) for name in some)) for (s, t), some in names.items()]
    return weighted(out)


def graphs(architecture: Architecture) -> dict[str, Graph]:
    """The cells for drawing: a node for each operation, with how much it counts in its sum, and one for each sum."""
    return {role: _graph(edges) for role, edges in edges_of(architecture).items()}


def _graph(edges: Sequence[Edge]) -> Graph:
    names, lines = [*INPUTS], []
    where = {0: 0, 1: 1}
    for target in sorted({edge.target for edge in edges}):
        ends = []
        for edge in (edge for edge in edges if edge.target == target):
            for name, weight in edge.operations:
                lines.append((where[edge.source], len(names)))
                ends.append(len(names))
                names.append(f"{name} {edge.weight * weight:.2f}")
        where[target] = len(names)
        lines += [(end, len(names)) for end in ends]
        names.append("sum")
    lines += [(place, len(names)) for node, place in where.items() if node > 1]
    return Graph((*names, "c_{k}"), tuple(lines))
