from __future__ import annotations

import numpy as np
import pytest

from secateur.encodings import Adjacency, Path, PathContinuous
from secateur.encodings.distances import CHUNK, Bits, Numbers, compact, distances
from secateur.rng import generator
from secateur.spaces.cells import NasBench201

SPACE = NasBench201()


@pytest.mark.parametrize(("kind", "width"), [(Bits, 5), (Bits, 64), (Bits, 130), (Numbers, 1), (Numbers, 17)])
def test_against_differences(kind: type, width: int) -> None:
    rng = np.random.default_rng(width)
    bits = kind is Bits
    vectors = rng.random((300, width)) < 0.3 if bits else 5 + rng.standard_normal((300, width))
    vectors[7] = vectors[3]
    found = kind([vectors[:100], vectors[100:]])
    point = (rng.random(width) < 0.5).astype(float) if bits else rng.standard_normal(width)
    expected = np.sqrt(((vectors.astype(float) - point) ** 2).sum(axis=1))
    assert found.of(point)[found.place] == pytest.approx(expected, rel=1e-5, abs=0 if bits else found.rounding)
    assert found.place[7] == found.place[3]
    assert len(found.of(point)) == len(np.unique(vectors, axis=0))


def test_numbers_that_differ_by_rounding_are_the_same() -> None:
    vectors = np.array([[0.0, 1.0], [1e-7, 1.0], [0.5, 1.0]])
    assert Numbers([vectors]).place.tolist() == [0, 0, 1]
    constant = Numbers([np.full((3, 2), 0.5)])
    assert constant.place.tolist() == [0, 0, 0]
    assert constant.of(np.full(2, 0.5)) == pytest.approx([0])


def test_draws_fill_the_box() -> None:
    rng = generator(0)
    bits = Bits([np.array([[1, 0, 0], [1, 1, 0]], dtype=bool)])
    drawn = np.array([bits.drawn(rng) for _ in range(200)])
    assert set(map(tuple, drawn.tolist())) == {(1.0, 0.0, 0.0), (1.0, 1.0, 0.0)}
    assert 70 < drawn[:, 1].sum() < 130
    numbers = Numbers([np.array([[-1.0, 3.0], [2.0, 3.0]])])
    drawn = np.array([numbers.drawn(rng) for _ in range(500)])
    assert drawn[:, 0].min() == pytest.approx(-1, abs=0.05)
    assert drawn[:, 0].max() == pytest.approx(2, abs=0.05)
    assert drawn[:, 0].mean() == pytest.approx(0.5, abs=0.15)
    assert np.all(drawn[:, 1] == 3)


def test_bits_are_counted_and_other_numbers_computed() -> None:
    some = SPACE.sample_many(50, generator(1))
    assert isinstance(distances(some, Adjacency(SPACE)), Bits)
    assert isinstance(distances(some, PathContinuous(SPACE)), Numbers)
    assert compact(np.array([[0.0, 1.0]])).dtype == bool
    assert compact(np.array([[0.0, 0.5]])).dtype == np.float32
    assert compact(np.array([[-1.0, 1.0]])).dtype == np.float32


def test_parts_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    some = SPACE.sample_many(50, generator(2))
    encoding = Path(SPACE)
    point = encoding.encode(some[:1])[0]
    whole = distances(some, encoding)
    monkeypatch.setattr("secateur.encodings.distances.CHUNK", 7)
    parts = distances(some, encoding)
    assert np.array_equal(whole.of(point)[whole.place], parts.of(point)[parts.place])
    assert CHUNK > 7


def test_vectors_that_lie_close_together_are_told_apart() -> None:
    """A cluster of a ten-thousandth of the width far from the others: the nearest are in the right order."""
    rng = generator(3)
    close = 0.7 + 1e-4 * rng.random((40, 16))
    found = Numbers([rng.random((500, 16)), close])
    expected = np.sqrt(((close - close[0]) ** 2).sum(axis=1))
    assert found.of(close[0])[found.place[500:]] == pytest.approx(expected, abs=1e-6)
    assert (found.of(close[0]) <= found.rounding).sum() == 1
