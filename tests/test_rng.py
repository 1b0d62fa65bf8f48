from __future__ import annotations

import numpy as np

from secateur.rng import generator


def draw(seed: int, *path: int | str) -> list[int]:
    return generator(seed, *path).integers(0, 2**32, size=4).tolist()


def test_equal_paths_give_equal_streams() -> None:
    assert draw(1, "ask", 7) == draw(1, "ask", 7)


def test_different_paths_and_seeds_give_different_streams() -> None:
    streams = [draw(1), draw(2), draw(1, "ask"), draw(1, "tell"), draw(1, "ask", 0), draw(1, "ask", 1), draw(1, 0, "ask")]
    assert len({tuple(s) for s in streams}) == len(streams)


def test_streams_do_not_change_between_versions() -> None:
    assert draw(0, "ask", 0) == [3655429219, 1225250515, 704312015, 1648365902]


def test_the_global_generator_is_left_alone() -> None:
    before = np.random.get_state()[1].tolist()  # noqa: NPY002 - the global one is what is watched
    draw(0, "ask", 0)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
