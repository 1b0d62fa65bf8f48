from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from secateur.rng import generator
from secateur.tasks.splits import held_out, take


@given(st.lists(st.integers(0, 4), min_size=2, max_size=80), st.floats(0.01, 0.99), st.integers(0, 5), st.booleans())
def test_a_split_is_a_partition_of_the_size_asked_for(labels: list[int], share: float, seed: int, stratified: bool):
    classes = np.asarray(labels)
    count = held_out(share, len(classes))
    chosen, rest = take(count, len(classes), generator(seed), classes if stratified else None)
    assert len(chosen) == count
    assert 1 <= count < len(classes)
    assert sorted([*chosen, *rest]) == list(range(len(classes)))
    again = take(count, len(classes), generator(seed), classes if stratified else None)
    assert np.array_equal(again[0], chosen)


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6), st.floats(0.05, 0.6), st.integers(0, 5))
def test_every_class_is_taken_in_its_share(sizes: list[int], share: float, seed: int):
    classes = np.repeat(np.arange(len(sizes)), sizes)
    count = held_out(share, len(classes))
    chosen, rest = take(count, len(classes), generator(seed), classes)
    taken = np.bincount(classes[chosen], minlength=len(sizes))
    if count <= len(classes) - len(sizes):  # no class is lost to the rest
        assert set(classes[rest]) == set(classes)
    # Each within one of its share, but for the rows of small classes, which stay with the rest and are made up for.
    small = sum(size == 1 for size in sizes) + sum(size * share > size - 1 for size in sizes)
    assert (np.abs(taken - count * np.asarray(sizes) / len(classes)) <= 1 + small).all()


def test_seeds_differ():
    assert not np.array_equal(take(50, 100, generator(0))[0], take(50, 100, generator(1))[0])
