"""Tables in columns: what they tell of one architecture and of all, over budgets and seeds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateur.architecture import Architecture
from secateur.errors import DataError, EvaluationFailure
from secateur.tables import Table

NAN = np.nan


def architectures(*names: str) -> list[Architecture]:
    return [Architecture.of("toy", {"name": name}, name) for name in names]


@pytest.fixture
def table() -> Table:
    """As NAS-Bench-101: several budgets and seeds, seconds at each; `b` diverged once."""
    return Table(
        architectures("a", "b", "a", "c"),
        {"parameters": [1, 2, 1, 3], "test": [0.5, 0.6, 0.7, 0.8]},
        {"error": [[0.9, 0.5, 0.1], [0.8, NAN, 0.3], [0.7, 0.3, 0.3], [0.6, 0.5, 0.4]]},
        [4, 12, 36],
        seconds=[[1, 2, 3], [10, 20, 30], [3, 4, 5], [1, 1, 1]],
        seed=[0, 0, 1, 7],
        final=("test",),
    )


def test_values_of_one_and_their_mean(table):
    assert table.values("a") == pytest.approx({"parameters": 1, "test": 0.6, "error": 0.2})
    assert table.values("a", seed=1) == {"parameters": 1, "test": 0.7, "error": 0.3}
    assert table.values("c", 36) == {"parameters": 3, "test": 0.8, "error": 0.4}
    # What holds at the end only is not told before, nor is what is not known.
    assert table.values("a", 4, seed=0) == {"parameters": 1, "error": 0.9}
    assert table.values("b", 12) == {"parameters": 2}
    assert table.values("c", 13) == {"parameters": 3}
    assert table.values("c", 4, names=["error"]) == {"error": 0.6}
    assert "a" in table
    assert "z" not in table


@pytest.mark.parametrize(("key", "seed", "said"), [("z", None, "`z`."), ("a", 7, "`a` with seed 7."), ("z", 0, "`z`.")])
def test_what_it_does_not_hold(table, key, seed, said):
    for ask in (table.values, table.seconds_to):
        with pytest.raises(EvaluationFailure, match=f"`the table` has no network {said}"):
            ask(key, seed=seed)


def test_curves(table):
    budgets, values = table.curve("b", "error")
    assert (budgets.tolist(), values.tolist()) == ([4, 36], [0.8, 0.3])
    budgets, values = table.curve("a", "error", 12)
    assert (budgets.tolist(), values.tolist()) == ([4, 12], pytest.approx([0.8, 0.4]))
    assert table.curve("a", "error", 3, seed=1)[0].tolist() == []


def test_seconds(table):
    assert table.seconds_to("a") == 4
    assert table.seconds_to("a", 12, seed=0) == 2
    assert table.seconds_to("a", 13) is None
    whole = Table(architectures("a", "b"), curves={"error": [[1, 2], [3, 4]]}, budgets=[5, 10], seconds=[8.0, NAN])
    assert [whole.seconds_to("a", budget) for budget in (None, 10, 5, 7)] == [8, 8, 4, None]
    assert whole.seconds_to("b") is None
    assert Table(architectures("a")).seconds_to("a") is None
    assert Table(architectures("a"), seconds=[3.0]).seconds_to("a") == 3


def test_without_budgets():
    """As a super-network on a grid: errors, parameters, latencies."""
    grid = Table(architectures("a", "b"), {"error": [0.1, 0.2], "latency": [3, NAN]}, final=("error",))
    assert grid.values("a") == {"error": 0.1, "latency": 3}
    assert grid.values("b") == {"error": 0.2}
    assert grid.values("a", 5) == {"latency": 3}  # an error of no known budget is not one of budget 5
    assert grid.at_share("error", 0.5).tolist() == [pytest.approx(NAN, nan_ok=True)] * 2
    assert len(grid.take([])) == 0


def test_columns_of_all(table):
    assert table.column("error").tolist() == [0.1, 0.3, 0.3, 0.4]
    assert table.column("error", 4).tolist() == [0.9, 0.8, 0.7, 0.6]
    assert np.isnan(table.column("error", 5)).all()
    assert table.column("test", 36).tolist() == table.column("test").tolist() == [0.5, 0.6, 0.7, 0.8]
    assert np.isnan(table.column("test", 12)).all()
    assert table.column("parameters", 12).tolist() == [1, 2, 1, 3]
    assert np.isnan(table.column("unheard of")).all()
    assert table.names == ("parameters", "test", "error")


def test_between_budgets():
    rows = Table(architectures("a", "b"), curves={"loss": [[4.0, 3.5, 3.0], [2.0, NAN, 1.0]]}, budgets=[10, 20, 40])
    shares = {share: rows.at_share("loss", share).tolist() for share in (1.0, 0.75, 0.5, 0.25, 0.2)}
    assert [values[0] for values in shares.values()] == [3.0, 3.25, 3.5, 4.0, pytest.approx(NAN, nan_ok=True)]
    assert shares[1.0][1] == 1.0
    assert np.isnan(shares[0.5][1])  # it diverged there


def test_rows_with_budgets_of_their_own():
    budgets = [[1, 2, 4], [1, 3, NAN], [1, 2, 4], [5, NAN, NAN]]
    rows = Table(
        architectures("a", "b", "a", "b"),
        curves={"loss": [[3, 2, 1.0], [6, 5, NAN], [5, 4, 3.0], [1, NAN, NAN]]},
        budgets=budgets,
        seconds=[[1, 2, 4], [1, 3, NAN], [3, 4, 6], [9, NAN, NAN]],
        seed=[0, 0, 1, 1],
    )
    assert rows.column("loss").tolist() == [1, 5, 3, 1]
    assert rows.values("b", 3, seed=0) == {"loss": 5}
    assert rows.at_share("loss", 0.5).tolist() == [2, 5.75, 4, pytest.approx(NAN, nan_ok=True)]
    means = rows.averaged()
    assert means.curves["loss"][0].tolist() == [4, 3, 2]
    assert means.curves["loss"][1].tolist()[:2] == [6, 5]  # other budgets: the first training's
    assert rows.seconds_to("a") == 5


def test_averages():
    rows = Table(
        architectures("a", "b", "a", "a"),
        {"perplexity": [10, 7, 40, 1], "latency": [1, NAN, 3, 9]},
        seconds=[1.0, 2.0, NAN, 9.0],
        seed=[0, 0, 1, 1],
        source=["random", "random", "random", "search"],
        extra={"note": ["x", None, "y", "z"], "sizes": [[1, 2], [3, 4], [5, 6], [7, 8]]},
        geometric=("perplexity",),
    )
    means = rows.averaged()
    assert means.keys == ("a", "b")
    # The last row is the third's training once more, under another source.
    assert means.column("perplexity").tolist() == [pytest.approx(20.0), 7]
    assert means.column("latency").tolist() == [2, pytest.approx(NAN, nan_ok=True)]
    assert means.seconds.tolist() == [1, 2]
    assert (means.extra["note"].tolist(), means.extra["sizes"].tolist()) == (["x", None], [[1, 2], [3, 4]])
    assert rows.column("latency").tolist()[0] == 1


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.floats(0.1, 9)), min_size=1, max_size=20))
def test_the_mean_is_that_of_the_seeds(rows):
    seen: dict[int, dict[int, float]] = {}
    for name, seed, value in rows:
        seen.setdefault(name, {}).setdefault(seed, value)
    names, seeds, values = zip(*rows, strict=True)
    table = Table(architectures(*map(str, names)), {"x": values}, {"y": [[v, 2 * v] for v in values]}, [1, 2], seed=seeds)
    assert table.averaged().keys == tuple(map(str, seen))
    for name, found in seen.items():
        mean = pytest.approx(np.mean(list(found.values())))
        assert table.values(str(name), 1) == {"x": mean, "y": mean}
        for seed, value in found.items():
            assert table.values(str(name), 1, seed=seed) == {"x": value, "y": value}


def test_means_are_of_what_was_trained_twice(table):
    assert table.means is table.means
    assert table.means.keys == ("a", "b", "c")
    np.testing.assert_allclose(table.means.column("parameters"), table.averaged().column("parameters"))
    assert table.means.means is table.means  # nothing is copied where there is nothing to average


def test_only_a_source():
    rows = Table(architectures("a", "b", "c"), source=["random", "search", "topology"])
    assert rows.only("search").keys == ("b",)
    assert rows.only(["random", "topology"]).keys == ("a", "c")
    with pytest.raises(DataError, match=r"no rows of source `serch`; it has: random, search, topology\."):
        rows.only("serch")


def test_the_ceiling_is_the_agreement_between_seeds():
    keys = architectures("a", "b", "c", "d", "e") * 2
    rows = Table(keys, {"error": [1, 2, 3, 4, 5, 1, 3, 2, 4, NAN]}, seed=[0] * 5 + [1] * 5)
    ceiling = rows.ceiling("error")
    assert (ceiling.pairs, ceiling.spearman, ceiling.kendall) == (4, pytest.approx(0.8), pytest.approx(2 / 3))
    few = rows.take([0, 5]).ceiling("error")
    assert (few.pairs, few.spearman, few.kendall) == (1, None, None)
    assert rows.take([0]).ceiling("error").pairs == 0


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"columns": {"x": [1.0]}}, r"`x` must have the shape \(2,\), got \(1,\)"),
        ({"curves": {"x": [[1.0], [2.0]]}}, r"`x` must have the shape \(2, 0\), got \(2, 1\)"),
        ({"budgets": [[1, 2]]}, r"`budgets` must have the shape \(2,\) or \(2, 2\), got \(1, 2\)"),
        ({"budgets": [1, 2, 2]}, "`budgets` must be ascending"),
        ({"seconds": [1.0]}, "`seconds`"),
        ({"seed": [1]}, "`seed`"),
        ({"source": ["x"]}, "`source`"),
        ({"extra": {"note": ["x"]}}, "`note`"),
    ],
)
def test_columns_are_as_long_as_each_other(columns, rule):
    with pytest.raises(DataError, match=rule):
        Table(architectures("a", "b"), **columns)


def test_the_fingerprint_is_that_of_the_content(table):
    def changed(**more):
        given = {name: getattr(table, name) for name in ("columns", "curves", "budgets", "seconds", "seed", "final")}
        return Table(more.pop("architectures", table.architectures), **{**given, **more}).fingerprint

    assert changed() == table.fingerprint
    others = [
        changed(columns={**table.columns, "test": table.columns["test"] + 1e-9}),
        changed(columns={("error rate" if name == "test" else name): c for name, c in table.columns.items()}),
        changed(curves={"error": table.curves["error"][:, ::-1]}),
        changed(budgets=[4, 12, 108]),
        changed(seconds=None),
        changed(seed=[1, 0, 0, 7]),
        changed(final=()),
        changed(architectures=architectures("a", "b", "a", "d")),
    ]
    assert len({table.fingerprint, *others}) == 1 + len(others)


def test_a_table_as_large_as_nas_bench_201():
    n = 15_625
    keys = [Architecture.of("cells", {"number": i}, f"k{i}") for i in range(n)]
    values = np.arange(n * 2.0).reshape(n, 2)
    table = Table(keys, curves={"cifar10": values, "cifar100": values + 1}, budgets=[12, 200], seconds=values)
    for key, row in (("k0", 0), ("k15624", n - 1)):
        assert table.values(key, 12) == {"cifar10": values[row, 0], "cifar100": values[row, 0] + 1}
        assert table.seconds_to(key) == values[row, 1]
