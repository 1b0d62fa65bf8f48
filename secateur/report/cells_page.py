"""The page of a run for cells: its networks side by side, and a drawing of the cells it ends with."""

from __future__ import annotations

from dataclasses import dataclass, field

from secateur.report.data import Row, RunData
from secateur.report.page import page
from secateur.report.rows import Column, Table, settings_rows, share, stage_times


@dataclass(frozen=True, kw_only=True)
class CellsReportData(RunData):
    """A run for cells, ready to be shown.

    `networks`: network (its name), values (error on validation data, parameters, stored_parameters), test (metrics or None).
    `importance`: role → per node how much each edge into it counts. `drawing`: the cells as SVG; empty before they are found.
    `metric`: `error` is 1 minus this. `lead`: what was found, in a line.
    """

    networks: list[Row] = field(default_factory=list)
    importance: dict[str, list[list[float]]] = field(default_factory=dict)
    drawing: str = ""
    metric: str = "accuracy"
    lead: str = ""


def networks_table(networks: list[Row], metric: str) -> Table:
    """The networks of a run, in the order they were made; parameters with their share of the super-network's."""
    columns = [
        Column("network", "network"),
        Column("error", "validation error", "score"),
        Column("test_error", f"test error (1 − {metric})", "score"),
        Column("parameters", "parameters", "count"),
        Column("stored_parameters", "stored", "count"),
    ]
    whole = networks[0]["values"]["parameters"] if networks else None
    rows = [
        {
            "network": row["network"],
            **row["values"],
            "test_error": None if row["test"] is None else 1 - row["test"][metric],
            "parameters_share": share(row["values"]["parameters"], whole),
        }
        for row in networks
    ]
    return Table(columns, rows)


def importance_table(importance: dict[str, list[list[float]]]) -> Table:
    """A row per node: how much the edges into it count, from the earliest place on."""
    rows = [
        {"cell": role, "node": str(node), "shown_as": "text", "edges": " · ".join(f"{value:.2f}" for value in shares)}
        for role, nodes in importance.items()
        for node, shares in enumerate(nodes)
    ]
    edges = Column("edges", "edges from c_{k-2}, c_{k-1}, node 0, …")
    return Table([Column("cell", "cell"), Column("node", "node"), edges], rows)


def cells_html(data: CellsReportData) -> str:
    """The page. Raises MissingExtraError where plotly or jinja2 is not installed."""
    return page(
        "cells.html",
        data.title,
        {},
        version=data.version,
        created=data.created,
        notes=data.notes,
        summary=data.lead,
        data=data,
        networks=networks_table(data.networks, data.metric),
        importance=importance_table(data.importance),
        stages=stage_times(data),
        settings=settings_rows(data.settings),
    )
