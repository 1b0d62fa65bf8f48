"""From architectures to several numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secateur.errors import StudyError
from secateur.predictors.curves.regressors import LightGbm, Mlp, XgBoost
from secateur.rng import generator

REGRESSORS = [LightGbm, XgBoost, Mlp]


def made(count: int = 300) -> tuple[np.ndarray, np.ndarray]:
    inputs = generator(0, "inputs").random((count, 4))
    return inputs, np.column_stack([10 * inputs[:, 0] + inputs[:, 1] ** 2, inputs[:, 2] * inputs[:, 3]])


@pytest.mark.parametrize("kind", REGRESSORS)
def test_each_target_is_learnt(kind: Any) -> None:
    inputs, targets = made()
    found = kind.fitted(inputs[:200], targets[:200], 0).predict(inputs[200:])
    wanted = targets[200:]
    assert found.shape == (100, 2)
    shares = ((found - wanted) ** 2).mean(axis=0) / wanted.var(axis=0)
    assert (shares < 0.1).all()


@pytest.mark.parametrize("kind", REGRESSORS)
def test_what_is_written_is_read(kind: Any, tmp_path: Path) -> None:
    inputs, targets = made(60)
    model = kind.fitted(inputs, targets, 0)
    model.write(tmp_path / "part")
    assert np.array_equal(kind.read(tmp_path / "part").predict(inputs), model.predict(inputs))
    assert np.array_equal(kind.fitted(inputs, targets, 0).predict(inputs), model.predict(inputs))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_files_of_something_else_are_refused(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"is missing|does not hold"):
        kind.read(tmp_path / "part")
    inputs, targets = made(60)
    kind.fitted(inputs, targets, 0).write(tmp_path / "part")
    for file in tmp_path.iterdir():
        file.write_text("something else")
    with pytest.raises(StudyError, match="does not hold a part of a surrogate"):
        kind.read(tmp_path / "part")
