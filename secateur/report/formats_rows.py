"""The formats of the networks that a run names, side by side: how quick, large and good each is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from secateur.report.data import Row
from secateur.report.rows import Column, Table, share

TITLES = {"torch": "PyTorch", "onnx": "ONNX", "int8": "ONNX int8", "int4": "ONNX int4"}
#: The key of the unpruned network.
UNPRUNED = "unpruned"


def format_rows(formats: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> list[Row]:
    """A row per network and format. `formats`: key → `Forms.as_dict()`, `names`: key → the network in a few words.

    `speedup` is against the unpruned network in PyTorch, timed in the same turns; so are `smaller` (the share of the file that
    is gone) and `points` (hundredths of the metric; None for a perplexity).
    """
    first = {} if UNPRUNED not in formats else formats[UNPRUNED]["forms"][0]
    rows = []
    for key, found in sorted(formats.items(), key=lambda pair: pair[0] != UNPRUNED):
        whole = found["forms"][0]["latency"] if key == UNPRUNED else found["unpruned"]
        for form in found["forms"]:
            size, score, before = share(form["bytes"], first.get("bytes")), form["score"], first.get("score")
            known = score is not None and before is not None and found["metric"] != "perplexity"
            row: Row = {"key": key, "network": names.get(key, key[:8]), "format": TITLES[form["name"]]}
            row |= {name: form[name] for name in ("latency", "bytes", "memory", "score")}
            row |= {"speedup": share(whole, form["latency"]), "smaller": None if size is None else 1 - size}
            rows.append(row | {"points": 100 * (score - before) if known else None, "metric": found["metric"]})
    return rows


def formats_table(rows: list[Row]) -> Table:
    """The rows as people read them; what is not known of any is left out."""
    metric = next((row["metric"] for row in rows if row["metric"]), "score")
    columns = [Column("network", "network"), Column("format", "format"), Column("speedup", "faster", "times")]
    columns += [
        Column("latency", "latency", "seconds"),
        Column("smaller", "smaller", "share"),
        Column("bytes", "file", "bytes"),
    ]
    columns += [Column("memory", "memory", "bytes"), Column("points", "points", "points")]
    columns += [Column("score", metric.replace("_", " "), "number" if metric == "perplexity" else "score")]
    return Table(columns, rows).filled()
