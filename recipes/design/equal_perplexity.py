"""Fronts and their layer-scaled baselines, trained: what a front saves at equal perplexity, not only at equal proxy.

    secateur design --layers 1..8 --width 32..256:32 --inner 64..1024:64 --embedding 128 --factor 2 --vocabulary 2048 \\
        --cutoffs 1024,1536 --positions 128 --length 128 --no-baselines --to runs/small
    python recipes/design/equal_perplexity.py list runs/small > front.jsonl
    python recipes/design/benchmark.py train --text wikitext-2 --out runs/benchmark --list front.jsonl   # then latency, merge
    python recipes/design/equal_perplexity.py analyse recipes/design/benchmark.parquet

Two fronts are compared. One was searched for, in the space of the benchmark with one embedding; a part of it was trained. The
other is what the proxy picks of all trained networks of that space with an adaptive embedding. The baseline has GPT-2's layers
in this size: the inner width is 4 × the width, and the layer is repeated 1 to 8 times.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from secateur.errors import DataError, SecateurError
from secateur.pareto import non_dominated
from secateur.spaces.decoder import architecture
from secateur.spaces.decoder_counts import decoder_parameters
from secateur.tables import Table, read_trained

#: The layer that the baseline repeats, and how often.
WIDTH, HEADS, LAYERS, EMBEDDING, FACTOR = 128, 4, range(1, 9), 128, 2
MEMBERS = 10
#: Where the networks come from among which the proxy picks.
POOL = ("random", "homogeneous", "search")
COSTS = {"latency": (1e3, "ms"), "memory": (1e-6, "MB")}


def listed(run: Path) -> list[dict[str, str]]:
    """The baseline, members of the run's front evenly spaced by their proxy, and the quickest in the baseline's range of it."""
    from secateur.runs.folder import open_run

    scaled = [architecture("gpt2", WIDTH, [HEADS] * n, [4 * WIDTH] * n, EMBEDDING, FACTOR) for n in LAYERS]
    front = sorted(open_run(run).front, key=lambda m: m.values["decoder_parameters"])
    last = len(front) - 1
    chosen = {front[round(i * last / (MEMBERS - 1))].key for i in range(MEMBERS)}
    least, most = (decoder_parameters(found) for found in (scaled[0], scaled[-1]))
    quick = non_dominated(np.array([(-m.values["decoder_parameters"], m.values["latency"]) for m in front]))
    chosen |= {m.key for m, kept in zip(front, quick, strict=True) if kept and least <= m.values["decoder_parameters"] <= most}
    rows = [{"architecture": m.architecture.to_json(), "source": "search"} for m in front if m.key in chosen]
    return rows + [{"architecture": found.to_json(), "source": "baseline"} for found in scaled]


def picked(table: Table, cost: str) -> Table:
    """The proxy's front: those of which none other has as many decoder parameters at less cost, or more at no higher cost."""
    return table.take(non_dominated(np.column_stack([-sizes(table), table.column(cost)])))


def sizes(table: Table) -> np.ndarray:
    """The decoder parameters of each network, from its architecture."""
    return np.array([decoder_parameters(found) for found in table.architectures], dtype=float)


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


def compared(baselines: Table, fronts: Mapping[str, Table]) -> str:
    """A table: what each baseline costs, and what the front (of each cost) saves at equal proxy and at equal perplexity."""
    header = ["baseline", "perplexity"]
    for cost, word in (("latency", "faster"), ("memory", "less")):
        header += [cost, f"{word} at equal proxy", "at equal perplexity", "interpolated"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for row in np.argsort(sizes(baselines), kind="stable"):
        size, perplexity = sizes(baselines)[row], float(baselines.column("perplexity")[row])
        cells = [_layers(len(tuple(baselines.architectures[row]["heads"]))), f"{perplexity:.1f}"]  # type: ignore[arg-type]
        for cost, (scale, unit) in COSTS.items():
            own, members = float(baselines.column(cost)[row]), fronts[cost]
            costs = members.column(cost)
            pairs = list(zip(members.column("perplexity").tolist(), costs.tolist(), strict=True))
            found = (
                min(costs[sizes(members) >= size].tolist(), default=None),
                cost_at(pairs, perplexity),
                between(pairs, perplexity),
            )
            cells += [f"{own * scale:.2f} {unit}", *("–" if other is None else f"{own / other:.2f} ×" for other in found)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _layers(count: int) -> str:
    return f"{count} layer{'s' * (count > 1)}"


def analyse(table: Path) -> str:
    """Markdown: the baselines against the searched front, and against the proxy's picks of all that was trained.

    Networks with a plain embedding are left out: the baselines have none.
    Raises DataError where the table has no front, no baselines, or networks of theirs without latency or memory.
    """
    trained = read_trained(table)
    sources = ("search",), ("baseline",), [source for source in POOL if source in trained.sources]
    front, baselines, pool = (_adaptive(trained.only(some).averaged()) for some in sources)
    _check_measured(table, baselines, pool)
    picks = {cost: picked(pool, cost) for cost in COSTS}
    counts = " and ".join(f"{len(found)} ({cost})" for cost, found in picks.items())
    return "\n\n".join(
        [
            f"Against {len(front)} members of a searched front:",
            compared(baselines, dict.fromkeys(COSTS, front)),
            f"Against what the proxy picks of {len(pool)} trained networks, {counts}:",
            compared(baselines, picks),
        ]
    )


def _adaptive(table: Table) -> Table:
    return table.take([bool(found["embedding"]) for found in table.architectures])


def _check_measured(table: Path, *parts: Table) -> None:
    costs = np.concatenate([np.column_stack([part.column(cost) for cost in COSTS]) for part in parts])
    missing = np.isnan(costs).any(axis=1)
    if missing.any():
        raise DataError(
            f"`{table}`: {missing.sum()} of {len(missing)} networks of the fronts and baselines have no `latency` or no "
            "`memory`. Run `benchmark.py latency`, then `benchmark.py merge`."
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the architectures to train").add_argument("run", type=Path)
    commands.add_parser("analyse", help="the comparison").add_argument("table", type=Path)
    given = parser.parse_args(arguments)
    try:
        print("\n".join(json.dumps(row) for row in listed(given.run)) if given.command == "list" else analyse(given.table))
    except SecateurError as error:
        raise SystemExit(f"equal_perplexity: {error}") from None


if __name__ == "__main__":
    main()
