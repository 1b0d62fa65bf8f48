"""How near searchers come to the best there is: on the latency model of a finished run, every searcher and the exact front.

    python recipes/design/optimum.py runs/gpt2 runs/xl > recipes/design/optimum.csv

Nothing is measured: all searchers are judged by the model that they search on. A row per searcher and seed, for two objectives
(decoder parameters and latency) and three (and memory): the seconds it took, its candidates, its front, the hypervolume of that
as a share of the exact front's (each objective from its best to its worst on all fronts, and a tenth beyond), the share of its
front that another is better than or equal to in everything (`beaten` by the exact front, `beaten_alike` by the homogeneous one,
which enumerates networks of equal layers), and, at three bounds on the latency, its most decoder parameters as a share of the
exact front's (mean).
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from secateur.estimators.together import Together
from secateur.pareto import hypervolume, non_dominated
from secateur.rng import generator
from secateur.runs.design.stages import DesignWork
from secateur.runs.folder import open_run
from secateur.runs.progress import Progress
from secateur.search import Evolution, Random
from secateur.search.exact import Solution
from secateur.spaces.decoder import Decoder
from secateur.trial import Trial

HERE = Path(__file__).resolve().parent
TRIALS = 2_500
SEEDS = range(3)
#: Shares of the slowest exact member's latency.
BOUNDS = (0.1, 0.3, 0.6)
ROUNDING = 1e-9


@dataclass(frozen=True)
class Front:
    """One front: its points (n, m), all minimised."""

    searcher: str
    seed: int | None
    candidates: int
    seconds: float
    points: np.ndarray


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return make(), time.perf_counter() - start


def searched(name: str, searcher: Any, together: Together, seed: int, trials: int) -> Front:
    """The front of a searcher's candidates."""

    def run() -> np.ndarray:
        while searcher.asked < trials:
            asked = searcher.ask(min(80, trials - searcher.asked))
            if not asked:
                break
            for trial, found in zip(asked, together.evaluate([t.architecture for t in asked]), strict=True):
                searcher.tell(Trial(trial.id, trial.architecture, values=found.values))
        return searcher.points(searcher.front())

    points, seconds = timed(run)
    return Front(name, seed, searcher.asked, seconds, points)


def fronts(work: DesignWork, objectives: Sequence[Any], trials: int) -> Iterator[Front]:
    """The exact front first, then the homogeneous one, then what searchers find."""
    space, sums = work.run.space, work._sums()
    together = Together(work.estimators(), objectives, [])
    solution, seconds = timed(lambda: Solution.of(space, sums, objectives))
    yield Front("exact", None, len(solution), seconds, solution.points)
    chosen = list(islice(solution.order(generator(0, "order")), trials))
    yield Front(f"exact, {trials:,} of it", None, len(chosen), seconds, solution.points[chosen])
    alike = Decoder(space.backbone, homogeneous=True, **{f.name: getattr(space.allowed, f.name) for f in fields(space.allowed)})
    equal, seconds = timed(lambda: Solution.of(alike, sums, objectives))
    yield Front("homogeneous", None, len(equal), seconds, equal.points)
    for seed in SEEDS:
        yield searched("evolution", Evolution(space, objectives, seed=seed), together, seed, trials)
        yield searched("evolution on the hull", Evolution(space, objectives, seed=seed, hull=True), together, seed, trials)
        yield searched("random", Random(space, objectives, seed=seed), together, seed, trials)


def beaten(points: np.ndarray, by: np.ndarray) -> float:
    """The share of the points that one of `by` is no worse than in anything."""
    margin = ROUNDING * np.abs(points)
    return float(np.mean([np.any(np.all(by <= point + m, axis=1)) for point, m in zip(points, margin, strict=True)]))


def most(points: np.ndarray, bound: float) -> float:
    """The most decoder parameters (first column, negated) within a latency (second)."""
    return float(-points[points[:, 1] <= bound, 0].min(initial=0.0))


def rows_of(folder: Path, trials: int = TRIALS) -> list[dict[str, Any]]:
    """The comparison on one run's latency model."""
    run = open_run(folder)
    work = DesignWork(run, Progress(False))
    rows = []
    for objectives in (run.objectives[:2], run.objectives):
        found = list(fronts(work, objectives, trials))
        exact, alike = found[0].points, found[2].points
        every = np.concatenate([f.points for f in found])
        low, high = every.min(axis=0), every.max(axis=0)
        volumes = [hypervolume((f.points - low) / (high - low), np.full(len(low), 1.1)) for f in found]
        limits = [max(share * exact[:, 1].max(), exact[:, 1].min()) for share in BOUNDS]
        for front, volume in zip(found, volumes, strict=True):
            within = [most(front.points, limit) / most(exact, limit) for limit in limits]
            rows.append(
                {
                    "backbone": run.configuration.backbone,
                    "objectives": len(objectives),
                    "searcher": front.searcher,
                    "seed": front.seed,
                    "candidates": front.candidates,
                    "seconds": round(front.seconds, 1),
                    "members": int(non_dominated(front.points).sum()),
                    "hypervolume": round(volume / volumes[0], 4),
                    "beaten": round(beaten(front.points, exact), 4),
                    "beaten_alike": round(beaten(front.points, alike), 4),
                    "within_latency": round(float(np.mean(within)), 3),
                }
            )
            print(rows[-1], file=sys.stderr)
    run.close()
    return rows


def tables(path: Path = HERE / "optimum.csv") -> str:
    """The recipe's table: means over the seeds, for two and for three objectives."""
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    heads = ["", "seconds", "members", "hypervolume", "beaten by the exact front", "by equal layers", "within a latency"]
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|---|---|---|"]
    for backbone, count, searcher in dict.fromkeys((r["backbone"], r["objectives"], r["searcher"]) for r in found):
        own = [r for r in found if (r["backbone"], r["objectives"], r["searcher"]) == (backbone, count, searcher)]
        mean = {name: fmean(float(r[name]) for r in own) for name in list(own[0])[5:]}
        shares = [f"{100 * mean[name]:.1f} %" for name in ("hypervolume", "beaten", "beaten_alike", "within_latency")]
        cells = [f"{backbone}, {count} objectives: {searcher}", f"{mean['seconds']:.1f}", f"{mean['members']:,.0f}", *shares]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--trials", type=int, default=TRIALS)
    args = parser.parse_args()
    rows = [row for folder in args.runs for row in rows_of(folder, args.trials)]
    writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


if __name__ == "__main__":
    main()
