"""The report of a run: tables are computed, charts drawn from them, and one HTML file holds it all."""

from __future__ import annotations

from pathlib import Path

from secateur.report.cells_page import CellsReportData, cells_html
from secateur.report.data import DesignReportData, ReportData
from secateur.report.design_page import design_html
from secateur.report.prune_page import prune_html
from secateur.writing import write_whole

__all__ = ["CellsReportData", "DesignReportData", "ReportData", "render", "write_report"]


def render(data: ReportData | DesignReportData | CellsReportData) -> str:
    """The page of a run. Raises MissingExtraError where plotly or jinja2 is not installed."""
    if isinstance(data, CellsReportData):
        return cells_html(data)
    return design_html(data) if isinstance(data, DesignReportData) else prune_html(data)


def write_report(data: ReportData | DesignReportData | CellsReportData, path: str | Path) -> Path:
    """Write the page to `path`; its folder is made. The file is replaced whole or not at all."""
    return write_whole(render(data), path)
