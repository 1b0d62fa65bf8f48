"""Compressor × regressor × noise on curves that are known, and several of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secateur.catalogue import names
from secateur.errors import ConfigurationError, StudyError, UnknownNameError
from secateur.predictors.curves.ensemble import CurveEnsemble
from secateur.predictors.curves.model import CurveModel, Ways, best_components
from secateur.predictors.curves.scores import determination
from secateur.rng import generator


@pytest.mark.parametrize("compressor", names("compressor"))
@pytest.mark.parametrize("regressor", names("regressor"))
def test_curves_that_were_not_seen_are_predicted(trainings: Any, compressor: str, regressor: str, tmp_path: Path) -> None:
    known = trainings(count=200, metrics=2, noise=0.02)
    learnt, held_out = known.take(range(150)), known.take(range(150, 200))
    ways = Ways(compressor, regressor, "deviation", components=3)
    model = CurveModel.fitted(learnt, ways)
    found = model.mean(held_out.inputs)
    assert found.shape == (50, 2, 12)
    for metric in range(2):
        assert determination(held_out.curves[:, metric], found[:, metric]).min() > 0.85
    model.write(tmp_path)
    assert np.array_equal(CurveModel.read(tmp_path, ways).mean(held_out.inputs), found)


def test_as_many_components_as_predict_best(trainings: Any) -> None:
    """Noiseless curves of one number need one component and their mean's; noise does not add any."""
    known = trainings(count=80, noise=0.05)
    line = known.curves.mean() + (known.inputs[:, :1, None] - 0.5) * np.linspace(1, 2, 12)
    rng = generator(0, "line")
    one = type(known)(known.inputs, line + 0.02 * rng.standard_normal(line.shape), known.metrics, known.budgets, known.keys)
    assert best_components(one, Ways(), 0) <= 3
    assert 2 <= best_components(known, Ways(), 0) <= 6
    assert best_components(known, Ways("vae", "mlp"), 0) in (2, 4, 6, 9)


def test_noise_is_a_trainings_own_whatever_else_is_asked(trainings: Any) -> None:
    known = trainings()
    for members in (1, 3):
        model = CurveEnsemble.fitted(known, Ways(components=3), members)
        whole = model.drawn(known.inputs, [generator(5, key) for key in known.keys])
        part = model.drawn(known.inputs[7:9], [generator(5, key) for key in known.keys[7:9]])
        assert np.allclose(part, whole[7:9])
        assert whole.std() > 0
        assert model.deviation(known.inputs).shape == known.curves.shape
        assert model.drawn(known.inputs[:0], []).shape == (0, 1, 12)


def test_members_differ_and_their_mean_counts(trainings: Any, tmp_path: Path) -> None:
    known = trainings()
    ways = Ways(components=3)
    several = CurveEnsemble.fitted(known, ways, 3)
    each = [member.mean(known.inputs) for member in several.members]
    assert not np.allclose(each[0], each[1])
    assert np.allclose(several.mean(known.inputs), np.mean(each, axis=0))
    several.write(tmp_path)
    assert np.array_equal(CurveEnsemble.read(tmp_path, ways, 3).mean(known.inputs), several.mean(known.inputs))
    with pytest.raises(StudyError, match="member-3"):
        CurveEnsemble.read(tmp_path, ways, 4)


def test_too_few_and_unknown(trainings: Any) -> None:
    with pytest.raises(ConfigurationError, match="at least 10 architectures are needed, got 9"):
        CurveModel.fitted(trainings(count=9, seeds=3), Ways())
    with pytest.raises(UnknownNameError, match="svd"):
        CurveModel.fitted(trainings(), Ways(compressor="swd"))
