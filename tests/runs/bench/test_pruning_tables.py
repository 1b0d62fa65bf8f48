"""The protocol's figures from rows, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from secateur.runs.bench.pruning_tables import hypervolumes, kept, race, ranks


def trials(*searches: tuple[str, int, list[tuple[float, float, float]]]) -> pd.DataFrame:
    """Of (arm, seed, [(seconds, error, parameters)])."""
    rows = [
        {"arm": arm, "seed": seed, "seconds": seconds, "error": error, "parameters": size}
        for arm, seed, points in searches
        for seconds, error, size in points
    ]
    return pd.DataFrame(rows)


#: Errors 0.1 … 0.4 and sizes 10 … 40, as quantiles thirds.
TWO = trials(("a", 0, [(1, 0.4, 10), (3, 0.1, 30)]), ("b", 0, [(2, 0.2, 20)]), ("b", 1, [(5, 0.3, 40)]))


def test_hypervolumes_of_arms_and_repetitions() -> None:
    """(0, 2/3) and (1, 0) cover 2 · 4/3 + 1 · 2/3; (1/3, 1/3) covers (5/3)²; (2/3, 1) covers 4/3."""
    assert hypervolumes(TWO) == {"a": [pytest.approx(10 / 3)], "b": [pytest.approx(25 / 9), pytest.approx(4 / 3)]}


def test_regret_over_time() -> None:
    """At seconds 1, 2, 3, 4 and 5: what was found until then, against 4 and against what all found together."""
    found = race(TWO, steps=5)
    assert found.times.tolist() == [1, 2, 3, 4, 5]
    assert found.possible["a"][0] == pytest.approx([2, 2, 4 - 10 / 3, 4 - 10 / 3, 4 - 10 / 3])
    assert found.possible["b"] == pytest.approx(np.array([[4, *[4 - 25 / 9] * 4], [4, 4, 4, 4, 4 - 4 / 3]]))
    together = 2 * 4 / 3 + 5 / 3 * 1 / 3 + 1 * 1 / 3
    assert found.seen["a"][0, -1] == pytest.approx(together - 10 / 3)


def test_ranks_over_tasks() -> None:
    """In the end a is ahead of both repetitions of b on one task; on another it is behind. A third arm was run on one only."""
    other = trials(("a", 0, [(1, 0.5, 50)]), ("b", 0, [(1, 0.1, 10)]), ("c", 0, [(1, 0.2, 20)]))
    found = ranks({"one": race(TWO, steps=5), "two": race(other, steps=5)})
    assert set(found) == {"a", "b"}
    assert found["a"][-1] == pytest.approx(1.5, abs=0.1)
    assert found["a"] + found["b"] == pytest.approx(np.full(5, 3.0))
    assert ranks({"two": race(other, steps=2)})["c"].tolist() == [2, 2]


def row(arm: str, seed: int, kind: str, test_error: float | None, level: str | None = None) -> dict[str, Any]:
    return {"arm": arm, "seed": seed, "kind": kind, "test_error": test_error, "level": level}


def test_what_methods_keep_is_a_share_of_the_best_unpruned_score() -> None:
    """The unpruned networks of x score 0.8 on average, those of y 0.75: all shares are of 0.8."""
    rows = [
        row("x", 0, "unpruned", 0.1), row("x", 1, "unpruned", 0.3), row("y", 0, "unpruned", 0.25),
        row("x", 0, "level", 0.2, "50%"), row("x", 1, "level", 0.4, "50%"), row("y", 0, "level", 0.6, "10%"),
        row("y", 0, "level", None, "50%"),
    ]  # fmt: skip
    best, found = kept(pd.DataFrame(rows))
    assert best == pytest.approx(0.8)
    assert found == {"x": {"50%": [pytest.approx(1.0), pytest.approx(0.75)]}, "y": {"10%": [pytest.approx(0.5)]}}
