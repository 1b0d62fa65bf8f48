"""The report of a run: tables are computed, figures drawn from them, and one HTML file holds it all."""

from secateur.report.data import DesignReportData, ReportData
from secateur.report.design_html import render_design, write_design_report
from secateur.report.front_picture import design_front_svg, front_svg
from secateur.report.html import render, write_report

__all__ = [
    "DesignReportData",
    "ReportData",
    "design_front_svg",
    "front_svg",
    "render",
    "render_design",
    "write_design_report",
    "write_report",
]
