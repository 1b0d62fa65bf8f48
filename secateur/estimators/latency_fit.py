"""The arithmetic behind the latency model: which networks to measure, and the fit.

Why a sum of parts: on 72 GPT-2s of the paper's space (batch 1, length 192, one thread; 20 held out, 20 splits; a busy machine)
its mean error was 8.2 %; with further powers of the width 8.2…8.4 %, with a correction per width 7.8 %, with layers timed one
by one 7.2 % (only torch allows that), with multiply-accumulates alone 30 %. What was left was the machine: errors of embedding
and layers rise and fall together (correlation 0.6). Fitted to 60 networks measured in three turns, about a minute apart, it was
off by 5.6 % on 20 others, on a machine as busy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secateur.architecture import Architecture
from secateur.estimators.latency_parts import Kind, Parts
from secateur.rng import generator


def solve(matrix: np.ndarray, seconds: np.ndarray, rounds: int = 4) -> np.ndarray:
    """Coefficients ≥ 0 with the least squares of relative errors; those beyond twice the median count less (Huber's weights),
    as a disturbed measurement should not bend the model."""
    from scipy.optimize import nnls

    relative = matrix / seconds[:, None]
    scale = np.linalg.norm(relative, axis=0)
    scale[scale == 0] = 1.0
    weights = np.ones(len(seconds))
    found = np.zeros(matrix.shape[1])
    for _ in range(rounds):
        root = np.sqrt(weights)
        found = nnls(relative / scale * root[:, None], root, maxiter=100 * matrix.shape[1])[0] / scale
        off = np.abs(relative @ found - 1)
        limit = max(2 * float(np.median(off)), 1e-9)
        weights = np.minimum(1.0, limit / np.maximum(off, 1e-12))
    return found


def corrections(strata: Sequence[str], layers: np.ndarray, predicted: np.ndarray, seconds: np.ndarray) -> dict[str, float]:
    """Stratum → r, so that `layers` × (1 + r) and what is around them come nearest to the seconds, in relative squares.

    Drawn to 0, as if two more networks of the stratum had shown none; one disturbed measurement counts as 30 % at most.
    """
    weight, missing = layers / seconds, np.clip(1 - predicted / seconds, -0.3, 0.3)
    at = np.array(strata)
    return {s: float((weight * missing)[at == s].sum() / ((weight**2)[at == s].sum() + 2)) for s in dict.fromkeys(strata)}


def relative_errors(predicted: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """|predicted − measured| / measured (n,)."""
    return np.asarray(np.abs(predicted - measured) / measured)


def spread_sample(parts: Parts, n: int, seed: int) -> list[Architecture]:
    """`n` architectures, drawn so that every kind, and every stratum, has its share.

    From a random pool, round-robin over the kinds; within a kind, the strata that were taken least come first. The smallest
    and the largest of the pool are among them, so that little is left to extrapolation. Two of each kind lead, the others
    follow in random order: wherever measuring stops, every kind has been seen.
    """
    rng = generator(seed, "latency model")
    pool = list({a.key: a for a in parts.pool(20 * n, rng)}.values())
    pool.sort(key=parts.size)
    chosen = [pool[0]] if len(pool) == 1 else [pool[0], pool[-1]]
    rest = pool[1:-1]
    places = [(parts.kind(rest[i]), parts.stratum(rest[i]), rest[i]) for i in rng.permutation(len(rest))]
    taken: dict[tuple[Kind, str], int] = {}
    kinds: dict[Kind, int] = {}

    def count(kind: Kind, stratum: str) -> None:
        kinds[kind], taken[kind, stratum] = kinds.get(kind, 0) + 1, taken.get((kind, stratum), 0) + 1

    for found in chosen:
        count(parts.kind(found), parts.stratum(found))
    while places and len(chosen) < n:
        best = min(range(len(places)), key=lambda i: (kinds.get(places[i][0], 0), taken.get(places[i][:2], 0)))
        kind, stratum, found = places.pop(best)
        count(kind, stratum)
        chosen.append(found)
    lead, others = split_kinds([parts.kind(a) for a in chosen[:n]], 2)
    return [chosen[i] for i in (*lead, *(others[j] for j in rng.permutation(len(others))))]


def split_kinds(kinds: Sequence[Kind], first: int) -> tuple[list[int], list[int]]:
    """The places of the `first` of each kind, and those of all others, each in order."""
    seen: dict[Kind, int] = {}
    lead: list[int] = []
    others: list[int] = []
    for place, kind in enumerate(kinds):
        seen[kind] = seen.get(kind, 0) + 1
        (lead if seen[kind] <= first else others).append(place)
    return lead, others


def held_back(kinds: Sequence[Kind], most: int) -> list[int]:
    """The places of at most `most` networks of these kinds to test a fit on, spread evenly over the run.

    Every kind keeps two networks to be fitted to; where no kind has more than two, one.
    """
    spare = split_kinds(kinds, 2)[1] or split_kinds(kinds, 1)[1]
    count = min(most, len(spare))
    return [spare[i * len(spare) // count] for i in range(count)]
