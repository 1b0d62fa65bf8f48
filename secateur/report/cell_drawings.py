"""Cells of many architectures as plain data, small enough for thousands: the page's script draws them as `drawn` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from secateur.architecture import Architecture
from secateur.spaces.cells import CellSpace, Graph
from secateur.spaces.cells import drawing as d


def drawings(space: CellSpace, architectures: Sequence[Architecture]) -> dict[str, Any]:
    """What all drawings share, `structures` that many have in common (of each node its depth and the rows of its lanes, then
    the edges), and for each architecture and cell its structure and its operations, all as places in these lists."""
    names, look = space.frame.names, d.Look.narrow(space.frame.names)
    number = {name: place for place, name in enumerate(names)}
    known: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
    structures: list[Any] = []
    cells = []
    for architecture in architectures:
        found = []
        for graph in space.graphs(architecture).values():
            shape = (len(graph.operations), graph.edges)
            if shape not in known:
                known[shape] = len(structures)
                structures.append(_structure(graph))
            found.append([known[shape], *(number[name] for name in graph.operations)])
        cells.append(found)
    sizes = {"wide": look.wide, "beside": look.beside, "high": d.HIGH, "below": d.BELOW, "margin": d.MARGIN, "title": d.TITLE}
    inks = [[look.names[name], d.fill(name), d.ink(name)] for name in names]
    shared = {"sizes": sizes, "line": d.LINE, "text": d.TEXT, "roles": space.frame.roles, "names": names, "inks": inks}
    return {**shared, "structures": structures, "cells": cells}


def _structure(graph: Graph) -> list[Any]:
    depths, rows = graph.depths(), d.rows_of(graph)
    lanes = [
        [depth, [rows[node, at] for at in range(depth, max(depths) + 1) if (node, at) in rows]]
        for node, depth in enumerate(depths)
    ]
    return [lanes, graph.edges]
