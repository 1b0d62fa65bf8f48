"""Fronts and their layer-scaled baselines, trained: what a front saves at equal perplexity, not only at equal proxy.

    secateur design --layers 1..8 --width 32..256:32 --inner 64..1024:64 --embedding 128 --factor 2 --vocabulary 2048 \\
        --cutoffs 1024,1536 --positions 128 --length 128 --no-baselines --to runs/small
    python recipes/design/equal_perplexity.py list runs/small > front.jsonl
    python recipes/design/benchmark.py train --text wikitext-2 --out runs/benchmark --list front.jsonl   # then latency, merge
    python recipes/design/equal_perplexity.py analyse recipes/design/benchmark.parquet

Two fronts are compared. One was searched for, in the space of the benchmark with one embedding; a part of it was trained. The
other is what the proxy picks of all trained networks of that space with an adaptive embedding. Two baselines repeat one layer
1 to 8 times: GPT-2's in this size, with an inner width of 4 × the width, and that of LiteTransformerSearch's code (`lts`), with
2 × the width and an embedding narrower than the model. Members of a front that evolution found in an earlier version
(`evolution`) show what the exact front gains.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import DataError, SecateurError
from secateur.pareto import non_dominated
from secateur.spaces.decoder import architecture
from secateur.spaces.decoder_counts import decoder_parameters
from secateur.tables import Table, read_trained

#: The baselines by source: their name, and width, heads, inner width, embedding and k of the layer they repeat.
BASELINES = {"baseline": ("GPT-2", (128, 4, 512, 128, 2)), "lts": ("LTS", (160, 4, 320, 128, 4))}
LAYERS = range(1, 9)
MEMBERS = 10
#: Where the networks come from among which the proxy picks.
POOL = ("random", "homogeneous", "search", "evolution")
COSTS = {"latency": (1e3, "ms"), "memory": (1e-6, "MB")}


def listed(run: Path) -> list[dict[str, str]]:
    """Members of the run's front evenly spaced by their proxy, the quickest in GPT-2's range of it, and the baselines."""
    from secateur.runs.folder import open_run

    scaled = {source: [repeated(*layer, n) for n in LAYERS] for source, (_, layer) in BASELINES.items()}
    front = sorted(open_run(run).front, key=lambda m: m.values["decoder_parameters"])
    last = len(front) - 1
    chosen = {front[round(i * last / (MEMBERS - 1))].key for i in range(MEMBERS)}
    least, most = (decoder_parameters(found) for found in (scaled["baseline"][0], scaled["baseline"][-1]))
    quick = non_dominated(np.array([(-m.values["decoder_parameters"], m.values["latency"]) for m in front]))
    chosen |= {m.key for m, kept in zip(front, quick, strict=True) if kept and least <= m.values["decoder_parameters"] <= most}
    rows = [{"architecture": m.architecture.to_json(), "source": "search"} for m in front if m.key in chosen]
    return rows + [{"architecture": found.to_json(), "source": source} for source in scaled for found in scaled[source]]


def repeated(width: int, heads: int, inner: int, embedding: int, factor: int, layers: int) -> Architecture:
    """A GPT-2 that repeats one layer."""
    return architecture("gpt2", width, [heads] * layers, [inner] * layers, embedding, factor)


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


def compared(baselines: Mapping[str, Table], fronts: Mapping[str, Table]) -> str:
    """A table: what each baseline costs, and what the front (of each cost) saves at equal proxy and at equal perplexity."""
    header = ["baseline", "perplexity"]
    for cost, word in (("latency", "faster"), ("memory", "less")):
        header += [cost, f"{word} at equal proxy", "at equal perplexity", "interpolated"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for source, table in baselines.items():
        table = table.take(np.argsort(sizes(table), kind="stable"))
        saved = {cost: savings(table, fronts[cost], cost) for cost in COSTS}
        for row, found in enumerate(table.architectures):
            layers = len(tuple(found["heads"]))  # type: ignore[arg-type]
            cells = [f"{BASELINES[source][0]}, {layers} layer{'s' * (layers > 1)}", f"{table.column('perplexity')[row]:.1f}"]
            for cost, (scale, unit) in COSTS.items():
                cells.append(f"{table.column(cost)[row] * scale:.2f} {unit}")
                cells += ["–" if times is None else f"{times:.2f} ×" for times in saved[cost][row]]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def savings(baselines: Table, front: Table, cost: str) -> list[list[float | None]]:
    """How many times the front's cost each baseline costs: at equal proxy, at equal perplexity, and interpolated."""
    pairs, count, found = pairs_of(front, cost), sizes(front), []
    for size, (perplexity, own) in zip(sizes(baselines), pairs_of(baselines, cost), strict=True):
        enough = front.column(cost)[count >= size].tolist()
        others = min(enough, default=None), cost_at(pairs, perplexity), between(pairs, perplexity)
        found.append([None if other is None else own / other for other in others])
    return found


def pairs_of(front: Table, cost: str) -> list[tuple[float, float]]:
    """Perplexity and cost of each network."""
    return list(zip(front.column("perplexity").tolist(), front.column(cost).tolist(), strict=True))


def gains(front: Table, other: Table, perplexities: Sequence[float], cost: str) -> list[float]:
    """The other front's cost over the front's, interpolated, at the perplexities that both have."""
    both = ([between(pairs_of(some, cost), at) for some in (front, other)] for at in perplexities)
    return [dear / own for own, dear in both if own is not None and dear is not None]


def against_evolution(front: Table, evolution: Table, baselines: Iterable[Table]) -> str:
    """One sentence: what the front gains over evolution's at the perplexities of the baselines."""
    perplexities = [at for table in baselines for at in table.column("perplexity").tolist()]
    told = []
    for cost in COSTS:
        times = gains(front, evolution, perplexities, cost)
        said = f"{fmean(times):.2f} × on average ({min(times):.2f} to {max(times):.2f})" if times else "–"
        told.append(f"{said} in {cost}")
    return f"Against {len(evolution)} members of evolution's front, interpolated at these perplexities: {', '.join(told)}."


def analyse(table: Path) -> str:
    """Markdown: the baselines against the searched front, and against the proxy's picks of all that was trained.

    Networks with a plain embedding are left out: the baselines have none.
    Raises DataError where the table has no front, no baselines, or networks of theirs without latency or memory.
    """
    trained = read_trained(table)

    def of(*sources: str) -> Table:
        return _adaptive(trained.only(sources).averaged())

    front, baselines = of("search"), {source: of(source) for source in BASELINES}
    pool = of(*(source for source in POOL if source in trained.sources))
    _check_measured(table, *baselines.values(), pool)
    picks = {cost: picked(pool, cost) for cost in COSTS}
    counts = " and ".join(f"{len(found)} ({cost})" for cost, found in picks.items())
    parts = [f"Against {len(front)} members of a searched front:", compared(baselines, dict.fromkeys(COSTS, front))]
    parts += [f"Against what the proxy picks of {len(pool)} trained networks, {counts}:", compared(baselines, picks)]
    if "evolution" in trained.sources:
        parts.append(against_evolution(front, of("evolution"), baselines.values()))
    return "\n\n".join(parts)


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
