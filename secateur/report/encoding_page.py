"""The page about a trained encoding: what it is, a map, walks through neighbours, distances, and what it decodes."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings.learned.figures import NUMBERS
from secateur.report.cell_drawings import drawings
from secateur.report.charts import BLUE, GREEN, GREY, LEGEND, MARGIN, Figure, figure, graph_objects, line, plain_axis
from secateur.report.data import Row
from secateur.report.encoding_data import Decoded, EncodingData, Map, Measure, Nearness
from secateur.report.page import page
from secateur.report.rows import Column, Table, settings_rows
from secateur.spaces.cells import CellSpace
from secateur.spaces.cells.drawing import Look, drawn

#: From low to high: legible on white and on black.
SCALE = ("#5a4a9c", "#3f6fa8", "#2b8f8f", "#45b06a", "#a5c93a", "#f2c32e")
#: Values beyond this share of the worst have the colour of the worst.
WORST = 0.05
PROJECTIONS = {"tsne": "t-SNE", "pca": "the two largest principal components"}
#: Pixels of a drawing, at least and at most, and how far it may shrink.
LEAST, MOST, SHRUNK = 250, 1150, 0.72


def encoding_html(data: EncodingData) -> str:
    """The page. Raises MissingExtraError where plotly or jinja2 is not installed."""
    losses = [value for value in data.card.get("losses", ()) if value is not None]
    figures = {"map": map_figure(data.map, data.measure)}
    figures |= {"losses": losses_figure(losses)} if losses else {}
    figures |= {"distances": distances_figure(data.nearness)} if data.nearness else {}
    title = f"{data.card['method']} of {data.space.name}"
    own: dict[str, Any] = {"facts": facts(data), "summary": summary(data), "settings": settings_rows(data.card["settings"])}
    own |= {"card": card_table(data), "shown": shown(data), "walk": walk_cards(data), "samples": samples_cards(data)}
    return page(
        "encoding.html",
        title,
        figures,
        data=data,
        total=counted(data.total),
        projection=PROJECTIONS[data.map.projection],
        **own,
    )


def summary(data: EncodingData) -> str:
    """What the page found, in a sentence or two."""
    what = f"{data.dimensions} numbers for each of {counted(data.total)} architectures of {data.space.name}."
    if data.walk is not None:
        what += f" {data.walk.mean:.1f} edits from one to the nearest on a walk, {data.walk.random:.1f} between random ones."
    if data.nearness is not None and data.nearness.spearman is not None:
        what += f" Spearman's correlation of latent and edit distance: {data.nearness.spearman:.2f}."
    return what


def counted(number: int) -> str:
    """A number of architectures: 15,625, or about 10⁵³."""
    if number < 10**12:
        return f"{number:,}"
    return f"about 10{str(round(math.log10(number))).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def facts(data: EncodingData) -> list[tuple[str, str]]:
    """Short facts about the training and what is shown."""
    card = data.card
    found = [("folder", data.name), ("method", str(card["method"])), ("space", str(card["space"]))]
    found += [(name, ", ".join(map(str, v)) if isinstance(v, list) else str(v)) for name, v in card["options"].items()]
    found += [("trained on", f"{card['trained_on']:,}")] if "trained_on" in card else []
    found += [("held out", f"{card['tested_on']:,}")] if "tested_on" in card else []
    found += [("epochs", str(len(card["losses"])))] if "losses" in card else []
    found += [("seconds", f"{card['seconds']:.0f}")] if "seconds" in card else []
    found.append(("seed", str(card["seed"])))
    return found + ([("table", data.measure.table)] if data.measure and data.measure.table else [])


def card_table(data: EncodingData) -> Table:
    """The figures that the card tells."""
    rows: list[Row] = [
        {"figure": name.replace("_", " "), "value": value, "shown_as": "number" if name in NUMBERS else "share"}
        for name, value in (data.card.get("figures") or {}).items()
        if value is not None
    ]
    return Table([Column("figure", ""), Column("value", "")], rows)


# Figures.


def losses_figure(losses: list[float]) -> Figure:
    """The mean loss of each epoch."""
    style = {"color": GREEN, "width": 2}
    said = {"mode": "lines+markers", "hovertemplate": "epoch %{x}: %{y:.4f}<extra></extra>"}
    ticks = {"dtick": 1} if len(losses) <= 12 else {}
    xaxis = plain_axis("epoch", **ticks)
    return figure([line(list(range(1, len(losses) + 1)), losses, style, **said)], xaxis=xaxis, yaxis=plain_axis("loss"))


def map_figure(plane: Map, measure: Measure | None) -> Figure:
    """A point per architecture, coloured by its value; the walk through neighbours, and the architecture that is looked at."""
    known = np.isfinite(plane.values) if measure is not None else np.zeros(len(plane.values), dtype=bool)
    traces = []
    if (~known).any():
        marker = {"color": GREY if measure else BLUE, "size": 5, "opacity": 0.7}
        traces.append(_points(plane, np.flatnonzero(~known), marker, "no value" if measure else "architectures", None))
    if measure is not None:
        marker = {"size": 5, "opacity": 0.85, "color": plane.values[known].tolist(), **_colours(plane.values[known], measure)}
        traces.append(_points(plane, np.flatnonzero(known), marker, "architectures", measure))
    walked = list(plane.walked)
    at = {"x": _rounded(plane.places[walked, 0]), "y": _rounded(plane.places[walked, 1])}
    ring = {"color": "rgba(0,0,0,0)", "size": 9, "line": {"color": "#e0561a", "width": 1.6}}
    passes = {"name": "walk through neighbours", "mode": "lines+markers", "line": {"color": "#e0561a", "width": 1.2}}
    traces.append(graph_objects().Scatter(**at, **passes, marker=ring, hoverinfo="skip"))
    star = {"color": "#e0561a", "size": 14, "symbol": "star", "line": {"color": "#ffffff", "width": 1}}
    first = {"x": at["x"][:1], "y": at["y"][:1], "name": "its start", "mode": "markers", "hoverinfo": "skip"}
    traces.append(graph_objects().Scatter(**first, marker=star))
    chosen = {"color": "rgba(0,0,0,0)", "size": 15, "line": {"color": "#d6246e", "width": 3}}
    traces.append(graph_objects().Scatter(x=[], y=[], name="looked at", mode="markers", marker=chosen, hoverinfo="skip"))
    hidden = {"visible": False}
    return figure(traces, xaxis=hidden, yaxis=hidden, hovermode="closest", margin={"l": 8, "r": 8, "t": 40, "b": 8}, **LEGEND)


def _points(plane: Map, chosen: np.ndarray, marker: dict[str, Any], name: str, measure: Measure | None) -> Any:
    at = {"x": _rounded(plane.places[chosen, 0]), "y": _rounded(plane.places[chosen, 1])}
    said = [measure.said(value) for value in plane.values[chosen].tolist()] if measure else None
    how = {"hovertext": said, "hoverinfo": "text"} if said else {"hoverinfo": "none"}
    return graph_objects().Scatter(**at, **how, name=name, mode="markers", marker=marker, customdata=chosen.tolist())


def _rounded(values: np.ndarray) -> list[float]:
    """Enough digits to be drawn, and no more to be sent."""
    return [float(f"{value:.4g}") for value in values.tolist()]


def _colours(values: np.ndarray, measure: Measure) -> dict[str, Any]:
    """The scale of colours, from dark to light: the best of a metric is light. The worst, among which there are outliers, share
    the last one."""
    low, high = float(values.min()), float(values.max())
    if measure.best == "max":
        low = float(np.quantile(values, WORST))
    else:
        high = float(np.quantile(values, 1 - WORST))
    scale = [[i / (len(SCALE) - 1), colour] for i, colour in enumerate(SCALE)]
    bar = {"title": {"text": escape(str(measure)), "side": "right"}, "thickness": 12, "outlinewidth": 0}
    bar["tickformat"] = "~s" if high >= 1e4 else "~g"
    turned = measure.table is not None and measure.best == "min"
    return {"colorscale": scale, "cmin": low, "cmax": max(high, low + 1e-9), "reversescale": turned, "colorbar": bar}


def distances_figure(found: Nearness) -> Figure:
    """A box of latent distances for each edit distance."""
    ends = {"lowerfence": "low", "q1": "first", "median": "median", "q3": "third", "upperfence": "high"}
    drawn = {place: [getattr(box, name) for box in found.boxes] for place, name in ends.items()}
    trace = graph_objects().Box(x=[box.edits for box in found.boxes], **drawn, marker={"color": GREEN}, line={"width": 1.5})
    xaxis = plain_axis("edit distance", dtick=1 if len(found.boxes) < 16 else 2)
    return figure([trace], xaxis=xaxis, yaxis=plain_axis("latent distance (L2)", rangemode="tozero"), margin=MARGIN)


# Cells.


def shown(data: EncodingData) -> dict[str, Any]:
    """What the page's script shows of each point of the map: its cells or its words, its value and its key; and the places of
    the points from the best to the worst."""
    found, measure = data.map, data.measure
    known = np.isfinite(found.values) & (measure is not None)
    sign = -1 if measure is not None and measure.best == "max" else 1
    order = np.lexsort((np.arange(len(known)), np.where(known, sign * found.values, np.inf)))
    said = [measure.said(v) if k and measure else "" for v, k in zip(found.values.tolist(), known.tolist(), strict=True)]
    out: dict[str, Any] = {"said": said, "keys": [a.key for a in found.architectures], "order": order.tolist()}
    if isinstance(data.space, CellSpace):
        return {**out, "drawings": drawings(data.space, found.architectures)}
    return {**out, "words": [words(a) for a in found.architectures]}


def words(architecture: Architecture) -> str:
    """All choices of an architecture."""
    return ", ".join(
        f"{name} {'·'.join(map(str, value)) if isinstance(value, tuple) else value}" for name, value in architecture.choices
    )


def walk_cards(data: EncodingData) -> dict[str, Any] | None:
    """The cells of the walk in order, each with its value and how far it is from the one before."""
    if data.walk is None:
        return None
    look = Look.narrow(data.space.frame.names) if isinstance(data.space, CellSpace) else None
    cards = []
    for place, architecture in enumerate(data.walk.architectures):
        edits = data.walk.edits[place - 1] if place else None
        heading = "start" if edits is None else f"{edits} edit" + "s" * (edits != 1)
        card = {"heading": heading, "said": _said(data.measure, float(data.walk.values[place]))}
        if look is not None and isinstance(data.space, CellSpace):
            card["picture"] = drawn(data.space.graphs(architecture), look)
        else:
            card["words"] = words(architecture)
        cards.append(card)
    return {"cards": cards, "width": _width([card.get("picture", "") for card in cards])}


def samples_cards(data: EncodingData) -> dict[str, Any] | None:
    """The cells that were decoded: those of random draws, and those on the way between two."""
    if data.samples is None or not isinstance(data.space, CellSpace):
        return None
    look = Look.narrow(data.space.frame.names)

    def card(cell: Decoded, heading: str) -> dict[str, str]:
        picture = "" if cell.graph is None else drawn({"cell": cell.graph}, look)
        return {"heading": heading, "said": _said(data.measure, cell.value), "picture": picture}

    random = [card(cell, "") for cell in data.samples.cells]
    way = [card(cell, _percent(*cell.share)) for cell in data.samples.between]
    return {"random": random, "way": way, "width": _width([one["picture"] for one in [*random, *way]])}


def _percent(first: float, last: float) -> str:
    return f"{first:.0%}" if first == last else f"{100 * first:.0f}–{last:.0%}"


def _said(measure: Measure | None, value: float) -> str:
    return measure.said(value) if measure is not None and np.isfinite(value) else ""


def _width(pictures: list[str]) -> int:
    """How wide cards must be, in pixels, so that the widest picture stays legible."""
    widths = [int(picture.partition('viewBox="0 0 ')[2].split()[0]) for picture in pictures if picture]
    return int(min(MOST, max([LEAST, *(SHRUNK * width for width in widths)])))
