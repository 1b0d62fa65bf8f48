"""The report of a run: tables are computed, figures drawn from them, and one HTML file holds it all."""

from secateur.report.data import ReportData
from secateur.report.front_picture import front_svg
from secateur.report.html import render, write_report

__all__ = ["ReportData", "front_svg", "render", "write_report"]
