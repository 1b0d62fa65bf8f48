"""What a search saves against layer scaling at equal proxy: the tables of finished runs of `secateur design`, as one CSV.

    python recipes/design/savings.py runs/gpt2 runs/xl > recipes/design/savings.csv
    python recipes/design/savings.py --runs runs/gpt2 runs/xl > recipes/design/savings-runs.csv   # seconds, errors

A row per baseline: its latency and memory, those of the front's cheapest member with at least as many decoder parameters (found
for each cost by itself), how many times less the front needs, and the architecture of the quickest.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

from secateur.report.design_rows import comparison_rows, prediction_errors
from secateur.runs.design.report import DesignReport
from secateur.runs.folder import open_run


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """The comparison of one run, ready for CSV."""
    run = open_run(folder)
    data = DesignReport(run).data()
    rows = []
    for found in comparison_rows(data):
        row: dict[str, Any] = {"backbone": run.configuration.backbone, "baseline": found["family"], "layers": found["layers"]}
        row["decoder_parameters"] = int(found["proxy"])
        for cost, scale, digits in (("latency", 1e3, 2), ("memory", 1e-6, 1)):
            own, front = found[cost], found[f"{cost}_front"]
            row[cost] = round(own * scale, digits)
            row[f"{cost}_front"] = None if front is None else round(front * scale, digits)
            row[f"{cost}_times"] = None if front is None else round(own / front, 3)
        row["quickest"] = str(run.member(found["latency_key"]).architecture) if found["latency_key"] else None
        rows.append(row | later(run, found))
    run.close()
    return rows


def run_of(folder: Path) -> list[dict[str, Any]]:
    """One run, ready for CSV: the seconds of its stages, and the relative errors of its latency model on networks that it had
    not seen and on the members that were measured."""
    run = open_run(folder)
    data = DesignReport(run).data()
    row: dict[str, Any] = {"backbone": run.configuration.backbone}
    row |= {f"{stage['stage']}_seconds": round(stage["seconds"], 1) for stage in data.journal}
    model, members = run.latency_model["report"], prediction_errors(data)
    assert members is not None
    for name, count, errors in (("unseen", model["held_out"], model), ("members", members["members"], members)):
        row |= {name: count, f"{name}_mean": round(errors["mean"], 4), f"{name}_max": round(errors["max"], 4)}
    row["baselines"] = len(run.baselines)
    run.close()
    return [row]


def later(run: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Latency and memory once the memory of earlier text is full (Transformer-XL): of the baseline, and of the members that the
    row compares it with."""
    own = next(b["values"] for b in run.baselines if b["name"] == found["name"])
    row: dict[str, Any] = {}
    for cost, scale, digits in (("latency", 1e3, 2), ("memory", 1e-6, 1)):
        key, name = found[f"{cost}_key"], f"later_{cost}"
        there = run.member(key).values.get(name) if key else None
        known = name in own and there is not None
        row[name] = round(own[name] * scale, digits) if name in own else None
        row[f"{name}_front"] = round(there * scale, digits) if known else None
        row[f"{name}_times"] = round(own[name] / there, 3) if known else None
    return row


def main(given: list[str]) -> None:
    read, folders = (run_of, given[1:]) if given[:1] == ["--runs"] else (rows_of, given)
    rows = [row for folder in folders for row in read(Path(folder))]
    if not rows:
        raise SystemExit("savings: these runs have no baselines to compare with.")
    writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
