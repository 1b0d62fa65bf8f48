"""What `secateur demo` gains, in every form that can be shipped: the unpruned network beside the one that the run names first.

    python gain.py RUN          # measure the forms of a finished demo, write gain.csv, print the table
    python gain.py              # print the table of gain.csv

Both networks are exported to PyTorch, ONNX and ONNX int8, scored on the run's validation data, and timed in turns (batch 1,
128 tokens, one thread); the lowest of three medians counts.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FORMS = {"torch": "PyTorch", "onnx": "ONNX", "int8": "ONNX int8"}
TURNS = 3


def measured(folder: Path) -> list[dict[str, Any]]:
    """A row per network and form."""
    import secateur
    from secateur.export import export
    from secateur.runs.progress import Progress
    from secateur.runs.prune.forms import judging

    run = secateur.PruneRun(folder)
    best = run.headline
    if best is None:
        raise SystemExit("no network of this run keeps 90 % of what was learned.")
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folders = {"unpruned": Path(scratch) / "unpruned", "pruned": Path(scratch) / "pruned"}
        export(run.supernet, run.supernet.whole, folders["unpruned"], tokenizer=run.tokenizer, int8=True, kind=run.task["kind"])
        best.save(folders["pruned"], int8=True)
        networks = {name: secateur.load(path) for name, path in folders.items()}
        judge = judging(run, folder / "supernet", Progress(False))
        for _ in range(TURNS):
            for name, path in folders.items():
                for form in judge(networks[name], path).forms:
                    row = {
                        "network": name,
                        "form": form.name,
                        "latency": form.latency,
                        "bytes": form.bytes,
                        "score": form.score,
                    }
                    known = rows.setdefault((name, form.name), row)
                    known["latency"] = min(known["latency"], form.latency)
    about = {"pruned": f"{best.gain}: {best.key[:8]}", "unpruned": ""}
    return [{**row, "about": about[row["network"]]} for row in rows.values()]


def rows() -> list[dict[str, str]]:
    with (HERE / "gain.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table() -> str:
    """Latency, accuracy on validation data and size of both networks in each form; against the unpruned one in PyTorch."""
    found = {(row["network"], row["form"]): row for row in rows()}
    whole = found["unpruned", "torch"]
    lines = ["| | PyTorch | ONNX | ONNX int8 |", "|---|---|---|---|"]
    for network, title in (("unpruned", "MiniLM-L6, fine-tuned"), ("pruned", "pruned")):
        cells = []
        for form in FORMS:
            row = found[network, form]
            times = float(whole["latency"]) / float(row["latency"])
            faster = "" if row is whole else f" ({times:.1f} ×)"
            size = f"{int(row['bytes']) / 1e6:.0f} MB"
            cells.append(f"{1e3 * float(row['latency']):.1f} ms{faster}, {float(row['score']):.3f}, {size}")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    if len(sys.argv) > 1:
        found = measured(Path(sys.argv[1]))
        with (HERE / "gain.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(found)
    print(table())


if __name__ == "__main__":
    main()
