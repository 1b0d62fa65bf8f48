"""A page: one HTML file that works offline, with tables, charts, scripts and style inside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, Any

from secateur import __version__
from secateur.errors import MissingExtraError
from secateur.report.charts import plotly_javascript
from secateur.report.data import Row, RunData
from secateur.report.numbers import detail, show
from secateur.report.rows import MARGIN, hypervolume_rows, settings_rows, stage_times, status_counts, trials_table

if TYPE_CHECKING:
    from jinja2 import Environment


def page(template: str, title: str, figures: dict[str, Any], **own: Any) -> str:
    """A template in the frame of all pages. `figures`: by the name that the template gives the place where one is drawn.

    Raises MissingExtraError where plotly or jinja2 is not installed.
    """
    frame = {"version": __version__, "created": "", "summary": "", "notes": []}
    frame |= {"style": _own("report.css"), "script": _own("report.js"), "plotly": plotly_javascript()}
    return _environment().get_template(template).render(title=title, figures=figures, **(frame | own))


def run_page(
    template: str,
    data: RunData,
    figures: dict[str, Any],
    of_entry: Callable[[Row], Row],
    most_trials: int | None = None,
    **own: Any,
) -> str:
    """The page of a run: what every run shows (trials, stages, settings, hypervolume) and what it has of its own.

    `of_entry`: what is shown of a member of the front beside its row, its details and the lines that go on with it.
    """
    unhappy = ("failed", "infeasible")
    entries = {
        e["key"]: {"details": e.get("details") or {}, "code": data.load_code.replace("{key}", e["key"]), **of_entry(e)}
        for e in data.front
    }
    return page(
        template,
        data.title,
        figures,
        data=data,
        version=data.version,
        created=data.created,
        notes=data.notes,
        trials=trials_table(data, most=most_trials),
        unhappy=trials_table(data, unhappy, most_trials),
        unhappy_count=sum(t["status"] in unhappy for t in data.trials),
        status_counts=status_counts(data),
        stages=stage_times(data),
        settings=settings_rows(data.settings),
        hypervolume=hypervolume_rows(data),
        margin=MARGIN,
        so_far="so far" if data.unfinished else "in the end",
        entries=entries,
        **own,
    )


def embedded(value: Any) -> str:
    """JSON that is safe inside a script element: nothing in it can end the element or start a comment."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


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
    environment.filters["detail"] = lambda value, name: detail(name, value)
    return environment
