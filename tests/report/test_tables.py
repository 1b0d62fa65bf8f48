"""Every number here is computed by hand from the `tiny` run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from secateur.report import tables


def test_front_table_has_costs_and_scores_with_shares_of_the_unpruned(tiny):
    table = tables.front_table(tiny)
    assert [row["key"] for row in table.rows] == ["e", "a", "c"]
    row = table.rows[2]
    assert (row["parameters"], row["parameters_share"]) == (400, 0.4)
    assert row["validation"] == pytest.approx(0.7)
    assert row["validation_share"] == pytest.approx(0.7 / 0.8)
    assert row["test"] == 0.6
    assert row["test_share"] == pytest.approx(0.6 / 0.75)


def test_polished_scores_have_columns_of_their_own(tiny):
    table = tables.front_table(tiny)
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
    assert [c.name for c in tables.front_table(bare).columns] == ["architecture", "parameters", "validation"]


def test_unpruned_row(tiny):
    row = tables.unpruned_row(tiny)
    assert (row["parameters"], row["validation"], row["test"], row["polished_test"]) == (1000, 0.8, 0.75, None)


def test_score_takes_the_metric_or_one_minus_the_error():
    assert tables.score({"f1": 0.3, "error": 0.5}, "f1") == 0.3
    assert tables.score({"error": 0.4}, "f1") == pytest.approx(0.6)
    assert tables.score({"f1": float("nan")}, "f1") is None
    assert tables.score({}, "f1") is None
    assert tables.score(None, "f1") is None


def test_share_of_nothing_is_none():
    assert tables.share(1.0, 0.0) is None
    assert tables.share(None, 2.0) is None
    assert tables.share(0.0, 2.0) == 0.0


def test_before_after(tiny):
    rows = tables.before_after(tiny, tiny.front[0]).rows
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
    rows = tables.before_after(tiny, tiny.front[2]).rows
    assert [row["quantity"] for row in rows] == ["parameters", "error, validation"]


def test_metrics_table(tiny):
    table = tables.metrics_table(tiny, tiny.front[0])
    assert table.rows == [
        {"metric": "accuracy", "unpruned": 0.75, "shared": 0.6, "polished": 0.72},
        {"metric": "f1", "unpruned": 0.7, "shared": 0.5, "polished": 0.6},
    ]
    assert [c.name for c in tables.metrics_table(tiny, tiny.front[1]).columns] == ["metric", "unpruned", "shared"]


def test_budgets_pick_by_validation_shared_and_polished_apart(tiny):
    rows = {row["limit"]: row for row in tables.budgets(tiny).rows}
    assert {limit: row["key"] for limit, row in rows.items()} == {0.1: "e", 0.2: "a", 0.3: "a", 0.5: "c", 0.7: "c"}
    assert {limit: row["polished_key"] for limit, row in rows.items()} == {0.1: None, 0.2: None, 0.3: None, 0.5: "c", 0.7: "c"}
    assert rows[0.5]["validation"] == pytest.approx(0.7)
    assert rows[0.5]["polished_validation"] == pytest.approx(0.75)
    assert rows[0.2]["test"] == 0.45


def test_budgets_are_of_the_body_where_it_is_known(tiny):
    front = [{**e, "values": {**e["values"], "body_parameters": e["values"]["parameters"] - 100}} for e in tiny.front]
    unpruned = {**tiny.unpruned, "values": {**tiny.unpruned["values"], "body_parameters": 300}}
    data = dataclasses.replace(tiny, front=front, unpruned=unpruned)
    assert data.budget == "body_parameters"
    assert [row["key"] for row in tables.budgets(data).rows] == ["e", "e", "e", "a", "a"]
    assert tables.front_table(data).rows[0]["body_parameters_share"] == 0.0


def test_summary_names_the_best_at_half_the_size(tiny):
    assert tables.summary(tiny) == (
        "Best at ≤ 50 % of parameters, polished: accuracy 0.7500 on validation data (unpruned 0.8000), "
        "0.7200 on test data (unpruned 0.7500)."
    )
    bare = dataclasses.replace(tiny, front=tiny.front[1:])
    assert tables.summary(bare) == (
        "Best at ≤ 50 % of parameters: accuracy 0.5000 on validation data (unpruned 0.8000), "
        "0.4500 on test data (unpruned 0.7500)."
    )


def test_summary_without_anything_small_enough(tiny):
    assert tables.summary(dataclasses.replace(tiny, front=[])) == "0 sub-networks on the Pareto front."


def test_trials_table(tiny):
    table = tables.trials_table(tiny)
    assert [row["number"] for row in table.rows] == list(range(7))
    assert table.rows[2]["parameters"] == 400
    assert table.rows[1]["error"] is None
    unhappy = tables.trials_table(tiny, ("failed", "infeasible"))
    assert [row["reason"] for row in unhappy.rows] == ["the loss is NaN", "parameters 950 > 900"]
    assert "error" not in [c.name for c in unhappy.columns]


def test_status_counts_tell_asked_from_free(tiny):
    assert tables.status_counts(tiny) == [
        {"status": "complete", "asked": 3, "free": 1},
        {"status": "infeasible", "asked": 1, "free": 0},
        {"status": "failed", "asked": 1, "free": 0},
        {"status": "running", "asked": 1, "free": 0},
    ]


def test_stage_times(tiny):
    assert [(row["stage"], row["share"]) for row in tables.stage_times(tiny)] == [("train", 0.75), ("search", 0.25)]


def test_hypervolume_by_hand(tiny):
    # Asked and complete: (0.5, 200), (0.3, 400), (0.4, 600); scaled (1, 0), (0, 0.5), (0.5, 1); reference (1.1, 1.1).
    rows = tables.hypervolume_rows(tiny)
    assert [row["trial"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["number"] for row in rows] == [0, 1, 2, 3, 5]
    first, both = 0.1 * 1.1, 0.1 * 1.1 + 1.1 * 0.6 - 0.1 * 0.6
    assert np.allclose([row["hypervolume"] for row in rows], [first, first, both, both, both])


def test_hypervolume_is_empty_without_a_complete_trial(tiny):
    assert tables.hypervolume_rows(dataclasses.replace(tiny, trials=tiny.trials[1:2])) == []


def test_hypervolume_of_a_constant_objective_is_finite(tiny):
    rows = tables.hypervolume_rows(dataclasses.replace(tiny, trials=tiny.trials[:1]))
    assert [row["hypervolume"] for row in rows] == pytest.approx([1.1 * 1.1])


def test_hypervolume_never_falls(large_run):
    volumes = [row["hypervolume"] for row in tables.hypervolume_rows(large_run)]
    assert volumes == sorted(volumes)
    assert 0 < volumes[-1] <= 1.1**2


def test_settings_are_flattened(tiny):
    assert tables.settings_rows(tiny.settings) == [
        {"name": "model", "value": "toy"},
        {"name": "training.epochs", "value": "3"},
        {"name": "training.seeds", "value": "1, 2"},
        {"name": "limit", "value": ""},
    ]


def test_data_knows_objectives_and_quantities(tiny, three_objectives):
    assert tiny.objective_names == ["error", "parameters"]
    assert tiny.quantities == ["error", "parameters"]
    assert three_objectives.quantities == ["error", "latency", "memory", "parameters", "body_parameters", "macs"]
