"""What importance ordering found, and which of the original heads a sub-network keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur.report.data import ReportData, Row

#: How many points a layer's curve of units has at most.
POINTS = 64


def kept(value: int | list[int], full: int) -> list[int]:
    """The places kept, ascending: the first `value`, or those listed."""
    return list(range(min(value, full))) if isinstance(value, int) else sorted(value)


def kept_layers(data: ReportData, plan: dict[str, Any]) -> list[Row]:
    """Per layer of the unpruned network: how many heads and units are kept, and the original indices of the heads."""
    by_index = {layer["index"]: layer for layer in plan["layers"]}
    order = (data.importance or {}).get("order_heads")
    rows: list[Row] = []
    for index in range(data.shape["layers"]):
        layer = by_index.get(index, {"heads": 0, "units": 0})
        places = kept(layer["heads"], data.shape["heads"])
        heads = sorted(int(order[index][p]) for p in places) if order is not None else places
        units = layer["units"] if isinstance(layer["units"], int) else len(layer["units"])
        rows.append({"layer": index, "kept": index in by_index, "heads": len(heads), "original_heads": heads, "units": units})
    return rows


def head_scores(data: ReportData) -> list[list[Row]]:
    """Per layer and original head: its score and its place in the order. Empty where nothing was ordered."""
    found = data.importance
    if found is None or not found.get("heads"):
        return []
    rows = []
    for scores, order in zip(found["heads"], found["order_heads"], strict=True):
        place = {int(original): i for i, original in enumerate(order)}
        rows.append([{"head": i, "score": float(s), "place": place[i]} for i, s in enumerate(scores)])
    return rows


def unit_curves(data: ReportData) -> list[list[Row]]:
    """Per layer: the share of its importance (0…1) that the first share of its units holds, in at most `POINTS` + 1 points."""
    found = data.importance
    if found is None or not found.get("units"):
        return []
    curves = []
    for scores, order in zip(found["units"], found["order_units"], strict=True):
        sorted_scores = np.asarray(scores, dtype=np.float64)[np.asarray(order, dtype=np.int64)]
        cumulative = np.concatenate([[0.0], np.cumsum(sorted_scores)])
        total = cumulative[-1] if cumulative[-1] > 0 else 1.0
        picked = np.unique(np.linspace(0, len(sorted_scores), min(POINTS, len(sorted_scores)) + 1).round().astype(int))
        count = len(sorted_scores)
        curves.append(
            [{"units": int(i), "share": float(i / count), "importance": float(cumulative[i] / total)} for i in picked]
        )
    return curves
