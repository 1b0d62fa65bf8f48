"""Which layers stay where some are dropped (Sajjad et al. 2022)."""

from __future__ import annotations

#: Which layers go first.
DROPS = ("top", "alternate", "bottom")


def kept(layers: int, dropped: int, drop: str) -> list[int]:
    """The layers that stay where so many go: the top ones, every other one from the top down, or the bottom ones.

    Alternate (Sajjad et al. 2022, section 3.1): from the layer below the top one, every second; where these do not suffice, of
    those that are left again every second.
    """
    left = list(range(layers))
    if drop == "top":
        return left[: layers - dropped]
    if drop == "bottom":
        return left[dropped:]
    while dropped:
        going = left[-2::-2] or left[-1:]
        going = going[:dropped]
        left = [i for i in left if i not in going]
        dropped -= len(going)
    return left
