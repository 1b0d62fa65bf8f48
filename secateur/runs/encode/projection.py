"""Embeddings on a plane, to be looked at."""

from __future__ import annotations

import numpy as np

#: How many neighbours t-SNE keeps close, where there are enough points (scikit-learn's own default).
PERPLEXITY = 30.0


def pca(vectors: np.ndarray) -> np.ndarray:
    """The places (n, 2) of vectors (n, d) on the plane of their two largest variances; the largest part of each axis is
    positive, so that the signs do not depend on the machine."""
    centred = vectors - vectors.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    largest = np.abs(axes).argmax(axis=1)
    places = centred @ (axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]).T
    return np.pad(places, ((0, 0), (0, 2 - places.shape[1])))


def tsne(vectors: np.ndarray, seed: int) -> np.ndarray:
    """The places (n, 2) that t-SNE (van der Maaten & Hinton 2008) finds, from those of `pca` on, on one core."""
    if len(vectors) < 4:
        return pca(vectors)
    from sklearn.manifold import TSNE

    begin = pca(vectors)
    begin = begin / max(float(begin[:, 0].std()), 1e-12) * 1e-4
    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    model = TSNE(perplexity=perplexity, init=begin.astype(np.float32), random_state=seed, n_jobs=1)
    return np.asarray(model.fit_transform(vectors.astype(np.float32)), dtype=np.float64)


def projected(vectors: np.ndarray, how: str, seed: int) -> np.ndarray:
    """The places (n, 2) of vectors (n, d) by `pca` or `tsne`."""
    return pca(vectors) if how == "pca" else tsne(vectors, seed)
