"""Pairs of like cost against a search through all pairs."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from secateur.encodings.learned.pairs import like_pairs
from secateur.rng import generator


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=25),
    st.integers(1, 4),
    st.floats(0.5, 12),
    st.integers(0, 5),
)
def test_pairs_are_those_that_a_search_through_all_allows(costs: list[int], each: int, delta: float, seed: int) -> None:
    """Each place has `each` different others that cost about the same, or all of them where there are fewer."""
    allowed = [{j for j, y in enumerate(costs) if j != i and abs(x - y) < delta} for i, x in enumerate(costs)]
    found = like_pairs(np.array(costs, dtype=float), delta, each, generator(seed))
    assert found.shape[1] == 2
    assert len(set(map(tuple, found.tolist()))) == len(found)
    for place, others in enumerate(allowed):
        mine = found[found[:, 0] == place, 1].tolist()
        assert set(mine) <= others
        assert len(mine) == min(each, len(others))


def test_others_are_drawn_uniformly() -> None:
    costs = np.array([0.0, 1.0, 2.0, 3.0, 10.0])
    drawn = [like_pairs(costs, 2.5, 2, generator(seed)) for seed in range(3000)]
    partners = Counter(int(j) for found in drawn for i, j in found if i == 1)
    assert set(partners) == {0, 2, 3}
    assert all(abs(count / 3000 - 2 / 3) < 0.03 for count in partners.values())
    assert not any((found == 4).any() for found in drawn)
