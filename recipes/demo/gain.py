"""What `secateur demo` gains, in every format that can be shipped: the unpruned network beside the one that is named first.

python gain.py RUN          # take the formats of a finished demo into gain.csv, print the table
python gain.py              # print the table of gain.csv
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FORMATS = ("PyTorch", "ONNX", "ONNX int8", "ONNX int4")


def measured(folder: Path) -> list[dict[str, Any]]:
    """A row per network and format, as the run compared them."""
    import secateur
    from secateur.report.formats_rows import UNPRUNED
    from secateur.runs.prune.report import PruneReport

    run = secateur.PruneRun(folder)
    best = run.headline
    if best is None:
        raise SystemExit("no network of this run keeps 90 % of what was learned.")
    names = {UNPRUNED: ("unpruned", ""), best.key: ("pruned", f"{best.gain}: {best.key[:8]}")}
    found = [row for row in PruneReport(run).format_rows() if row["key"] in names]
    told = ("format", "latency", "speedup", "bytes", "score")
    return [{"network": names[r["key"]][0], **{n: r[n] for n in told}, "about": names[r["key"]][1]} for r in found]


def rows() -> list[dict[str, str]]:
    with (HERE / "gain.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table() -> str:
    """Latency, accuracy on validation data and size of both networks in each format; against the unpruned one in PyTorch."""
    found = {(row["network"], row["format"]): row for row in rows()}
    lines = [f"| | {' | '.join(FORMATS)} |", "|---" * (1 + len(FORMATS)) + "|"]
    for network, title in (("unpruned", "MiniLM-L6, fine-tuned"), ("pruned", "pruned")):
        cells = []
        for name in FORMATS:
            row = found[network, name]
            faster = "" if (network, name) == ("unpruned", "PyTorch") else f" ({float(row['speedup']):.1f} ×)"
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
