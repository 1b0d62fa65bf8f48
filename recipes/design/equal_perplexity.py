"""A front and its layer-scaled baseline, trained: what the front saves at equal perplexity, not only at equal proxy.

    secateur design --layers 1..8 --width 32..256:32 --inner 64..1024:64 --embedding 128 --factor 2 --vocabulary 2048 \\
        --cutoffs 1024,1536 --positions 128 --length 128 --no-baselines --to runs/small
    python recipes/design/equal_perplexity.py list runs/small > front.jsonl
    python recipes/design/benchmark.py train --text wikitext-2 --out runs/benchmark --list front.jsonl   # then latency, merge
    python recipes/design/equal_perplexity.py analyse recipes/design/benchmark.parquet

The search runs in the space of the benchmark, with one embedding. The baseline has GPT-2's layers in this size: the inner width
is 4 × the width, and the layer is repeated 1 to 8 times.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path

from secateur.errors import DataError, SecateurError
from secateur.spaces.decoder import architecture
from secateur.tables import Trained, read_trained

#: The layer that the baseline repeats, and how often.
WIDTH, HEADS, LAYERS, EMBEDDING, FACTOR = 128, 4, range(1, 9), 128, 2
MEMBERS = 10


def listed(run: Path) -> list[dict[str, str]]:
    """The baseline, and members of the run's front evenly spaced by their proxy."""
    from secateur.verbs.starting import open_run

    opened = open_run(run)
    front = sorted(opened.front, key=lambda m: m.values["decoder_parameters"])
    last = len(front) - 1
    places = sorted({round(i * last / (MEMBERS - 1)) for i in range(MEMBERS)})
    rows = [{"architecture": front[place].architecture.to_json(), "source": "search"} for place in places]
    for layers in LAYERS:
        scaled = architecture("gpt2", WIDTH, [HEADS] * layers, [4 * WIDTH] * layers, EMBEDDING, FACTOR)
        rows.append({"architecture": scaled.to_json(), "source": "baseline"})
    return rows


def cost_at(front: Sequence[tuple[float, float]], perplexity: float) -> float | None:
    """The least cost of the (perplexity, cost) pairs that are at least as good; None where none is."""
    return min((cost for quality, cost in front if quality <= perplexity), default=None)


def between(front: Sequence[tuple[float, float]], perplexity: float) -> float | None:
    """The cost at that perplexity on the line between members that no other beats, in log-perplexity; None outside it."""
    steps: list[tuple[float, float]] = []
    for quality, cost in sorted(front):
        if not steps or cost < steps[-1][1]:
            steps.append((math.log(quality), cost))
    at = math.log(perplexity)
    for (low, dear), (high, cheap) in itertools.pairwise(steps):
        if low <= at <= high:
            return dear + (cheap - dear) * (at - low) / (high - low)
    return None


def analyse(table: Path) -> list[str]:
    """Markdown lines: per baseline, what the front needs at its perplexity.

    Raises DataError where the table has no front, no baselines, or networks of theirs without latency or memory.
    """
    trained = read_trained(table)
    front, baselines = trained.only("search").averaged(), trained.only("baseline").averaged()
    _measured(table, [*front, *baselines])
    baselines.sort(key=lambda row: row.decoder_parameters or 0)
    lines = [
        "| baseline | perplexity | latency | front, no worse | faster | interpolated | memory | front, no worse | less |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in baselines:
        cells = [f"{len(row.architecture['heads'])} layers", f"{row.perplexity:.1f}"]  # type: ignore[arg-type]
        for cost, scale, unit in (("latency", 1e3, "ms"), ("memory", 1e-6, "MB")):
            own = getattr(row, cost)
            pairs = [(m.perplexity, getattr(m, cost)) for m in front]
            best, line = cost_at(pairs, row.perplexity), between(pairs, row.perplexity)
            cells += [f"{own * scale:.2f} {unit}", "–" if best is None else f"{best * scale:.2f} {unit}"]
            cells.append("–" if best is None else f"{own / best:.2f} ×")
            if cost == "latency":
                cells.append("–" if line is None else f"{own / line:.2f} ×")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _measured(table: Path, rows: Sequence[Trained]) -> None:
    missing = [row for row in rows if row.latency is None or row.memory is None]
    if missing:
        raise DataError(
            f"`{table}`: {len(missing)} of {len(rows)} networks of the front and baseline have no `latency` or no `memory`. "
            "Run `benchmark.py latency`, then `benchmark.py merge`."
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the architectures to train").add_argument("run", type=Path)
    commands.add_parser("analyse", help="the comparison").add_argument("table", type=Path)
    given = parser.parse_args(arguments)
    try:
        lines = [json.dumps(row) for row in listed(given.run)] if given.command == "list" else analyse(given.table)
    except SecateurError as error:
        raise SystemExit(f"equal_perplexity: {error}") from None
    print("\n".join(lines))


if __name__ == "__main__":
    main()
