"""How well a proxy ranks trained networks: rank correlations, common ratio, and the front that it picks.

Throughout, `true` (n,) is what full training gave (perplexity: lower is better) and `scores` (n,) what the proxy says
(higher is better), so that 1 is the same order and −1 the reverse. A figure that too few networks or a constant give no
meaning to is None, never a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from secateur.pareto import hypervolume, non_dominated
from secateur.rng import Generator

#: The bins of Javaheripi et al. (2022, figure 6): the best 10, 20, … 100 % by true rank.
SHARES = tuple(k / 10 for k in range(1, 11))
#: Fewer networks than this have no rank correlation worth the name.
LEAST = 3
#: Numbers that an array of a bootstrap holds at a time: 8 MB.
CELLS = 2**20
#: Up to so many networks, matrices of all pairs are quicker than one sort per draw.
MATRIX = 512

#: True values, scores, and which networks (m, n) to draw of them → a figure of each draw (m,).
_Rows = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Interval:
    """A bootstrap interval of 95 %."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.3f}…{self.high:.3f}"


@dataclass(frozen=True)
class Ranking:
    """How a proxy orders the best `share` of the networks by true rank, `count` of them.

    `spearman` and `kendall` are taken among those networks; `common_ratio` is the share of them that is also in the
    proxy's own best `share` of all networks. Intervals are of 95 % by bootstrap.
    """

    share: float
    count: int
    spearman: float | None
    kendall: float | None
    common_ratio: float | None
    spearman_interval: Interval | None = None
    kendall_interval: Interval | None = None
    common_ratio_interval: Interval | None = None


@dataclass(frozen=True)
class FrontAccuracy:
    """How far the front that a proxy picks lies from the true one, both over quality and the same costs.

    `found`: the share of the true front's members that the proxy picks. `hypervolume`: what the picks dominate, by their
    true quality, as a share of what the true front dominates (every axis scaled to 0…1 over all networks, reference 1.1).
    `gap` and `worst_gap`: for each true member, how much higher the best perplexity among the picks that cost no more is,
    relative, on average and at most. `picked` and `members` count the two fronts.
    """

    members: int
    picked: int
    found: float
    hypervolume: float
    gap: float
    worst_gap: float


def spearman(true: np.ndarray, scores: np.ndarray) -> float | None:
    """Spearman's rank correlation of two (n,) arrays, ties at their mean rank; None below 3 networks or for a constant."""
    return _figure(_spearman_rows, true, scores)


def kendall(true: np.ndarray, scores: np.ndarray) -> float | None:
    """Kendall's τ-b of two (n,) arrays; None below 3 networks or for a constant."""
    return _figure(_kendall_rows, true, scores)


def common_ratio(true: np.ndarray, scores: np.ndarray, share: float) -> float | None:
    """The share of the proxy's best `share` that is among the true best `share`; None below 3 networks.

    The best `share` are the first max(1, round(share · n)). What is truly as good as the last of them counts as one of
    them; networks that tie for the proxy's last places share those equally, as random picks among them would on average.
    """
    return _figure(partial(_common_rows, share=share), true, scores)


def top(true: np.ndarray, share: float) -> np.ndarray:
    """A boolean (n,) array: the best `share` of the networks, the lowest `true`, with all that tie with the last."""
    true = np.asarray(true, dtype=np.float64)
    return np.asarray(true <= np.sort(true)[_places(len(true), share) - 1]) if len(true) else np.zeros(0, dtype=bool)


def rank(
    true: np.ndarray,
    scores: np.ndarray,
    *,
    shares: Sequence[float] = SHARES,
    rng: Generator | None = None,
    samples: int = 1000,
) -> list[Ranking]:
    """One Ranking per share; with `rng`, also bootstrap intervals: networks are drawn again, with replacement, `samples` times.

    Correlations are those among the best `share` by true rank, so their intervals draw from that bin; the common ratio
    needs all networks, so its interval draws from all.
    """
    true, scores = _pair(true, scores)
    found = []
    for share in shares:
        chosen = top(true, share)
        inside, proxy = true[chosen], scores[chosen]
        intervals: list[Interval | None] = [None, None, None]
        if rng is not None and len(inside) >= LEAST:
            drawn = rng.integers(0, len(inside), size=(samples, len(inside)))
            again = drawn if chosen.all() else rng.integers(0, len(true), size=(samples, len(true)))
            intervals = [
                _interval(_spearman_rows, inside, proxy, drawn),
                _interval(_kendall_rows, inside, proxy, drawn),
                _interval(partial(_common_rows, share=share), true, scores, again),
            ]
        figures = spearman(inside, proxy), kendall(inside, proxy), common_ratio(true, scores, share)
        found.append(Ranking(share, len(inside), *figures, *intervals))
    return found


