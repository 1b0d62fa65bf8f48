"""Curves as a few numbers and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD

from secateur.errors import ConfigurationError, StudyError
from secateur.predictors.curves.compressors import Svd
from secateur.predictors.curves.vae import Vae

COMPRESSORS = [Svd, Vae]


def test_the_decomposition_is_that_of_scikit_learn(trainings: Any) -> None:
    curves = trainings().flat
    ours = Svd.fitted(curves, 4, 0)
    theirs = TruncatedSVD(4, algorithm="arpack", random_state=0).fit(curves)
    rebuilt = theirs.inverse_transform(theirs.transform(curves))
    assert np.allclose(ours.expand(ours.compress(curves)), rebuilt, atol=1e-8)


def test_as_many_components_as_there_are_lose_nothing_and_one_loses_most(trainings: Any) -> None:
    curves = trainings(noise=0.0).flat
    lost = [np.abs((m := Svd.fitted(curves, k, 0)).expand(m.compress(curves)) - curves).max() for k in (1, 3, 12)]
    assert lost[0] > lost[1] > lost[2]
    assert lost[2] < 1e-10


def test_an_autoencoder_rebuilds_curves_of_three_numbers(trainings: Any) -> None:
    known = trainings(count=200, noise=0.0)
    model = Vae.fitted(known.flat[:150], 3, 0)
    lost = model.expand(model.compress(known.flat[150:])) - known.flat[150:]
    assert np.sqrt((lost**2).mean()) < 0.1 * known.flat.std()
    again = Vae.fitted(known.flat[:150], 3, 0)
    assert np.array_equal(again.compress(known.flat), model.compress(known.flat))
    assert model.compress(known.flat).shape == (200, 3)


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_what_is_written_is_read(kind: Any, trainings: Any, tmp_path: Path) -> None:
    curves = trainings().flat
    made = kind.fitted(curves, 2, 0)
    made.write(tmp_path / "part")
    found = kind.read(tmp_path / "part")
    assert np.array_equal(found.expand(found.compress(curves)), made.expand(made.compress(curves)))
    (tmp_path / "part.safetensors").write_bytes(b"something else")
    with pytest.raises(StudyError, match="does not hold a part of a surrogate"):
        kind.read(tmp_path / "part")


@pytest.mark.parametrize("kind", COMPRESSORS)
@pytest.mark.parametrize("count", [0, 13])
def test_more_components_than_steps_or_curves_are_refused(kind: Any, trainings: Any, count: int) -> None:
    with pytest.raises(ConfigurationError, match=r"`components` must lie in 1…12"):
        kind.fitted(trainings().flat, count, 0)
    with pytest.raises(ConfigurationError, match=r"1…4: there are 4 curves of 12 points"):
        kind.fitted(trainings(count=4).flat, 5, 0)
