"""Every number here is computed by hand from the `tiny` run."""

from __future__ import annotations

import dataclasses

import pytest

from secateur.report import prune_rows


def test_front_table_has_costs_and_scores_with_shares_of_the_unpruned(tiny):
    table = prune_rows.front_table(tiny)
    assert [row["key"] for row in table.rows] == ["e", "a", "c"]
    row = table.rows[2]
    assert (row["parameters"], row["parameters_share"]) == (400, 0.4)
    assert row["validation"] == pytest.approx(0.7)
    assert row["validation_share"] == pytest.approx(0.7 / 0.8)
    assert row["test"] == 0.6
    assert row["test_share"] == pytest.approx(0.6 / 0.75)


def test_polished_scores_have_columns_of_their_own(tiny):
    table = prune_rows.front_table(tiny)
    row = table.rows[2]
    assert row["polished_validation"] == pytest.approx(0.75)
    assert row["polished_validation_share"] == pytest.approx(0.75 / 0.8)
    assert row["polished_test"] == 0.72
    assert table.rows[0]["polished_validation"] is None
    assert [(c.name, c.group) for c in table.columns] == [
        ("architecture", ""),
        ("parameters", "cost"),
        ("validation", "accuracy, shared weights"),
        ("test", "accuracy, shared weights"),
        ("polished_validation", "accuracy, polished"),
        ("polished_test", "accuracy, polished"),
    ]


def test_columns_without_a_number_are_left_out(tiny):
    bare = dataclasses.replace(tiny, front=[{**entry, "polished": None, "test": None} for entry in tiny.front])
    assert [c.name for c in prune_rows.front_table(bare).columns] == ["architecture", "parameters", "validation"]


def test_unpruned_row(tiny):
    row = prune_rows.unpruned_row(tiny)
    assert (row["parameters"], row["validation"], row["test"], row["polished_test"]) == (1000, 0.8, 0.75, None)


def test_score_takes_the_metric_or_one_minus_the_error():
    assert prune_rows.score({"f1": 0.3, "error": 0.5}, "f1") == 0.3
    assert prune_rows.score({"error": 0.4}, "f1") == pytest.approx(0.6)
    assert prune_rows.score({"f1": float("nan")}, "f1") is None
    assert prune_rows.score({}, "f1") is None
    assert prune_rows.score(None, "f1") is None


def test_before_after(tiny):
    rows = prune_rows.before_after(tiny, tiny.front[0]).rows
    assert [row["quantity"] for row in rows] == [
        "parameters",
        "error, validation",
        "error, test",
        "error, validation, polished",
        "error, test, polished",
    ]
    assert [row["before"] for row in rows] == pytest.approx([1000, 0.2, 0.25, 0.2, 0.25])
    assert [row["after"] for row in rows] == pytest.approx([400, 0.3, 0.4, 0.25, 0.28])
    assert [row["ratio"] for row in rows] == pytest.approx([0.4, 1.5, 1.6, 1.25, 1.12])


def test_before_after_leaves_out_what_was_not_measured(tiny):
    rows = prune_rows.before_after(tiny, tiny.front[2]).rows
    assert [row["quantity"] for row in rows] == ["parameters", "error, validation"]


def test_metrics_table(tiny):
    table = prune_rows.metrics_table(tiny, tiny.front[0])
    assert table.rows == [
        {"metric": "accuracy", "unpruned": 0.75, "shared": 0.6, "polished": 0.72},
        {"metric": "f1", "unpruned": 0.7, "shared": 0.5, "polished": 0.6},
    ]
    assert [c.name for c in prune_rows.metrics_table(tiny, tiny.front[1]).columns] == ["metric", "unpruned", "shared"]


def test_cards_show_the_weights_that_an_export_writes(tiny):
    gain = {"speedup": 2.5, "points": -3.0}
    front = [{**tiny.front[0], "weights": "polished", "gain": gain, "gain_text": "2.5 × faster"}, *tiny.front[1:]]
    data = dataclasses.replace(tiny, front=front, cards=[{"limit": 0.2, "key": "a"}, {"limit": 0.5, "key": "c"}])
    small, half = prune_rows.cards(data)
    assert (small["limit"], small["key"], small["weights"], small["speedup"]) == (0.2, "a", "shared", None)
    assert (small["validation"], small["test"]) == (pytest.approx(0.5), 0.45)
    assert (half["validation"], half["test"], half["weights"]) == (pytest.approx(0.75), 0.72, "polished")
    assert (half["speedup"], half["points"], half["gain"]) == (2.5, -3.0, "2.5 × faster")


def test_shares_are_of_the_body_where_it_is_known(tiny):
    front = [{**e, "values": {**e["values"], "body_parameters": e["values"]["parameters"] - 100}} for e in tiny.front]
    unpruned = {**tiny.unpruned, "values": {**tiny.unpruned["values"], "body_parameters": 300}}
    data = dataclasses.replace(tiny, front=front, unpruned=unpruned)
    assert data.budget == "body_parameters"
    assert prune_rows.front_table(data).rows[0]["body_parameters_share"] == 0.0


def test_summary_is_the_lead(tiny):
    assert prune_rows.summary(tiny) == "3 sub-networks on the Pareto front."
    assert prune_rows.summary(dataclasses.replace(tiny, lead="2.9 × faster")) == "2.9 × faster"


def test_without_the_unpruned_sizes_there_is_no_budget(tiny):
    unknown = dataclasses.replace(tiny, unpruned={"values": {"error": 0.2}, "test": None})
    assert unknown.budget is None
    assert [row["key"] for row in prune_rows.front_table(unknown).rows] == ["c", "a", "e"]


def test_summary_without_anything_small_enough(tiny):
    assert prune_rows.summary(dataclasses.replace(tiny, front=[])) == "0 sub-networks on the Pareto front."


def test_kept_heads_have_their_original_index(tiny):
    plan = {"layers": [{"index": 0, "heads": 1, "units": [0, 3]}]}
    assert prune_rows.kept_heads(tiny, plan) == [[1], None]
    assert prune_rows.kept_heads(dataclasses.replace(tiny, importance=None), plan) == [[0], None]


def test_head_scores_carry_their_place(tiny):
    assert prune_rows.head_scores(tiny)[0] == [{"head": 0, "score": 1.0, "place": 1}, {"head": 1, "score": 3.0, "place": 0}]


def test_unit_curves_are_cumulative_in_order(tiny):
    first, second = prune_rows.unit_curves(tiny)
    assert [p["units"] for p in first] == [0, 1, 2, 3, 4]
    assert [p["importance"] for p in first] == pytest.approx([0, 0.5, 0.7, 0.9, 1.0])
    assert [p["importance"] for p in second] == [0, 0, 0, 0, 0]


def test_unit_curves_stay_small(large_run):
    for curve in prune_rows.unit_curves(large_run):
        assert len(curve) == prune_rows.POINTS + 1
        assert curve[-1]["importance"] == pytest.approx(1)


def test_nothing_without_importance(tiny):
    bare = dataclasses.replace(tiny, importance=None)
    assert prune_rows.head_scores(bare) == []
    assert prune_rows.unit_curves(bare) == []
