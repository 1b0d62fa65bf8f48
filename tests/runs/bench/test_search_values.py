"""Searches of tables by one objective: what is told of the best network so far, over queries and over simulated time."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import rankdata

import secateur
from secateur.errors import ConfigurationError, DataError, UnknownNameError
from secateur.pareto import hypervolume
from secateur.runs.bench.problem import Problem
from secateur.runs.bench.search_courses import course_grid, incumbents
from secateur.runs.bench.search_page import _matrix
from secateur.runs.bench.significance import Pair
from secateur.spaces.pruning import Shape
from secateur.tables.opening import open_table
from secateur.tables.searchable import read_searchable, write_searchable
from secateur.testing.toys import Toy, toy

REAL = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "nasbench" / "nb201_15625.csv.gz"
BUDGETS = [1.0, 3.0, 9.0]
SAID: dict[str, Any] = {
    "space": "small",
    "shape": {"layers": 3, "heads": 3, "units": 6},
    "objectives": ["score"],
    "maximise": ["score", "test"],
    "budget": 3,
    "reported": [{"metric": "test", "budget": 9}],
    "about": "a toy",
}


def problem() -> Toy:
    return toy("small", shape=Shape(layers=3, heads=3, units=6))


def rows() -> list[dict[str, Any]]:
    """Scores that rise with the budget, by their own noise; the test score is another one, and known at the end only."""
    rng = np.random.default_rng(0)
    found = []
    for architecture in problem().space.every():
        error = problem().evaluate(architecture)["error"]
        score = [100 - 50 * error - 10 / b + rng.normal() / b for b in BUDGETS]
        told = {"score": score, "test": [np.nan, np.nan, score[-1] - 2 + 0.1 * rng.normal()]}
        seconds = [b * (1 + error) for b in BUDGETS]
        found.append(
            {"architecture": architecture, "parameters": 100 * (1 - error), "budgets": BUDGETS, **told, "seconds": seconds}
        )
    return found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write_searchable(tmp_path / "toy.parquet", rows(), SAID)
    return tmp_path / "toy.parquet"


def bench(table: Path, **changes: Any) -> Any:
    given: dict[str, Any] = {"searcher": ["random", "local", "mo-rea:4/3"], "seeds": 4, "workers": 1, "progress": False}
    given |= {"to": table.parent / "out", "depths": False} | ({} if "seconds" in changes else {"queries": 12})
    return secateur.bench_search(table=[str(table)], **{**given, **changes})


def test_told_is_the_best_by_the_driving_value(table: Path) -> None:
    """By hand: of the networks asked for so far, the one of the best score at budget 3, its test score at 9 and its regret."""
    study = bench(table)
    known = {row["architecture"].key: row for row in rows()}
    best = max(row["score"][1] for row in known.values())
    for searcher in ("random", "local", "mo-rea:4/3"):
        seen = study.frame[(study.frame["searcher"] == searcher) & (study.frame["seed"] == 2)]
        keys = list(seen["key"])
        assert list(seen["score"]) == [known[key]["score"][1] for key in keys]
        found = [max(keys[:n], key=lambda key: known[key]["score"][1]) for n in range(1, 13)]
        courses = study.regrets["toy"]
        assert list(courses.told) == ["score@3", "test@9"]
        assert courses.told["score@3"][searcher][2] == pytest.approx([known[key]["score"][1] for key in found])
        assert courses.told["test@9"][searcher][2] == pytest.approx([known[key]["test"][2] for key in found])
        assert courses.possible[searcher][2] == pytest.approx([best - known[key]["score"][1] for key in found])
        every = np.cumsum([best - known[key]["score"][1] for key in keys])
        assert courses.cumulative[searcher][2] == pytest.approx(every)
    reached = max(known[key]["score"][1] for key in study.frame["key"])
    assert courses.seen["local"] == pytest.approx(courses.possible["local"] - (best - reached))


def test_rows_are_told_where_asked(table: Path) -> None:
    study = bench(table, at=[5, 12])
    told = [row for row in study.rows() if row["searcher"] == "local"]
    assert [row["queries"] for row in told] == [5, 12]
    values = study.regrets["toy"].told["test@9"]["local"][:, 4]
    assert told[0]["test@9"] == pytest.approx(values.mean())
    assert told[0]["test@9_error"] == pytest.approx(values.std(ddof=1) / 2)
    assert told[0]["test@9_median"] == pytest.approx(np.median(values))
    assert told[0]["test@9_q90"] == pytest.approx(np.quantile(values, 0.9))
    assert [row["queries"] for row in bench(table).rows() if row["searcher"] == "local"] == [3, 6, 9, 12]


def test_objective_budget_and_report_can_be_asked_for(table: Path) -> None:
    """A column that is minimised, at another budget, and another measure of what is found."""
    study = bench(table, objective=["parameters"], budget=9.0, report=["score@1", "score"])
    courses = study.regrets["toy"]
    assert list(courses.told) == ["parameters@9", "score@1", "score"]
    least = min(row["parameters"] for row in rows())
    assert courses.possible["random"] == pytest.approx(courses.told["parameters@9"]["random"] - least)


def test_workers_find_the_same(table: Path) -> None:
    """In other processes, and in another order: the same rows, but for the time they took."""
    alone = bench(table).frame.drop(columns="seconds").reset_index(drop=True)
    beside = bench(table, workers=3, to=table.parent / "beside").frame.drop(columns="seconds").reset_index(drop=True)
    assert beside.equals(alone)


def test_networks_without_a_value(tmp_path: Path) -> None:
    """A query that fails is one: it finds nothing, and counts as the worst network there is."""
    gaps = [{**row, "score": [np.nan] * 3} if place % 2 else row for place, row in enumerate(rows())]
    write_searchable(tmp_path / "gaps.parquet", gaps, SAID)
    study = bench(tmp_path / "gaps.parquet", searcher=["random"], seeds=8, queries=3)
    known = {row["architecture"].key: row["score"][1] for row in gaps}
    best, worst = np.nanmax(list(known.values())), np.nanmin(list(known.values()))
    courses = study.regrets["gaps"]
    for seed in range(8):
        lacks = [
            best - (worst if np.isnan(known[key]) else known[key]) for key in study.frame["key"][study.frame["seed"] == seed]
        ]
        assert courses.possible["random"][seed] == pytest.approx(np.minimum.accumulate(lacks))
        assert courses.cumulative["random"][seed] == pytest.approx(np.cumsum(lacks))
    assert study.frame["score"].isna().any()
    several = bench(tmp_path / "gaps.parquet", searcher=["random"], seeds=8, queries=3, objective=["score", "parameters"])
    assert several.regrets["gaps"].told["hypervolume"]["random"].shape == (8, 3)


def test_of_equals_the_first_is_the_best() -> None:
    rng = np.random.default_rng(0)
    values, budgets = rng.integers(0, 4, 50).astype(float), rng.choice([1.0, 3.0, 9.0], 50)
    for n, found in enumerate(incumbents(values, budgets), 1):
        most = budgets[:n].max()
        places = [i for i in range(n) if budgets[i] == most]
        assert found == min(places, key=lambda i: (values[i], i))


def test_the_grid_has_where_results_are_told() -> None:
    assert course_grid(12, [3, 12], False).tolist() == list(range(1, 13))
    long = course_grid(100_000, [77], False)
    assert len(long) == 501
    assert {77.0, 100_000.0} < set(long.tolist())
    assert (long == long.round()).all()


def test_over_simulated_time(table: Path) -> None:
    """By hand: what has ended by a moment, of that the best at the largest budget so far. A training that goes on costs the
    difference, and before the first has ended a search lacks all that can be."""
    study = bench(table, searcher=["random", "mo-asha"], budget=9.0, seconds=120.0, at="30,60,120")
    known = {row["architecture"].key: row for row in rows()}
    finals = {key: row["score"][2] for key, row in known.items()}
    best, worst = max(finals.values()), min(finals.values())
    courses = study.regrets["toy"]
    budgets = set()
    for searcher in ("random", "mo-asha"):
        seen = study.frame[(study.frame["searcher"] == searcher) & (study.frame["seed"] == 1)]
        clock, spent, ended = 0.0, {}, []
        for key, budget in zip(seen["key"], seen["budget"], strict=True):
            place = BUDGETS.index(budget)
            clock += known[key]["seconds"][place] - spent.get(key, 0.0)
            spent[key] = known[key]["seconds"][place]
            ended.append((clock, budget, known[key]["score"][place], key))
            budgets.add((searcher, budget))
        assert list(seen["clock"]) == pytest.approx([moment for moment, *_ in ended])
        assert ended[-2][0] < 120 <= ended[-1][0]  # what begins before the end is trained
        sums = 0.0
        for place, moment in enumerate(study.grid):
            there = [one for one in ended if one[0] <= moment]
            found = max(there, key=lambda one: one[1:3])[3] if there else None
            regret = best - (worst if found is None else finals[found])
            assert courses.possible[searcher][1, place] == pytest.approx(regret)
            if found is not None:
                assert courses.told["test@9"][searcher][1, place] == pytest.approx(known[found]["test"][2])
            times = np.diff([0.0, *(one[0] for one in there)])
            sums = sum(seconds * (best - finals[one[3]]) for seconds, one in zip(times, there, strict=True))
            assert courses.cumulative[searcher][1, place] == pytest.approx(sums)
    assert budgets == {("random", 9.0), ("mo-asha", 1.0), ("mo-asha", 3.0), ("mo-asha", 9.0)}
    assert [row["simulated_seconds"] for row in study.rows() if row["searcher"] == "random"] == [30, 60, 120]


def test_of_several_objectives_the_largest_budget_counts(table: Path) -> None:
    """What MO-ASHA saw at smaller budgets is no point of its front."""
    given = {"objective": ["score", "parameters"], "budget": 9.0, "seconds": 120.0}
    study = bench(table, searcher=["random", "mo-asha"], **given)
    whole = study.frame[study.frame["budget"] == 9.0]
    points = np.column_stack([-whole["score"], whole["parameters"]])
    places = np.column_stack([rankdata(column) - 1 for column in points.T]) / (len(points) - 1)
    own = (whole["searcher"] == "mo-asha") & (whole["seed"] == 3) & (whole["clock"] <= 120)
    volume = hypervolume(places[own.to_numpy()], np.array([2.0, 2.0]))
    assert study.regrets["toy"].told["hypervolume"]["mo-asha"][3, -1] == pytest.approx(volume)


def test_who_stops_trainings_needs_budgets(table: Path) -> None:
    with pytest.raises(ConfigurationError, match="`mo-asha` stops trainings early: the table `toy` needs several budgets"):
        bench(table, searcher=["mo-asha"], budget=1.0)


def test_rungs_are_budgets_of_the_table(tmp_path: Path) -> None:
    """12 and 200 have no factor of 3 between them."""
    several = [{**row, "budgets": [12.0, 200.0, 400.0]} for row in rows()]
    write_searchable(tmp_path / "other.parquet", several, {**SAID, "budget": 200, "reported": []})
    study = bench(tmp_path / "other.parquet", searcher=["mo-asha"], queries=40)
    assert set(study.frame["budget"]) == {12.0, 200.0}


@pytest.mark.skipif(not REAL.is_file(), reason="the table of NAS-Bench-201 is not here")
def test_random_search_is_as_published(tmp_path: Path) -> None:
    """Yan (2022), table 3.3: after 100 queries random search has 90.94 and 93.75 % at 200 epochs."""
    study = bench(REAL, searcher=["random"], seeds=100, queries=100, at=[100], to=tmp_path)
    (row,) = study.rows()
    for measure, published in {"cifar10_validation@200": 90.94, "cifar10_test@200": 93.75}.items():
        assert abs(row[measure] - published) < 3 * row[f"{measure}_error"]


def test_refusals(table: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown column `scor`"):
        bench(table, objective=["scor"])
    with pytest.raises(UnknownNameError, match="unknown column `tes`"):
        bench(table, report=["tes@9"])
    with pytest.raises(DataError, match="has no budget 5"):
        bench(table, budget=5.0)
    with pytest.raises(ConfigurationError, match="no network of the table `toy` has `test@3`"):
        bench(table, objective=["test"])
    with pytest.raises(ConfigurationError, match="`test@many` must be a column, or one at a budget such as test@200"):
        bench(table, report=["test@many"])
    for at in ("5,13", "0,5", "", "five", [0]):
        with pytest.raises(ConfigurationError, match="`at` must"):
            bench(table, at=at)
    with pytest.raises(ConfigurationError, match="`workers` must be at least 1"):
        bench(table, workers=0)
    with pytest.raises(ConfigurationError, match="`queries` and `seconds` both"):
        bench(table, queries=3, seconds=5.0)
    with pytest.raises(ConfigurationError, match="unknown encoding `pat`"):
        bench(table, searcher=["ehvi:pat"])
    with pytest.raises(ConfigurationError, match="names an encoding, and `nsga2` has no use for one"):
        bench(table, searcher=["nsga2:vector"])
    write_searchable(table, [{k: v for k, v in row.items() if k != "seconds"} for row in rows()], SAID)
    assert open_table(str(table)).table.seconds is None
    with pytest.raises(ConfigurationError, match="the table `toy` has no times"):
        bench(table, seconds=5.0)


@pytest.mark.parametrize(("measure", "side"), [("regret", -1), ("score", 1), ("parameters", -1), ("snip", 1)])
def test_the_matrix_knows_what_is_better(tmp_path: Path, measure: str, side: int) -> None:
    """By what the table says, else by what the quantity is."""
    every = [{**row, "snip": row["parameters"]} for row in rows()]
    write_searchable(tmp_path / "toy.parquet", every, SAID)
    found = Problem.of(read_searchable(tmp_path / "toy.parquet", "toy"), (), None, None)
    larger = Pair("a", "b", 1.0, 0.5, 1.5, 0.001, 0.001)
    (drawn,) = _matrix(cast(Any, SimpleNamespace(searchers=["a", "b"])), found, measure, [larger])["data"]
    assert [list(row) for row in drawn["z"]] == [[None, side], [-side, None]]


def test_searches_that_end_with_the_best_tell_the_same_of_it(table: Path) -> None:
    """Every figure of the best network is that of searches that go on; what adds up over queries is told while all go on."""
    whole = bench(table, queries=30, at="5,30", to=table.parent / "whole")
    ended = bench(table, queries=30, at="5,30", until_best=True, to=table.parent / "ended")
    assert len(ended.frame) < len(whole.frame)
    for one, other in zip(whole.rows(), ended.rows(), strict=True):
        kept = [name for name in one if not name.startswith(("cumulative", "seconds"))]
        assert {name: one[name] for name in kept} == {name: other[name] for name in kept}
    assert all(row["cumulative_regret"] is None for row in ended.rows() if row["queries"] == 30 and row["searcher"] == "local")
    assert "once they had found the best network" in str(ended)
    for name, arrays in ended.regrets["toy"].cumulative.items():
        known = np.isfinite(arrays)
        assert known[:, 0].all()
        np.testing.assert_array_equal(arrays[known], whole.regrets["toy"].cumulative[name][known])
    again = bench(table, queries=30, at="5,30", until_best=True, to=table.parent / "ended")
    assert again.frame.equals(ended.frame)


def test_what_has_no_best_network_cannot_end_with_it(table: Path) -> None:
    with pytest.raises(ConfigurationError, match="`until_best` goes with `queries`"):
        bench(table, seconds=10.0, until_best=True)
    with pytest.raises(ConfigurationError, match="`until_best` needs one objective, got 2"):
        bench(table, objective=["score", "parameters"], until_best=True)
