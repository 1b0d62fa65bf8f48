"""Plotly figures of a design run: slices of the front, the front in space, predicted against measured latency."""

from __future__ import annotations

from typing import Any

from secateur.report import design_tables
from secateur.report.data import DesignReportData, Row, title
from secateur.report.decoder_picture import describe_decoder
from secateur.report.figures import (
    GREEN,
    GREY,
    LEGEND,
    ORANGE,
    VIOLET,
    Figure,
    axis,
    finite,
    graph_objects,
    hover,
    plain_figure,
)

#: More candidates than this are thinned out evenly: the page stays quick.
MOST_POINTS = 1500
#: Baselines of further families, after violet.
_FAMILIES = (VIOLET, ORANGE)


def candidates(data: DesignReportData) -> list[Row]:
    """The complete trials that are not on the front, every n-th where there are more than `MOST_POINTS`."""
    on_front = {entry["key"] for entry in data.front}
    others = [t for t in data.trials if t["status"] == "complete" and t["key"] not in on_front]
    return others[:: -(-len(others) // MOST_POINTS) or 1]


def slice_name(x: str, y: str) -> str:
    return f"{x},{y}"


def slice_figures(data: DesignReportData) -> dict[str, Figure]:
    """Per pair of quantities: candidates, the front with a line through the members best by these two, and the baselines."""
    return {slice_name(x, y): _slice(data, x, y) for x, y in design_tables.slice_pairs(data)}


def _slice(data: DesignReportData, x: str, y: str) -> Figure:
    best = design_tables.slice_rows(data, x, y)
    line = graph_objects().Scatter(
        x=[finite(e["values"][x]) for e in best],
        y=[finite(e["values"][y]) for e in best],
        mode="lines",
        line={"color": GREEN, "width": 2},
        hoverinfo="skip",
        showlegend=False,
        meta={"role": "slice"},
    )
    traces = [_scatter(t, x, y) for t in _groups(data)]
    return plain_figure(
        [traces[0], line, *traces[1:]] if best else traces,
        xaxis=axis(x),
        yaxis=axis(y),
        hovermode="closest",
        showlegend=True,
        legend=LEGEND,
        margin={"l": 64, "r": 16, "t": 40, "b": 52},
    )


def _groups(data: DesignReportData) -> list[Row]:
    """What is drawn in every view: role, name, rows, marker, and whether a line joins the points."""
    measured = [e for e in data.front if e.get("measured")]
    predicted = [e for e in data.front if not e.get("measured")]
    named = "front, measured" if predicted else "Pareto front"
    groups: list[Row] = [
        {
            "role": "trial",
            "name": "candidates",
            "rows": candidates(data),
            "marker": {"color": GREY, "size": 5, "opacity": 0.35},
        },
        {"role": "front", "name": named, "rows": measured, "marker": {"color": GREEN, "size": 9}},
        {
            "role": "front",
            "name": "front, predicted" if measured else "Pareto front",
            "rows": predicted,
            "marker": {"color": GREEN, "size": 9, "symbol": "circle-open"} if measured else {"color": GREEN, "size": 9},
        },
    ]
    for i, family in enumerate(dict.fromkeys(b["family"] for b in data.baselines)):
        rows = sorted((b for b in data.baselines if b["family"] == family), key=lambda b: int(b["layers"]))
        marker = {"color": _FAMILIES[i % len(_FAMILIES)], "size": 8, "symbol": "diamond"}
        name = f"{family}, {rows[0]['layers']}…{rows[-1]['layers']} layers"
        groups.append({"role": "baseline", "name": name, "rows": rows, "marker": marker})
    hovers = {"trial": _hover_trial, "front": _hover_member, "baseline": _hover_baseline}
    for group in groups:
        group["hover"] = [hovers[group["role"]](data, row) for row in group["rows"]]
    return [groups[0], *(g for g in groups[1:] if g["rows"])]


def _hover_trial(data: DesignReportData, row: Row) -> str:
    return hover(f"candidate {row['number']}", describe_decoder(row["choices"]), {}, (), {})


def _hover_member(data: DesignReportData, row: Row) -> str:
    heading = f"front: {row['key']}"
    return hover(heading, describe_decoder(row["choices"]), row["values"], data.quantities, {})


def _hover_baseline(data: DesignReportData, row: Row) -> str:
    return hover(str(row["name"]), describe_decoder(row["choices"]), row["values"], data.quantities, {})


def _shared(group: Row) -> dict[str, Any]:
    baseline = group["role"] == "baseline"
    return {
        "name": group["name"],
        "mode": "lines+markers" if baseline else "markers",
        "customdata": [row.get("key", "") for row in group["rows"]],
        "hovertext": group["hover"],
        "hoverinfo": "text",
        "meta": {"role": group["role"]},
        "line": {"color": group["marker"]["color"], "width": 1.5, "dash": "dot"},
    }


def _scatter(group: Row, x: str, y: str) -> Any:
    columns = {n: [finite(row["values"].get(n)) for row in group["rows"]] for n in (x, y)}
    return graph_objects().Scatter(x=columns[x], y=columns[y], marker=group["marker"], **_shared(group))


def space_figure(data: DesignReportData) -> Figure | None:
    """The front in three dimensions, the proxy upwards; None where fewer than three quantities are known."""
    names = [name for name in [*data.costs, data.proxy] if name in data.quantities]
    if len(names) < 3:
        return None
    x, y, z = names[0], names[1], data.proxy
    traces = []
    for group in _groups(data):
        columns = {n: [finite(row["values"].get(n)) for row in group["rows"]] for n in (x, y, z)}
        marker = group["marker"] | {"size": {"trial": 2, "front": 5, "baseline": 4}[group["role"]]}
        traces.append(graph_objects().Scatter3d(x=columns[x], y=columns[y], z=columns[z], marker=marker, **_shared(group)))
    # Axes in space have no margins to keep.
    axes = {f"{name}axis": axis(quantity) for name, quantity in (("x", x), ("y", y), ("z", z))}
    for settings in axes.values():
        del settings["automargin"]
    return plain_figure(
        traces,
        scene={
            **axes,
            "camera": {"eye": {"x": 1.7, "y": -1.7, "z": 0.7}},
            "aspectmode": "cube",
        },
        showlegend=False,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
    )


def prediction_figure(data: DesignReportData) -> Figure | None:
    """Measured against predicted latency: the networks the model was checked on, the front, and where both are equal."""
    rows = design_tables.predictions(data).rows
    checks = list((data.latency_model or {}).get("points") or [])
    if not rows and not checks:
        return None
    entries = {entry["key"]: entry for entry in data.front}
    values = [v for row in [*rows, *checks] for v in (row["predicted"], row["measured"])]
    ends = [min(values), max(values)]
    traces = [
        graph_objects().Scatter(
            x=ends, y=ends, mode="lines", line={"color": GREY, "width": 1, "dash": "dash"}, hoverinfo="skip", name="equal"
        )
    ]
    for name, points, colour, size in (("checked after the fit", checks, GREY, 6), ("front", rows, GREEN, 8)):
        if points:
            traces.append(
                graph_objects().Scatter(
                    x=[p["predicted"] for p in points],
                    y=[p["measured"] for p in points],
                    name=name,
                    mode="markers",
                    marker={"color": colour, "size": size},
                    customdata=[p.get("key", "") for p in points],
                    hovertext=[_hover_prediction(p, entries.get(p.get("key", ""))) for p in points],
                    hoverinfo="text",
                )
            )
    return plain_figure(
        traces,
        xaxis=axis("latency") | {"title": {"text": "predicted latency"}},
        yaxis=axis("latency") | {"title": {"text": "measured latency"}},
        hovermode="closest",
        showlegend=True,
        legend=LEGEND,
        margin={"l": 64, "r": 16, "t": 40, "b": 52},
    )


def _hover_prediction(point: Row, entry: Row | None) -> str:
    error = (point["predicted"] - point["measured"]) / point["measured"]
    text = hover(
        f"front: {entry['key']}" if entry else "checked",
        describe_decoder(entry["choices"]) if entry else "",
        {"latency": point["measured"]},
        ["latency"],
        {},
    )
    return f"{text}<br>predicted {error:+.1%} off"


def axis_titles(data: DesignReportData) -> dict[str, str]:
    """Per slice, what it shows: `decoder parameters against latency`."""
    return {slice_name(x, y): f"{title(y)} against {title(x)}" for x, y in design_tables.slice_pairs(data)}
