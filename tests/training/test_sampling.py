"""The order of the examples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.training.sampling import EpochSampler


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=500), st.integers(1, 9), st.integers(0, 5), st.booleans())
def test_every_example_once(lengths, batch, epoch, grouped):
    sampler = EpochSampler(len(lengths), batch, 0, lengths if grouped else None)
    sampler.set_epoch(epoch)
    first = list(sampler)
    assert sorted(first) == list(range(len(lengths)))
    assert first == list(sampler)
    assert len(sampler) == len(lengths)


def test_epochs_and_seeds_differ_and_nothing_else_counts():
    def order(seed, epoch):
        sampler = EpochSampler(100, 4, seed)
        sampler.set_epoch(epoch)
        np.random.default_rng().random()
        return list(sampler)

    assert order(0, 1) == order(0, 1)
    assert order(0, 1) != order(0, 2)
    assert order(0, 1) != order(1, 1)


def test_batches_of_like_length_the_longest_first():
    lengths = np.random.default_rng(0).integers(1, 100, size=800)
    order = np.array(list(EpochSampler(800, 8, 0, lengths)))
    batches = lengths[order].reshape(-1, 8)
    assert batches[0].max() == lengths.max()
    padded = (batches.max(axis=1, keepdims=True) - batches).sum()
    shuffled = lengths[np.random.default_rng(1).permutation(800)].reshape(-1, 8)
    assert padded < 0.1 * (shuffled.max(axis=1, keepdims=True) - shuffled).sum()
    assert len(set(batches.max(axis=1)[1:20])) > 10  # not sorted: the batches come in random order


@pytest.mark.parametrize("kind", ["classification", "multiple_choice"])
def test_the_trainer_groups_by_tokens(toy, tmp_path, kind):
    """Also in multiple choice, where an example is a list of answers."""
    run = toy(kind, examples=48)
    run.train(tmp_path / "grouped")
    apart = toy(kind, examples=48, group_by_length=False)
    apart.train(tmp_path / "apart")

    def padding(batches):
        return sum(int((b["attention_mask"] == 0).sum()) for b in batches)

    assert padding(run.batches) < 0.5 * padding(apart.batches)
