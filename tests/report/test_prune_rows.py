"""Every number here is computed by hand from the `tiny` run."""

from __future__ import annotations

import dataclasses

import pytest

from secateur.report import prune_rows
from secateur.report.numbers import SPACE


def test_front_table_has_costs_and_scores_with_shares_of_the_unpruned(tiny):
    table = prune_rows.front_table(tiny)
    assert [row["key"] for row in table.rows] == ["e", "a", "c"]
    row = table.rows[2]
    assert (row["parameters"], row["parameters_share"]) == (400, 0.4)
    assert row["validation"] == pytest.approx(0.7)
    assert row["validation_share"] == pytest.approx(0.7 / 0.8)
    assert row["test"] == 0.6
    assert row["test_share"] == pytest.approx(0.6 / 0.75)


def test_scores_are_those_of_the_weights_that_an_export_writes(tiny):
    front = [{**tiny.front[0], "weights": "polished"}, *tiny.front[1:]]
    table = prune_rows.front_table(dataclasses.replace(tiny, front=front))
    row = table.rows[2]
    assert (row["validation"], row["validation_share"]) == (pytest.approx(0.75), pytest.approx(0.75 / 0.8))
    assert (row["test"], row["weights"]) == (0.72, "polished")
    assert (table.rows[1]["test"], table.rows[1]["weights"]) == (0.45, "shared")
    assert [(c.name, c.group) for c in table.columns] == [
        ("key", ""),
        ("architecture", ""),
        ("parameters", "cost"),
        ("validation", "accuracy"),
        ("test", "accuracy"),
        ("weights", "accuracy"),
    ]


def test_gains_come_before_costs_and_what_is_predicted_is_known(tiny):
    gain = {"speedup": 2.5, "points": -3.0, "kept_above_chance": 0.8, "latency_predicted": True}
    data = dataclasses.replace(tiny, front=[{**tiny.front[0], "gain": gain, "chance": True}])
    table = prune_rows.front_table(data)
    assert [c.name for c in table.columns][2:6] == ["speedup", "points", "kept", "parameters"]
    row = table.rows[0]
    assert (row["speedup"], row["points"], row["kept"]) == (2.5, -3.0, 0.8)
    assert row["speedup_predicted"]
    assert row["chance"]


def test_columns_without_a_number_are_left_out(tiny):
    bare = dataclasses.replace(tiny, front=[{**entry, "polished": None, "test": None} for entry in tiny.front])
    names = [c.name for c in prune_rows.front_table(bare).columns]
    assert names == ["key", "architecture", "parameters", "validation", "weights"]


def test_unpruned_row(tiny):
    row = prune_rows.unpruned_row(tiny)
    assert (row["parameters"], row["validation"], row["test"], row["weights"]) == (1000, 0.8, 0.75, "")


def test_score_takes_the_metric_or_one_minus_the_error():
    assert prune_rows.score({"f1": 0.3, "error": 0.5}, "f1") == 0.3
    assert prune_rows.score({"error": 0.4}, "f1") == pytest.approx(0.6)
    assert prune_rows.score({"f1": float("nan")}, "f1") is None
    assert prune_rows.score({}, "f1") is None
    assert prune_rows.score(None, "f1") is None


def test_before_after(tiny):
    table = prune_rows.before_after(tiny, tiny.front[0])
    assert [row["quantity"] for row in table.rows] == [
        "parameters",
        "accuracy, validation",
        "accuracy, test",
        "accuracy, validation, polished",
        "accuracy, test, polished",
    ]
    assert [row["before"] for row in table.rows] == pytest.approx([1000, 0.8, 0.75, 0.8, 0.75])
    assert [row["after"] for row in table.rows] == pytest.approx([400, 0.7, 0.6, 0.75, 0.72])
    assert [row["ratio"] for row in table.rows] == pytest.approx([0.4, 0.875, 0.8, 0.9375, 0.96])
    assert "kept" not in [c.name for c in table.columns]


def test_shares_of_a_score_are_given_above_chance_too(tiny):
    data = dataclasses.replace(tiny, chance=0.6, chance_test=0.5)
    table = prune_rows.before_after(data, tiny.front[0])
    assert [row["kept"] for row in table.rows] == [None, *map(pytest.approx, (0.5, 0.4, 0.75, 0.88))]
    assert table.columns[-1].name == "kept"
    lower = dataclasses.replace(tiny, chance=0.9)  # the unpruned network has learned nothing
    assert "kept" not in [c.name for c in prune_rows.before_after(lower, tiny.front[0]).columns]


