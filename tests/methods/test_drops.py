"""Which layers stay, by hand: Sajjad et al. (2022), figure 1, for 12 layers of which 4 go, and small cases."""

from __future__ import annotations

import pytest

from secateur.methods.drops import DROPS, kept


@pytest.mark.parametrize(
    ("layers", "dropped", "drop", "expected"),
    [
        (12, 4, "top", [0, 1, 2, 3, 4, 5, 6, 7]),
        (12, 4, "alternate", [0, 1, 2, 3, 5, 7, 9, 11]),  # layers 5, 7, 9 and 11 of 1…12
        (12, 4, "bottom", [4, 5, 6, 7, 8, 9, 10, 11]),
        (6, 3, "alternate", [1, 3, 5]),
        (6, 4, "alternate", [1, 5]),  # of the three that are left, every other one again
        (3, 2, "alternate", [2]),
        (2, 1, "alternate", [1]),
        (5, 0, "alternate", [0, 1, 2, 3, 4]),
    ],
)
def test_by_hand(layers: int, dropped: int, drop: str, expected: list[int]) -> None:
    assert kept(layers, dropped, drop) == expected


@pytest.mark.parametrize("drop", DROPS)
@pytest.mark.parametrize("layers", [1, 2, 5, 12])
def test_as_many_stay_as_should(layers: int, drop: str) -> None:
    for dropped in range(layers + 1):
        stay = kept(layers, dropped, drop)
        assert len(stay) == layers - dropped
        assert stay == sorted(set(stay))
