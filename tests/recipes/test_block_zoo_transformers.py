"""The recipe of the block zoo on Transformers: its scripts run on toys, and its page is computed from its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scipy.stats import kendalltau

FOLDER = Path(__file__).resolve().parents[2] / "recipes" / "block-zoo"


@pytest.fixture(scope="module")
def task() -> Any:
    """A toy that has what the scripts prepare."""
    from types import SimpleNamespace

    from secateur.supernet import Supernet
    from secateur.testing.models import toy_model
    from secateur.testing.toy_task import toy_task_data

    return SimpleNamespace(data=toy_task_data(examples=24), supernet=Supernet(toy_model("bert")), error=0.5)


def test_the_page_has_the_tables_of_the_files(load_recipe: Any) -> None:
    page = (FOLDER / "transformers.md").read_text(encoding="utf-8")
    tables = load_recipe("block-zoo/transformers/tables.py")
    assert tables.filled(page) == page
    assert all(f"<!-- {name} -->" in page for name in tables.TABLES)


def test_networks_are_of_both_spaces_and_the_same_each_time(load_recipe: Any, task: Any) -> None:
    recipe = load_recipe("block-zoo/transformers/rank.py")
    found = list(recipe.drawn(task.supernet.shape, 6))
    assert [space for space, _ in found] == ["small", "medium"] * 3
    assert all(plan.layers for _, plan in found)
    assert found == list(recipe.drawn(task.supernet.shape, 6))
    assert found[:4] == list(recipe.drawn(task.supernet.shape, 4))


def test_a_row_of_the_ranking(load_recipe: Any, task: Any, tmp_path: Path) -> None:
    from secateur.estimators.layer_zoo.features import Features, drawn_batches
    from secateur.training.teacher import told

    recipe, tables = load_recipe("block-zoo/transformers/rank.py"), load_recipe("block-zoo/transformers/tables.py")
    features = {}
    for count in (1, 2):
        some = drawn_batches(task.data, count, 0)
        features[count] = some, Features.of(task.supernet, some)
    _, plan = next(iter(recipe.drawn(task.supernet.shape, 1)))
    row = recipe.proxies(task, plan, features, tmp_path)
    few = load_recipe("block-zoo/transformers/prepared.py").part(task.data, 12, 0)
    assert len(few.train) == 12
    row |= recipe.truth(task.supernet.extract(plan), few, told(task.supernet.model, few, 8))
    names = {name.replace("20", "2").replace("5", "1") for name in tables.PROXIES} - {"parameters"} | {"truth"}
    assert names | {f"{name} seconds" for name in names} == set(row)
    assert 0 <= row["truth"] <= 1


def test_sizes_that_are_polished(load_recipe: Any, task: Any) -> None:
    recipe = load_recipe("block-zoo/transformers/polish.py")
    whole = task.supernet.body_parameters(task.supernet.whole)
    for share in recipe.SIZES:
        plan = recipe.shape_of(task, max(share, 0.3))  # a tenth of a toy is nothing
        assert 0 < task.supernet.body_parameters(plan) <= max(share, 0.3) * whole
        assert len(plan.layers) == task.supernet.shape.layers


def test_rows_are_shared_out_and_known(load_recipe: Any, tmp_path: Path) -> None:
    prepared = load_recipe("block-zoo/transformers/prepared.py")
    assert [n for n in range(6) if prepared.is_mine("1/3", n)] == [1, 4]
    table = tmp_path / "table.csv"
    for number in (3, 1, 3):
        prepared.add_row(table, {"task": "stsb", "number": number, "score": 0.5}, ("task", "number"))
    assert prepared.is_known(table, task="stsb", number=1)
    assert not prepared.is_known(table, task="mrpc", number=1)
    assert len(load_recipe("rows.py").rows_of(table)) == 2


def test_what_the_page_says_of_ranking(load_recipe: Any) -> None:
    rows_of = load_recipe("rows.py").rows_of
    tau: dict[tuple[str, str], float] = {}
    for task in ("stsb", "mrpc"):
        found = rows_of(FOLDER / "transformers" / f"rank-{task}.csv")
        assert len(found) == 24
        truth = [float(row["truth"]) for row in found]
        for name in ("shared", "zoo 1", "zoo 20", "squared errors", "parameters"):
            sign = -1 if name == "parameters" else 1
            tau[task, name] = round(float(kendalltau([sign * float(row[name]) for row in found], truth).statistic), 2)
    assert [tau["stsb", name] for name in ("zoo 20", "zoo 1", "shared", "parameters")] == [0.51, 0.61, 0.62, 0.57]
    assert [tau["mrpc", name] for name in ("zoo 20", "zoo 1", "shared", "parameters")] == [0.33, 0.39, 0.24, 0.61]
    assert [tau[task, "squared errors"] for task in ("mrpc", "stsb")] == [0.65, 0.59]
    shared = [row["shared"] for row in rows_of(FOLDER / "transformers" / "rank-mrpc.csv")]
    assert max(map(shared.count, shared)) == 19
    tried: dict[str, list[float]] = {}
    for row in rows_of(FOLDER / "transformers" / "tune-stsb.csv"):
        tried.setdefault(row["rate"], []).append(float(row["error"]))
    assert all(min(tried, key=lambda rate: tried[rate][place]) == "0.001" for place in (0, 1))
