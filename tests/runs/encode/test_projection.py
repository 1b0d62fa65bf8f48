"""Embeddings on a plane."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from secateur.rng import generator
from secateur.runs.encode.projection import pca, projected, tsne


def test_pca_is_that_of_another_library() -> None:
    vectors = generator(0).standard_normal((40, 5)) * [5, 1, 3, 0.1, 0.2]
    found, other = pca(vectors), PCA(2).fit_transform(vectors)
    assert np.abs(found) == pytest.approx(np.abs(other))
    assert np.linalg.norm(found[:, None] - found, axis=2) == pytest.approx(np.linalg.norm(other[:, None] - other, axis=2))


def test_signs_are_settled() -> None:
    """The largest part of an axis is positive, whichever way the decomposition turned it."""
    along = np.linspace(0, 1, 9)
    found = pca(np.stack([-3 * along, along], axis=1))
    assert np.all(np.diff(found[:, 0]) < 0)


@pytest.mark.parametrize("shape", [(1, 4), (2, 4), (3, 1), (6, 1), (6, 3)])
@pytest.mark.parametrize("how", ["pca", "tsne"])
def test_few_points_and_short_vectors(shape: tuple[int, int], how: str) -> None:
    for vectors in (generator(0).standard_normal(shape), np.zeros(shape)):
        found = projected(vectors, how, 0)
        assert found.shape == (shape[0], 2)
        assert np.isfinite(found).all()


def test_tsne_keeps_groups_and_its_seed() -> None:
    rng = generator(0)
    groups = np.repeat(np.arange(3), 30)
    vectors = 20.0 * rng.standard_normal((3, 8))[groups] + rng.standard_normal((90, 8))
    found = tsne(vectors, 0)
    apart = np.linalg.norm(found[:, None] - found, axis=2) + np.diag(np.full(90, np.inf))
    assert (groups[apart.argmin(axis=1)] == groups).all()
    assert np.array_equal(found, tsne(vectors, 0))
