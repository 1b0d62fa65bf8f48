"""The hypervolume of training strategies, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def strategies(load_recipe: Any) -> Any:
    return load_recipe("prune-minilm/strategies.py")


def row(
    method: str, seed: int, *points: list[float], task: str = "mrpc", metric: str = "f1", space: str = "small"
) -> dict[str, Any]:
    return {"task": task, "metric": metric, "space": space, "method": method, "seed": seed, "points": list(points)}


ROWS = [row("kd", 0, [0.1, 30.0], [0.4, 10.0]), row("full", 0, [0.2, 20.0]), row("full", 1, [0.3, 40.0])]


def test_quantiles_of_all_methods_and_seeds_and_the_area_up_to_two(strategies: Any) -> None:
    """Errors 0.1, 0.2, 0.3, 0.4 and sizes 10, 20, 30, 40 become thirds; (0, 2/3) and (1, 0) cover 2 · 4/3 + 1 · 2/3."""
    found = strategies.hypervolumes(ROWS)
    assert found[("mrpc", "f1"), "kd"] == pytest.approx([2 * 4 / 3 + 1 * 2 / 3])
    assert found[("mrpc", "f1"), "full"] == pytest.approx([(5 / 3) ** 2, 4 / 3 * 1])


def test_tasks_and_metrics_are_kept_apart(strategies: Any) -> None:
    others = [row("kd", 0, [9.0, 9.0], task="stsb", metric="spearman"), row("kd", 0, [0.9, 1.0], metric="accuracy")]
    assert (
        strategies.hypervolumes([*ROWS, *others])[("mrpc", "f1"), "kd"] == strategies.hypervolumes(ROWS)[("mrpc", "f1"), "kd"]
    )


def test_the_table(strategies: Any, tmp_path: Path) -> None:
    file = tmp_path / "points.jsonl"
    again = [row("kd", 0, [0.9, 90.0]), {"task": "mrpc", "method": "chance", "test": 0.8}, *ROWS]
    file.write_text("".join(json.dumps(r) + "\n" for r in again))
    error = abs((5 / 3) ** 2 - 4 / 3) / 2
    assert strategies.table(strategies.read(file)).splitlines() == [
        "| hypervolume | mrpc (f1) |",
        "|---|---|",
        "| kd, by the equations | 3.333 |",
        f"| full, by the equations | {((5 / 3) ** 2 + 4 / 3) / 2:.3f} ± {error:.3f} |",
    ]


def test_spaces_are_compared_among_themselves(strategies: Any) -> None:
    large = row("full-authors", 0, [0.5, 50.0], space="large")
    ours = row("full-authors", 0, [0.1, 10.0])
    assert strategies.in_small([*ROWS, large]) == ROWS
    found = strategies.hypervolumes(strategies.by_space([*ROWS, large, ours]))
    assert found == {(("mrpc", "f1"), "large"): [1.0], (("mrpc", "f1"), "small"): [4.0]}
