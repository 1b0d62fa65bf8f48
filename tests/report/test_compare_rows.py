from __future__ import annotations

import math
from typing import Any

import pytest

from secateur.objectives import Objective
from secateur.report.compare_rows import ComparedRun, Comparison, differences

OBJECTIVES = [Objective("error"), Objective("body_parameters")]


def run(name: str, points: list[tuple[float, float]], seed: int = 0, **changes: Any) -> ComparedRun:
    """A run whose members have these errors and sizes."""
    values = [{"error": error, "body_parameters": size} for error, size in points]
    members = [{"key": f"{name}{i}", "architecture": "a", "values": v} for i, v in enumerate(values)]
    searcher = changes.pop("searcher", "random")
    given: dict[str, Any] = {
        "folder": f"runs/{name}",
        "facts": {"model": "m", "searcher": searcher, "seed": seed},
        "settings": {"model": "/models/m", "searcher": searcher},
        "conditions": {"metric": "accuracy", "data": f"seed {seed}"},
        "members": members,
        "asked": values,
        "unpruned": {"error": 0.0, "body_parameters": 100.0},
        "best": {"50": {"key": f"{name}0", "score": 1 - points[0][0], "test": 0.5}} if points else {},
        "seconds": 10.0,
    }
    return ComparedRun(name=name, **given | changes)


def test_one_hypervolume_for_all() -> None:
    """The box goes from the best (0, 0) to a tenth beyond the worst (1, 100)."""
    found = Comparison([run("a", [(1.0, 0.0), (0.0, 100.0)]), run("b", [(0.5, 50.0)]), run("c", [(0.0, 0.0)])], OBJECTIVES)
    assert found.reference == pytest.approx({"error": 1.1, "body_parameters": 110.0})
    corners = 1 - 1 / 1.1**2  # of a, all but the square between its two points
    assert found.hypervolumes() == pytest.approx([corners, (0.6 / 1.1) ** 2, 1.0])
    assert [row["hypervolume"] for row in found.rows] == found.hypervolumes()


def test_an_objective_may_be_maximised() -> None:
    objectives = [Objective("decoder_parameters", "max"), Objective("latency")]
    values = [[{"decoder_parameters": 10.0, "latency": 1.0}], [{"decoder_parameters": 20.0, "latency": 1.0}]]
    runs = [
        run(name, [], members=[{"key": name, "architecture": "a", "values": v} for v in vs], asked=vs, unpruned={})
        for name, vs in zip("ab", values, strict=True)
    ]
    found = Comparison(runs, objectives, "decoder_parameters")
    assert found.hypervolumes()[0] < found.hypervolumes()[1]
    assert [m["run"] for m in found.unbeaten] == ["b"]
    assert found.reference["decoder_parameters"] == pytest.approx(9.0)


def test_what_no_run_beats() -> None:
    found = Comparison([run("a", [(0.5, 10.0), (0.2, 90.0), (0.9, 95.0)]), run("b", [(0.3, 50.0), (0.2, 95.0)])], OBJECTIVES)
    assert [(m["run"], m["key"]) for m in found.unbeaten] == [("a", "a0"), ("b", "b0"), ("a", "a1")]
    assert [(row["members"], row["unbeaten"]) for row in found.rows] == [(2, 2), (2, 1)]
    assert [row["key"] for row in found.unbeaten_table().rows] == ["a0", "b0", "a1"]


def test_what_lacks_a_value_takes_no_part() -> None:
    odd = run("a", [(0.5, 10.0), (math.nan, 1.0)])
    odd.members.append({"key": "x", "architecture": "a", "values": {"error": 0.0}})
    found = Comparison([odd, run("b", [])], OBJECTIVES)
    assert [len(front) for front in found.fronts] == [1, 0]
    assert found.hypervolumes()[1] == 0
    assert len(found.over_trials()[0]) == 1


def test_the_search_rises() -> None:
    volumes = Comparison([run("a", [(1.0, 0.0), (0.5, 50.0), (0.9, 90.0)])], OBJECTIVES).over_trials()[0]
    assert volumes[0] < volumes[1] == volumes[2]


def test_seeds_are_taken_together() -> None:
    runs = [run("a", [(0.5, 50.0)], 0), run("b", [(0.3, 50.0)], 1), run("c", [(0.1, 50.0)], 0, searcher="local")]
    found = Comparison(runs, OBJECTIVES, "accuracy")
    assert found.groups == [[0, 1], [2]]
    (group,) = found.group_rows()
    assert (group["group"], group["runs"], group["names"]) == ("searcher random", 2, ["a", "b"])
    assert group["score_at_50_mean"] == pytest.approx(0.6)
    assert group["score_at_50_std"] == pytest.approx(math.sqrt(0.02))
    assert group["score_at_10_mean"] is None
    (row,) = found.groups_table().rows
    assert row["test_at_50"] == "0.5000 ± 0.0000"
    assert Comparison(runs[:2], OBJECTIVES).group_rows()[0]["group"] == "all runs"


def test_the_table_has_what_tells_runs_apart() -> None:
    runs = [run("a", [(0.5, 50.0)]), run("b", [(0.3, 50.0)], 1, searcher="local")]
    found = Comparison(runs, OBJECTIVES)
    assert found.same == {"model": "m"}
    assert [c.title for c in found.runs_table().columns] == "run searcher seed hypervolume unbeaten|50 %|time".replace(
        " ", "|", 4
    ).split("|")
    assert found.tested
    untested = run("c", [(0.3, 50.0)], best={"2x": {"key": "c0", "score": 0.7, "test": None}, "50": None})
    found = Comparison([*runs, untested], OBJECTIVES)
    assert not found.tested  # then all scores are on validation data
    assert [c.name for c in found.runs_table().columns][-3:] == ["score_at_50", "score_at_2x", "seconds"]


def test_what_keeps_runs_from_being_compared() -> None:
    one = run("a", [(0.5, 50.0)])
    assert differences([one, one]) == []
    assert differences([one, run("b", [], 1)]) == [
        "each seed draws its own validation and test examples, so scores of different seeds are for different examples."
    ]
    other = run("b", [], conditions={"metric": "f1", "data": "other", "device": "cpu"}, finished=False)
    assert differences([one, other]) == [
        "b is not finished: its front may still change.",
        "metric differs (accuracy in a; f1 in b): their scores cannot be compared.",
        "the runs were not scored on the same data: their scores are for different examples.",
    ]
