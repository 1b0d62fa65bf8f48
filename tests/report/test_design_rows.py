"""Every number here is computed by hand from the `tiny_design` run."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from secateur.report import design_rows, rows


def test_data_knows_its_proxy_costs_and_directions(tiny_design):
    assert tiny_design.proxy == "decoder_parameters"
    assert tiny_design.costs == ["latency", "memory"]
    assert (tiny_design.direction("decoder_parameters"), tiny_design.direction("latency")) == ("max", "min")
    turned = dataclasses.replace(tiny_design, objectives=["speed", "latency"], directions={"speed": "max"})
    assert (turned.proxy, turned.sign("speed"), turned.costs) == ("speed", -1.0, ["latency", "memory"])
    assert dataclasses.replace(tiny_design, objectives=["latency"]).proxy == "decoder_parameters"


def test_each_baseline_meets_the_cheapest_measured_member_of_no_lower_proxy(tiny_design):
    first, second, third = design_rows.comparison_rows(tiny_design)
    assert (first["latency_key"], first["latency_front"], first["latency_saving"]) == ("a", 0.010, 0.5)
    assert (first["memory_key"], first["memory_front"], first["memory_saving"]) == ("b", 1000, 0.75)
    # d has more proxy and is faster, but nobody measured it.
    assert (second["latency_key"], second["latency_saving"]) == ("b", 0.5)
    assert (second["memory_key"], second["memory_saving"]) == ("b", 0.5)
    assert [third[f"latency_{what}"] for what in ("key", "front", "saving", "between", "together")] == [None] * 5


def test_interpolation_is_between_members_that_none_beats_and_never_beyond(tiny_design):
    first, second, third = design_rows.comparison_rows(tiny_design)
    assert first["latency_between"] == pytest.approx(0.010)
    assert second["latency_between"] == pytest.approx(0.010 + 0.75 * 0.015)
    assert second["latency_between_saving"] == pytest.approx(0.575)
    # By memory, a is beaten by b: the line begins at b's 300.
    assert first["memory_between"] is None
    assert third["latency_between"] is None


def test_one_network_for_all_costs(tiny_design):
    first, second, third = design_rows.comparison_rows(tiny_design)
    assert (first["together_key"], first["latency_together"], first["memory_together"]) == ("a", 0.5, 0.5)
    assert (second["together_key"], second["latency_together"], second["memory_together"]) == ("b", 0.5, 0.5)
    assert third["together_key"] is None


def test_averages_leave_out_what_the_front_does_not_reach(tiny_design):
    average = design_rows.comparison_average(tiny_design)
    assert (average["reached"], average["baselines"], average["largest"]["layers"]) == (2, 3, 2)
    assert average["latency_saving"] == 0.5
    assert average["latency_between_saving"] == pytest.approx((0.5 + 0.575) / 2)
    assert average["memory_saving"] == pytest.approx(0.625)
    assert average["memory_between_saving"] is None
    assert average["memory_together"] == 0.5


def test_where_nothing_is_measured_all_members_are_compared(tiny_design):
    front = [{**entry, "measured": False} for entry in tiny_design.front]
    second = design_rows.comparison_rows(dataclasses.replace(tiny_design, front=front))[1]
    assert (second["latency_key"], second["latency_saving"]) == ("d", pytest.approx(0.6))


def test_a_front_that_costs_more_saves_less_than_nothing(tiny_design):
    baselines = [{**tiny_design.baselines[0], "values": {"decoder_parameters": 100, "latency": 0.008, "memory": None}}]
    row = design_rows.comparison_rows(dataclasses.replace(tiny_design, baselines=baselines))[0]
    assert row["latency_saving"] == pytest.approx(-0.25)
    assert (row["memory_saving"], row["memory_together"]) == (None, None)
    assert row["latency_together"] == pytest.approx(-0.25)


def test_comparison_columns(tiny_design):
    table = design_rows.comparison_table(tiny_design)
    groups = {group: [c.name for c in columns] for group, columns in itertools.groupby(table.columns, lambda c: c.group)}
    of_cost = ("", "_front", "_saving", "_between_saving")
    assert groups == {
        "": ["name", "proxy"],
        "latency": [f"latency{what}" for what in of_cost],
        "memory": [f"memory{what}" for what in of_cost],
        "one network, lower": ["latency_together", "memory_together"],
    }
    assert all(c.name in row for c in table.columns for row in table.rows)


def test_slices_follow_the_directions(tiny_design):
    assert design_rows.slice_pairs(tiny_design) == [
        ("latency", "decoder_parameters"),
        ("memory", "decoder_parameters"),
        ("memory", "latency"),
    ]
    keys = [[e["key"] for e in design_rows.slice_rows(tiny_design, *pair)] for pair in design_rows.slice_pairs(tiny_design)]
    assert keys == [["a", "d"], ["b", "c", "d"], ["b", "a"]]
    assert design_rows.slice_rows(dataclasses.replace(tiny_design, front=[]), "latency", "memory") == []


def test_predictions_of_measured_members(tiny_design):
    errors = {row["key"]: row["error"] for row in design_rows.predictions(tiny_design)}
    assert errors == {"c": pytest.approx(0.1), "a": pytest.approx(-0.1), "b": 0.0}
    assert design_rows.prediction_errors(tiny_design) == {
        "members": 3,
        "mean": pytest.approx(0.2 / 3),
        "max": pytest.approx(0.1),
    }
    assert design_rows.prediction_errors(dataclasses.replace(tiny_design, front=tiny_design.front[3:])) is None


def test_front_table_is_sorted_by_proxy_and_has_predictions(tiny_design):
    table = design_rows.front_table(tiny_design)
    assert [row["key"] for row in table.rows] == ["a", "b", "c", "d"]
    assert [(c.name, c.group) for c in table.columns] == [
        ("key", ""),
        ("architecture", ""),
        ("decoder_parameters", "objectives"),
        ("latency", "objectives"),
        ("memory", "objectives"),
        ("predicted_latency", "latency model"),
        ("prediction_error", "latency model"),
    ]
    assert (table.rows[3]["measured"], table.rows[3]["prediction_error"]) == (False, None)
    assert [row["latency_predicted"] for row in table.rows] == [False, False, False, True]
    front = [{**entry, "predicted_latency": None} for entry in tiny_design.front]
    columns = design_rows.front_table(dataclasses.replace(tiny_design, front=front)).columns
    assert "predicted_latency" not in [c.name for c in columns]


def test_a_member_against_the_largest_baseline_below_it(tiny_design):
    name, table = design_rows.against(tiny_design, tiny_design.front[0])
    assert name == "GPT-2 small, 2 layers"
    assert [(row["before"], row["after"]) for row in table.rows] == [(250, 400), (0.050, 0.030), (2000, 3000)]
    assert table.rows[1]["ratio"] == pytest.approx(0.6)
    small = {**tiny_design.front[0], "values": {"decoder_parameters": 10, "latency": 0.001}}
    name, table = design_rows.against(tiny_design, small)
    assert (name, [row["before"] for row in table.rows]) == ("", [None, None])


def test_gains_over_the_published_network_have_columns(tiny_design):
    gain = {"speedup": 1.5, "parameters_smaller": 0.25}
    front = [{**entry, "gain": gain} for entry in tiny_design.front]
    table = design_rows.front_table(dataclasses.replace(tiny_design, front=front, published="GPT-2 small, 12 layers"))
    against = [c for c in table.columns if c.group == "against GPT-2 small, 12 layers"]
    assert [(c.name, c.shown_as) for c in against] == [("speedup", "times"), ("smaller", "share")]
    assert (table.rows[0]["speedup"], table.rows[0]["smaller"], table.rows[3]["speedup_predicted"]) == (1.5, 0.25, True)


def test_latency_and_memory_are_shown_whatever_the_objectives(tiny_design):
    def with_parameters(row):
        return {**row, "values": {**row["values"], "parameters": 1000, "macs": 5}}

    front, baselines = ([with_parameters(row) for row in rows] for rows in (tiny_design.front, tiny_design.baselines))
    objectives = ["decoder_parameters", "parameters", "macs"]
    data = dataclasses.replace(tiny_design, objectives=objectives, front=front, baselines=baselines)
    pairs = design_rows.slice_pairs(data)
    assert pairs == [(c, "decoder_parameters") for c in ("parameters", "macs", "latency", "memory")] + [("macs", "parameters")]
    assert {"latency", "memory"} <= {c.name for c in design_rows.front_table(data).columns}


def test_summary(tiny_design):
    assert design_rows.summary(tiny_design) == (
        "2.00 × faster, 3.00 × less memory",
        "than layer-scaled GPT-2 small at equal decoder parameters or more, on average over 2 of the 3 networks "
        "(interpolated to equal decoder parameters: 2.18 × faster); 4 architectures on the Pareto front.",
    )
    assert design_rows.summary(dataclasses.replace(tiny_design, baselines=[])) == ("4 architectures on the Pareto front.", "")
    average = {"latency_front_times": 0.8, "memory_front_times": 0.5}
    assert design_rows.times_less(tiny_design, average) == "1.25 × slower, 2.00 × more memory"


def test_the_largest_baseline_reached_in_units(tiny_design):
    average = design_rows.comparison_average(tiny_design)
    told = "GPT-2 small, 2 layers: latency 50.0 → 25.0 ms, memory 2.00 → 1.00 kB"
    assert design_rows.in_units(tiny_design, average) == told
    assert design_rows.in_units(tiny_design, {"largest": None}) == ""


def test_hypervolume_follows_the_directions(tiny_design):
    data = dataclasses.replace(tiny_design, objectives=["decoder_parameters", "latency"], trials=tiny_design.trials[1::-1])
    data = dataclasses.replace(data, trials=[{**t, "number": i} for i, t in enumerate(data.trials)])
    # a (100, 0.010) then c (400, 0.030): scaled (1, 0) and (0, 1), the reference at 1.1.
    assert [row["hypervolume"] for row in rows.hypervolume_rows(data)] == pytest.approx([0.11, 0.21])


def test_the_front_beats_or_equals_its_own_members(design_run):
    for row in design_rows.comparison_rows(design_run):
        for cost in design_run.costs:
            if row[f"{cost}_together"] is not None:
                assert row[f"{cost}_together"] <= row[f"{cost}_saving"]
            if row[f"{cost}_between"] is not None:
                assert row[f"{cost}_between"] <= row[f"{cost}_front"]
