"""Pruned and unpruned networks with float, int8 and four-bit weights: score, file, memory and latency side by side.

    python recipes/prune-methods/quantised.py --model MINILM --data GLUE --to RUNS > recipes/prune-methods/quantised.csv

Klein et al. (2024), appendix F, on a CPU. For each task a short run of `secateur prune`; then its unpruned network, the one
that it names first and the best at each size are exported as PyTorch, ONNX, int8 and int4, scored on all validation data, and
timed in turns with the unpruned network in PyTorch (batch 1, 128 tokens, one thread, the quickest of three medians). A run that
is finished is not repeated. `python quantised.py` alone prints the tables of quantised.csv.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TASKS = {"stsb": "STS-B", "mrpc": "MRPC"}
#: Half an hour a task on two cores: less training than by default, and fewer validation examples for the search.
SETTINGS: dict[str, Any] = {"preset": "demo", "epochs": 5.0, "max_validation": 600, "polish_epochs": 2.0, "formats": False}
SETTINGS |= {"polish_at": ["10%", "30%", "50%"]}


def measured(model: str, data: Path, folder: Path) -> list[dict[str, Any]]:
    """A row per network and format of a run on the data, made where it is not there."""
    import secateur
    from secateur.report.formats_rows import UNPRUNED
    from secateur.runs.folder import open_run
    from secateur.runs.progress import Progress
    from secateur.runs.prune.formats import compare_formats
    from secateur.runs.prune.report import PruneReport
    from secateur.verbs.resume import resume

    if not folder.exists():
        secateur.prune(model, data, to=folder, progress=False, **SETTINGS).close()
    resume(folder, progress=False).close()
    run = open_run(folder)
    if said := compare_formats(run, Progress(False), None, anew=True):
        raise SystemExit("\n".join(said))
    whole, rows = run.unpruned["body_parameters"], []
    for row in PruneReport(run).format_rows():
        share = 1.0 if row["key"] == UNPRUNED else run.member(row["key"]).values["body_parameters"] / whole
        rows.append(
            {"task": data.name, "layers": share, **{name: row[name] for name in row if name not in ("network", "smaller")}}
        )
    return rows


def tables(path: Path = HERE / "quantised.csv") -> str:
    """A table per task, a row per network and format."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    blocks = []
    for task, title in TASKS.items():
        own = [row for row in rows if row["task"] == task]
        lines = [f"| {title}: layers kept | format | file | memory | latency | faster | {own[0]['metric']} |"]
        lines.append("|---:|---|---:|---:|---:|---:|---:|")
        for row in sorted(own, key=lambda row: -float(row["layers"])):
            sizes = [f"{float(row[name]) / 1e6:.1f} MB" for name in ("bytes", "memory")]
            speed = [f"{1e3 * float(row['latency']):.1f} ms", f"{float(row['speedup']):.1f} ×", f"{float(row['score']):.3f}"]
            lines.append(f"| {100 * float(row['layers']):.0f} % | {row['format']} | {' | '.join([*sizes, *speed])} |")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--data", type=Path, help="a folder with the tasks' folders")
    parser.add_argument("--to", type=Path, help="where the runs lie")
    given = parser.parse_args()
    if given.model is None:
        print(tables())
        return
    rows = [row for task in TASKS for row in measured(given.model, given.data / task, given.to / task)]
    writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()})


if __name__ == "__main__":
    main()
