"""Results from the best to the worst, by one objective or several."""

from __future__ import annotations

import numpy as np

from secateur.pareto import epsilon_net, ranks

#: How the members of one front are ordered: by what is told first, or each as far as can be from those before it.
ORDERS = ("told", "epsilon-net")


def best_first(points: np.ndarray, order: str = "told") -> np.ndarray:
    """The places (n,) of minimised points (n, m), the best first: by non-dominated fronts, then by `order`."""
    front = ranks(points)
    place = np.arange(len(points))
    if order == "epsilon-net":
        for rank in np.unique(front):
            members = np.flatnonzero(front == rank)
            place[members[epsilon_net(points[members])]] = np.arange(len(members))
    return np.lexsort((place, front))
