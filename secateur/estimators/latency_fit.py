"""The arithmetic behind the latency model: which networks to measure, what they are described by, and the fit.

Why this model: on 72 GPT-2s of the paper's space (batch 1, length 192, one thread; 20 held out, 20 splits; a busy machine) its
mean error was 8.2 %; with further powers of the width 8.2…8.4 %, with a correction per width 7.8 %, with layers timed one by
one 7.2 % (only torch allows that), with multiply-accumulates alone 30 %. What was left was the machine: errors of embedding
and layers rise and fall together (correlation 0.6). Fitted to 60 networks measured in three turns, about a minute apart, it was
off by 5.6 % on 20 others, on a machine as busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.rng import generator
from secateur.spaces.base import Space

#: (embedding, factor) of an architecture's word vectors.
Pair = tuple[int, int]

#: What a layer's cost is made of at a fixed batch and length; each name is a coefficient, in seconds.
LAYER = ("layer", "width", "width_squared", "heads", "inner", "width_inner")


def pair_of(architecture: Architecture) -> Pair:
    embedding: Any = architecture["embedding"]
    factor: Any = architecture["factor"]
    return embedding, factor


def sizes_of(architecture: Architecture) -> tuple[int, int, int, int, int]:
    """Layers, width, sum of heads, sum of inner widths, and roughly the parameters of the layers."""
    choices: dict[str, Any] = dict(architecture.choices)
    layers, width, inner = len(choices["heads"]), choices["width"], sum(choices["inner"])
    return layers, width, sum(choices["heads"]), inner, width * (4 * layers * width + 2 * inner)


def feature_names(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """The names of the columns of `features`: those of the layers, then two per kind of embedding."""
    outside = [f"{what} {embedding}/{factor}" for embedding, factor in pairs for what in ("outside", "outside_width")]
    return (*LAYER, *outside)


def described(layers: Any, width: int, heads: Any, inner: Any) -> tuple[Any, ...]:
    """What `LAYER` names, of layers whose heads and inner widths come to these numbers, or arrays of them."""
    return layers, layers * width, layers * width * width, heads, inner, width * inner


def features(architectures: Sequence[Architecture], pairs: Sequence[Pair]) -> np.ndarray:
    """The (n, 6 + 2·pairs) matrix whose product with the coefficients is the latency.

    Costs of layers add up, so that sums over the layers are enough. Vocabulary, batch and length are constants of a fit: for
    one kind of embedding, look-up, projections and output layer cost a constant and something in proportion to the width.
    """
    out = np.zeros((len(architectures), len(LAYER) + 2 * len(pairs)))
    place = {pair: len(LAYER) + 2 * n for n, pair in enumerate(pairs)}
    for row, architecture in zip(out, architectures, strict=True):
        layers, width, heads, inner, _ = sizes_of(architecture)
        row[: len(LAYER)] = described(layers, width, heads, inner)
        at = place[pair_of(architecture)]
        row[at : at + 2] = 1, width
    return out


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


def corrections(widths: Sequence[str], layers: np.ndarray, predicted: np.ndarray, seconds: np.ndarray) -> dict[str, float]:
    """Width → r, so that `layers` × (1 + r) and what is around them come nearest to the seconds, in relative squares.

    Drawn to 0, as if two more networks of the width had shown none; one disturbed measurement counts as 30 % at most.
    """
    weight, missing = layers / seconds, np.clip(1 - predicted / seconds, -0.3, 0.3)
    at = np.array(widths)
    return {w: float((weight * missing)[at == w].sum() / ((weight**2)[at == w].sum() + 2)) for w in dict.fromkeys(widths)}


def relative_errors(predicted: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """|predicted − measured| / measured (n,)."""
    return np.asarray(np.abs(predicted - measured) / measured)


def spread_sample(space: Space, n: int, seed: int) -> list[Architecture]:
    """`n` architectures of the space, drawn so that every kind of embedding, and every part of the widths, has its share.

    From a random pool, round-robin over the kinds; within a kind, the widths that were taken least come first. The smallest
    and the largest of the pool are among them, so that little is left to extrapolation. Two of each kind lead, the others
    follow in random order: wherever measuring stops, every kind has been seen.
    """
    rng = generator(seed, "latency model")
    pool = list({a.key: a for a in space.sample_many(20 * n, rng)}.values())
    pool.sort(key=lambda a: sizes_of(a)[-1])
    chosen = [pool[0]] if len(pool) == 1 else [pool[0], pool[-1]]
    rest = pool[1:-1]
    rest = [rest[i] for i in rng.permutation(len(rest))]
    taken: dict[tuple[Pair, Any], int] = {}
    kinds: dict[Pair, int] = {}

    def count(a: Architecture) -> None:
        kind, place = pair_of(a), (pair_of(a), a["width"])
        kinds[kind], taken[place] = kinds.get(kind, 0) + 1, taken.get(place, 0) + 1

    for found in chosen:
        count(found)
    while rest and len(chosen) < n:
        best = min(
            range(len(rest)), key=lambda i: (kinds.get(pair_of(rest[i]), 0), taken.get((pair_of(rest[i]), rest[i]["width"]), 0))
        )
        found = rest.pop(best)
        count(found)
        chosen.append(found)
    lead, others = split_pairs(chosen[:n], 2)
    return [chosen[i] for i in (*lead, *(others[j] for j in rng.permutation(len(others))))]


def split_pairs(architectures: Sequence[Architecture], first: int) -> tuple[list[int], list[int]]:
    """The places of the `first` architectures of each kind of embedding, and those of all others, each in order."""
    seen: dict[Pair, int] = {}
    lead: list[int] = []
    others: list[int] = []
    for place, architecture in enumerate(architectures):
        pair = pair_of(architecture)
        seen[pair] = seen.get(pair, 0) + 1
        (lead if seen[pair] <= first else others).append(place)
    return lead, others


def held_back(architectures: Sequence[Architecture], most: int) -> list[int]:
    """The places of at most `most` architectures to test a fit on, spread evenly over the run.

    Every kind of embedding keeps two networks to be fitted to; where no kind has more than two, one.
    """
    spare = split_pairs(architectures, 2)[1] or split_pairs(architectures, 1)[1]
    count = min(most, len(spare))
    return [spare[i * len(spare) // count] for i in range(count)]