def test_what_is_left_of_a_score_in_words():
    gain = {"score": 0.7938, "unpruned_score": 0.84, "metric": "accuracy", "data": "test"}
    assert prune_rows.kept_of({"gain": gain}) == f"94.5{SPACE}% of the accuracy on test data is left"
    told = prune_rows.kept_of({"gain": gain | {"kept_above_chance": 0.59, "chance": 0.7274}})
    assert told.endswith(f"is left, 59.0{SPACE}% of what was learned above chance (0.727)")
    assert prune_rows.kept_of({}) == ""


def test_a_language_models_perplexities_come_first(tiny):
    tests = [{"perplexity": 9.0, "error": 0.7}, {"perplexity": 8.5, "error": 0.69}]
    polished = {"values": {"error": 0.6}, "test": tests[1]}
    entry = {**tiny.front[0], "test": tests[0], "polished": polished, "weights": "polished"}
    unpruned = {**tiny.unpruned, "test": {"perplexity": 8.0, "error": 0.65}}
    data = dataclasses.replace(tiny, front=[entry], unpruned=unpruned, task={**tiny.task, "main": "token_accuracy"})
    first, second, *_ = prune_rows.before_after(data, entry).rows
    assert (first["quantity"], first["before"], first["after"]) == ("perplexity, test", 8.0, 9.0)
    assert (second["quantity"], second["after"]) == ("perplexity, test, polished", 8.5)
    table = prune_rows.front_table(data)
    assert [c.name for c in table.columns][:3] == ["key", "architecture", "perplexity"]
    assert table.rows[0]["perplexity"] == 8.5
    assert table.columns[-1].group == "token accuracy"


def test_before_after_leaves_out_what_was_not_measured(tiny):
    rows = prune_rows.before_after(tiny, tiny.front[2]).rows
    assert [row["quantity"] for row in rows] == ["parameters", "accuracy, validation"]


def test_metrics_table(tiny):
    table = prune_rows.metrics_table(tiny, tiny.front[0])
    assert table.rows == [
        {"metric": "accuracy", "unpruned": 0.75, "shared": 0.6, "polished": 0.72},
        {"metric": "f1", "unpruned": 0.7, "shared": 0.5, "polished": 0.6},
    ]
    assert [c.name for c in prune_rows.metrics_table(tiny, tiny.front[1]).columns] == ["metric", "unpruned", "shared"]


def test_cards_show_the_weights_that_an_export_writes(tiny):
    gain = {"speedup": 2.5, "points": -3.0}
    front = [
        {**tiny.front[0], "weights": "polished", "gain": gain, "gain_text": "2.5 × faster, 60 % smaller, −3.0 points"},
        *tiny.front[1:],
    ]
    data = dataclasses.replace(tiny, front=front, cards=[{"limit": 0.2, "key": "a"}, {"limit": 0.5, "key": "c"}])
    small, half = prune_rows.cards(data)
    assert (small["limit"], small["key"], small["weights"], small["speedup"]) == (0.2, "a", "shared", None)
    assert (small["validation"], small["test"]) == (pytest.approx(0.5), 0.45)
    assert (half["validation"], half["test"], half["weights"]) == (pytest.approx(0.75), 0.72, "polished")
    assert (half["speedup"], half["points"]) == (2.5, -3.0)
    assert (half["gain"], half["further"]) == ("2.5 × faster", "60 % smaller, −3.0 points")


def test_shares_with_the_same_best_are_one_card(tiny):
    cards = [{"limit": 0.1, "key": "a"}, {"limit": 0.2, "key": "a"}, {"limit": 0.5, "key": "c"}]
    found = prune_rows.cards(dataclasses.replace(tiny, cards=cards))
    assert [(card["limit"], card["last"], card["key"]) for card in found] == [(0.1, 0.2, "a"), (0.5, 0.5, "c")]


def test_shares_are_of_the_body_where_it_is_known(tiny):
    front = [{**e, "values": {**e["values"], "body_parameters": e["values"]["parameters"] - 100}} for e in tiny.front]
    unpruned = {**tiny.unpruned, "values": {**tiny.unpruned["values"], "body_parameters": 300}}
    data = dataclasses.replace(tiny, front=front, unpruned=unpruned)
    assert data.budget == "body_parameters"
    assert prune_rows.front_table(data).rows[0]["body_parameters_share"] == 0.0


def test_summary_is_the_lead(tiny):
    assert prune_rows.summary(tiny) == "3 sub-networks on the Pareto front."
    assert prune_rows.summary(dataclasses.replace(tiny, lead="2.9 × faster")) == "2.9 × faster"
    assert prune_rows.summary(dataclasses.replace(tiny, doubt="WARNING")) == ""
    beaten = dataclasses.replace(tiny, front=[{**entry, "best": i == 0} for i, entry in enumerate(tiny.front)])
    assert prune_rows.summary(beaten) == "1 sub-network on the Pareto front."


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
