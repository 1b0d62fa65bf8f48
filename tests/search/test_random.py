from __future__ import annotations

import numpy as np
import pytest

from secateur.search import Random
from secateur.spaces.pruning import Large, Shape
from secateur.testing.toys import Toy, toy


def test_draws_follow_the_space() -> None:
    problem = toy("layer", shape=Shape(8, 2, 3))
    kept = [sum(Random(problem.space, problem.objectives, seed=s).ask()[0].architecture["layers"]) for s in range(450)]
    counts = np.bincount(kept, minlength=9)
    assert ((counts - 50) ** 2 / 50).sum() < 26.1  # uniform in 0…8: chi-square, 8 degrees of freedom, one in a thousand


def test_golden_front() -> None:
    problem = toy("medium")
    searcher = Random(problem.space, problem.objectives, seed=1)
    asked = problem.run(searcher, 12)
    assert sorted(str(r.architecture) for r in searcher.front()) == [
        "medium(heads=0·0, units=0·2)",
        "medium(heads=1·1, units=0·2)",
        "medium(heads=1·1, units=1·0)",
        "medium(heads=1·2, units=0·0)",
        "medium(heads=2·0, units=1·3)",
        "medium(heads=2·2, units=2·1)",
    ]
    assert problem.hypervolume(asked, np.array([1.0, 36.0])) == pytest.approx(27.52113802043474, rel=1e-12)


def test_serves_large() -> None:
    problem = Toy.of(Large(Shape(12, 12, 3072)))
    assert len(problem.run(Random(problem.space, problem.objectives), 3)) == 3
