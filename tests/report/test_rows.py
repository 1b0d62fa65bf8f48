"""Every number here is computed by hand from the `tiny` run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from secateur.report import rows as computed


def test_share_of_nothing_is_none():
    assert computed.share(1.0, 0.0) is None
    assert computed.share(None, 2.0) is None
    assert computed.share(0.0, 2.0) == 0.0


def test_trials_table(tiny):
    table = computed.trials_table(tiny)
    assert [row["number"] for row in table.rows] == list(range(7))
    assert table.rows[2]["parameters"] == 400
    assert table.rows[1]["error"] is None
    unhappy = computed.trials_table(tiny, ("failed", "infeasible"))
    assert [row["reason"] for row in unhappy.rows] == ["the loss is NaN", "parameters 950 > 900"]
    assert "error" not in [c.name for c in unhappy.columns]


def test_status_counts_tell_asked_from_free(tiny):
    assert computed.status_counts(tiny) == [
        {"status": "complete", "asked": 3, "free": 1},
        {"status": "infeasible", "asked": 1, "free": 0},
        {"status": "failed", "asked": 1, "free": 0},
        {"status": "running", "asked": 1, "free": 0},
    ]


def test_stage_times(tiny):
    assert [(row["stage"], row["share"]) for row in computed.stage_times(tiny)] == [("train", 0.75), ("search", 0.25)]


def test_hypervolume_by_hand(tiny):
    # Asked and complete: (0.5, 200), (0.3, 400), (0.4, 600); scaled (1, 0), (0, 0.5), (0.5, 1); reference (1.1, 1.1).
    rows = computed.hypervolume_rows(tiny)
    assert [row["trial"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["number"] for row in rows] == [0, 1, 2, 3, 5]
    first, both = 0.1 * 1.1, 0.1 * 1.1 + 1.1 * 0.6 - 0.1 * 0.6
    assert np.allclose([row["hypervolume"] for row in rows], [first, first, both, both, both])


def test_hypervolume_is_empty_without_a_complete_trial(tiny):
    assert computed.hypervolume_rows(dataclasses.replace(tiny, trials=tiny.trials[1:2])) == []


def test_hypervolume_of_a_constant_objective_is_finite(tiny):
    rows = computed.hypervolume_rows(dataclasses.replace(tiny, trials=tiny.trials[:1]))
    assert [row["hypervolume"] for row in rows] == pytest.approx([1.1 * 1.1])


def test_hypervolume_never_falls(large_run):
    volumes = [row["hypervolume"] for row in computed.hypervolume_rows(large_run)]
    assert volumes == sorted(volumes)
    assert 0 < volumes[-1] <= 1.1**2


def test_settings_are_flattened(tiny):
    assert computed.settings_rows(tiny.settings) == [
        {"name": "model", "value": "toy"},
        {"name": "training.epochs", "value": "3"},
        {"name": "training.seeds", "value": "1, 2"},
        {"name": "limit", "value": ""},
    ]


def test_data_knows_objectives_and_quantities(tiny, large_run):
    assert tiny.objective_names == ["error", "parameters"]
    assert tiny.quantities == ["error", "parameters"]
    assert large_run.quantities == ["error", "latency", "parameters", "body_parameters", "macs", "memory"]
