"""Trainings that a model of curves learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from secateur.errors import ConfigurationError
from secateur.predictors.curves.known import Known


def test_all_trainings_of_an_architecture_are_held_out_together(trainings: Any) -> None:
    known = trainings(count=11, seeds=3)
    parts = known.folds(4, np.random.default_rng(0).permutation(11))
    held_out = [key for _, part in parts for key in dict.fromkeys(part.keys)]
    assert sorted(held_out) == sorted(known.architectures)
    for learnt, part in parts:
        assert not set(learnt.keys) & set(part.keys)
        assert len(learnt) + len(part) == len(known) == 33


def test_means_are_over_the_trainings_of_an_architecture(trainings: Any) -> None:
    known = trainings(count=5, seeds=4)
    found = known.means()
    assert len(found) == 5
    assert np.allclose(found.curves, known.curves.reshape(5, 4, 1, -1).mean(axis=1))
    assert np.array_equal(found.inputs, known.inputs[::4])


def test_inputs_that_differ_between_trainings_are_averaged(trainings: Any) -> None:
    known = trainings(count=3, seeds=2)
    known.inputs[:] = np.arange(len(known), dtype=float)[:, None]
    means = known.means()
    for key, inputs in zip(means.keys, means.inputs, strict=True):
        assert np.allclose(inputs, known.inputs[known.architectures[key]].mean(axis=0))


def test_shapes_that_do_not_fit_are_refused(trainings: Any) -> None:
    known = trainings(count=5)
    with pytest.raises(ConfigurationError, match="`curves` must have the shape"):
        Known(known.inputs, known.curves[:, :, :-1], known.metrics, known.budgets, known.keys)
