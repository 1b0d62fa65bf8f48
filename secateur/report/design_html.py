"""The report of a design run as one HTML file that works offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from secateur.report import design_figures, design_tables, figures
from secateur.report.data import DesignReportData, Row, title
from secateur.report.decoder_picture import decoder_picture, scale
from secateur.report.html import page, write_page

#: A search scores thousands of candidates: the page lists the first of them, the run's store has all.
MOST_TRIALS = 300
BACKBONES = {"gpt2": "GPT-2", "transformer_xl": "Transformer-XL"}


def render_design(data: DesignReportData) -> str:
    """The page. Raises MissingExtraError where plotly or jinja2 is not installed."""
    largest = scale(row["choices"] for row in [*data.front, *data.baselines])
    slices = design_figures.slice_figures(data)
    drawn: dict[str, Any] = {
        "slices": slices,
        "space": design_figures.space_figure(data),
        "prediction": design_figures.prediction_figure(data),
        "hypervolume": figures.hypervolume_figure(data),
    }
    return page(
        "design.html",
        data,
        drawn,
        MOST_TRIALS,
        summary=design_tables.summary(data),
        slices=design_figures.axis_titles(data),
        comparison=design_tables.comparison_table(data),
        average=design_tables.comparison_average(data),
        averages=[design_tables.comparison_average(data, family) for family in design_tables.families(data)],
        titles={name: title(name) for name in [data.proxy, *data.costs]},
        objectives=[_objective(data, text) for text in data.objectives],
        front=design_tables.front_table(data),
        entries={entry["key"]: _entry(data, entry, largest) for entry in data.front},
        backbones=list(dict.fromkeys(BACKBONES.get(e["choices"]["backbone"], e["choices"]["backbone"]) for e in data.front)),
        measured=sum(bool(entry.get("measured")) for entry in data.front),
        errors=design_tables.prediction_errors(data),
        search_seconds=next((row["seconds"] for row in data.journal if row["stage"] == "search"), None),
    )


def write_design_report(data: DesignReportData, path: str | Path) -> Path:
    """Write the page to `path`; its folder is made. The file is replaced whole or not at all."""
    return write_page(render_design(data), path)


def _objective(data: DesignReportData, text: str) -> str:
    name = data.objective_names[data.objectives.index(text)]
    return f"{text} {'↑' if data.direction(name) == 'max' else '↓'}"


def _entry(data: DesignReportData, entry: Row, largest: dict[str, int]) -> Row:
    """What the page shows of one member of the front beside its row."""
    baseline, lines = design_tables.against(data, entry)
    return {
        "thumbnail": decoder_picture(entry["choices"], largest, compact=True),
        "picture": decoder_picture(entry["choices"], largest),
        "baseline": baseline,
        "against": lines,
        "details": entry.get("details") or {},
        "code": data.load_code.replace("{key}", entry["key"]),
    }