def front_accuracy(true: np.ndarray, scores: np.ndarray, costs: np.ndarray) -> FrontAccuracy | None:
    """The proxy's front against the true one; `costs` is (n,) or (n, m), all minimised. None where there is no network."""
    true, scores = _pair(true, scores)
    if len(true) == 0:
        return None
    costs = np.asarray(costs, dtype=np.float64).reshape(len(true), -1)
    points = np.column_stack([true, costs])
    members = non_dominated(points)
    picks = non_dominated(np.column_stack([-scores, costs]))
    low, high = points.min(axis=0), points.max(axis=0)
    scaled = (points - low) / np.where(high > low, high - low, 1.0)
    reference = np.full(points.shape[1], 1.1)
    gaps = []
    for point in points[members]:
        affordable = picks & np.all(costs <= point[1:], axis=1)  # never empty: something picked dominates every network
        gaps.append((true[affordable].min() - point[0]) / abs(point[0]) if point[0] else 0.0)
    return FrontAccuracy(
        members=int(members.sum()),
        picked=int(picks.sum()),
        found=float((members & picks).sum() / members.sum()),
        hypervolume=hypervolume(scaled[picks], reference) / hypervolume(scaled[members], reference),
        gap=float(np.mean(gaps)),
        worst_gap=float(np.max(gaps)),
    )


def _pair(true: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    true, scores = np.asarray(true, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if true.ndim != 1 or true.shape != scores.shape:
        raise ValueError(f"one score per network, got {true.shape} networks and {scores.shape} scores")
    if not (np.isfinite(true).all() and np.isfinite(scores).all()):
        raise ValueError("only finite numbers can be ranked: leave out the networks that have none")
    return true, scores


def _figure(rows: _Rows, true: np.ndarray, scores: np.ndarray) -> float | None:
    """What `rows` says of all networks, each once; None where they are too few or it has no meaning."""
    true, scores = _pair(true, scores)
    if len(true) < LEAST:
        return None
    value = float(rows(true, scores, np.arange(len(true))[None])[0])
    return value if math.isfinite(value) else None


def _interval(rows: _Rows, true: np.ndarray, scores: np.ndarray, drawn: np.ndarray) -> Interval | None:
    """The middle 95 % of what `rows` says of the draws (m, n), some draws at a time; None where most have no value (ties)."""
    step = max(1, CELLS // drawn.shape[1])
    values = np.concatenate([rows(true, scores, drawn[start : start + step]) for start in range(0, len(drawn), step)])
    finite = values[np.isfinite(values)]
    if len(finite) < len(values) / 2:
        return None
    low, high = np.percentile(finite, [2.5, 97.5])
    return Interval(float(low), float(high))


def _places(count: int, share: float) -> int:
    return min(max(1, int(count * share + 0.5 + 1e-9)), count)


def _spearman_rows(true: np.ndarray, scores: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Spearman's correlation among the networks that each row of `drawn` (m, n) takes; NaN for a constant."""
    from scipy.stats import rankdata

    a, b = rankdata(-true[drawn], axis=1), rankdata(scores[drawn], axis=1)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1)))


def _kendall_rows(true: np.ndarray, scores: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """τ-b among the networks that each row of `drawn` (m, n) takes; NaN for a constant.

    A pair's agreement is the product of two signs, so for few networks a whole bootstrap is three products of matrices: of
    the pairs' signs (n, n), and of how often (m, n) each network was drawn.
    """
    if len(true) > MATRIX or len(drawn) == 1:
        from scipy.stats import kendalltau

        return np.array([kendalltau(-true[row], scores[row], method="asymptotic").statistic for row in drawn])
    counts = np.zeros(drawn.shape)
    np.add.at(counts, (np.arange(len(drawn))[:, None], drawn), 1.0)
    a, b = np.sign(true[None] - true[:, None]), np.sign(scores[:, None] - scores[None])
    agree, apart, split = (np.einsum("mi,mi->m", counts @ pairs, counts) for pairs in (a * b, a * a, b * b))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(agree / np.sqrt(apart * split))


def _common_rows(true: np.ndarray, scores: np.ndarray, drawn: np.ndarray, share: float) -> np.ndarray:
    """The common ratio among the networks that each row of `drawn` (m, n) takes."""
    true, scores, places = true[drawn], scores[drawn], _places(drawn.shape[1], share)
    best = true <= np.sort(true, axis=1)[:, places - 1 : places]
    last = -np.sort(-scores, axis=1)[:, places - 1 : places]
    above, tied = scores > last, scores == last
    left = places - above.sum(axis=1, keepdims=True)
    weight = above + tied * (left / tied.sum(axis=1, keepdims=True))
    return np.asarray((weight * best).sum(axis=1) / places)
