"""The report as one HTML file that works offline: tables, figures, scripts and style are all inside it."""

from __future__ import annotations

import json
import os
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.errors import MissingExtraError
from secateur.report import figures, tables
from secateur.report.architecture_picture import picture
from secateur.report.data import ReportData, Row, RunData, title
from secateur.report.importance import kept_layers
from secateur.report.numbers import lower_by, show

if TYPE_CHECKING:
    from jinja2 import Environment


def render(data: ReportData) -> str:
    """The page. Raises MissingExtraError where plotly or jinja2 is not installed."""
    drawn = _figures(data)
    return page(
        "report.html",
        data,
        drawn,
        summary=tables.summary(data),
        budget_title=title(data.budget) if data.budget else "",
        budgets=tables.budgets(data).rows,
        unpruned=tables.unpruned_row(data),
        front=tables.front_table(data),
        entries={entry["key"]: _entry(data, entry) for entry in data.front},
        curves=list(drawn["curves"]),
        curves_left_out=max(0, len(data.curves) - figures.MOST_CURVES),
    )


def write_report(data: ReportData, path: str | Path) -> Path:
    """Write the page to `path`; its folder is made. The file is replaced whole or not at all."""
    return write_page(render(data), path)


def page(template: str, data: RunData, drawn: dict[str, Any], most_trials: int | None = None, **own: Any) -> str:
    """A template with what every report shows (trials, stages, settings, hypervolume, figures) and what it has of its own."""
    environment = _environment()
    unhappy = ("failed", "infeasible")
    return environment.get_template(template).render(
        data=data,
        trials=tables.trials_table(data, most=most_trials),
        trials_count=len(data.trials),
        unhappy=tables.trials_table(data, unhappy, most_trials),
        unhappy_count=sum(t["status"] in unhappy for t in data.trials),
        status_counts=tables.status_counts(data),
        stages=tables.stage_times(data),
        settings=tables.settings_rows(data.settings),
        hypervolume=tables.hypervolume_rows(data),
        margin=tables.MARGIN,
        figures=drawn,
        style=_own("report.css"),
        script=_own("report.js"),
        plotly=figures.plotly_javascript(),
        **own,
    )


def write_page(text: str, path: str | Path) -> Path:
    """Write a file whole or not at all; its folder is made."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def embedded(value: Any) -> str:
    """JSON that is safe inside a script element: nothing in it can end the element or start a comment."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _figures(data: ReportData) -> dict[str, Any]:
    return {
        "pareto": figures.pareto_figure(data),
        "hypervolume": figures.hypervolume_figure(data),
        "curves": figures.curve_figures(data),
        "heads": figures.heads_figure(data),
        "units": figures.units_figure(data),
    }


def _entry(data: ReportData, entry: Row) -> Row:
    """What the page shows of one member of the front beside its row."""
    return {
        "thumbnail": picture(entry["plan"], data.shape, compact=True),
        "picture": picture(entry["plan"], data.shape),
        "before_after": tables.before_after(data, entry),
        "metrics": tables.metrics_table(data, entry),
        "layers": kept_layers(data, entry["plan"]),
        "details": entry.get("details") or {},
        "code": data.load_code.replace("{key}", entry["key"]),
    }


def _own(name: str) -> str:
    return resources.files("secateur.report").joinpath("templates", name).read_text(encoding="utf-8")


def _environment() -> Environment:
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError:
        raise MissingExtraError("jinja2", "report") from None
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_own),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["show"] = show
    environment.filters["embedded"] = lambda value: Markup(embedded(value))  # `embedded` has escaped it
    environment.filters["plain"] = _plain
    environment.filters["lower_by"] = lower_by
    return environment


def _plain(value: Any) -> str:
    """A detail of unknown kind: floats are shortened."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
