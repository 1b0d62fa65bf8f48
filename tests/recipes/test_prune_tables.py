"""Tables to search on: those of the package come out again, and new ones are made from a super-network."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secateur.tables.opening import open_table, shipped
from secateur.tables.parquet import read_parquet, write_parquet


@pytest.fixture(scope="module")
def evaluate(load_recipe: Any) -> Any:
    return load_recipe("prune-methods/evaluate.py")


@pytest.mark.slow
def test_the_packages_tables_come_out_again(load_recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = load_recipe("prune-methods/tables.py")
    assert set(tables.SOURCES) <= set(shipped())
    monkeypatch.setattr(tables, "SOURCES", {"prune-mrpc": tables.SOURCES["prune-mrpc"]})
    monkeypatch.setattr(sys, "argv", ["tables.py", "--to", str(tmp_path)])
    tables.main()
    again, kept = open_table(str(tmp_path / "prune-mrpc.parquet")), open_table("prune-mrpc")
    assert list(again.table.keys) == list(kept.table.keys)
    assert set(again.table.columns) == set(kept.table.columns)
    for name, values in kept.table.columns.items():  # predicted latencies are the same but for a processor's way of rounding
        np.testing.assert_allclose(again.table.columns[name], values, rtol=1e-12 if name == "latency" else 0, err_msg=name)
    assert (again.about, again.objectives) == (kept.about, kept.objectives)


def test_latencies_join_what_was_measured_of_medium(load_recipe: Any, tmp_path: Path) -> None:
    tables = load_recipe("prune-methods/tables.py")
    name = "prune-medium-mrpc"
    table, said = read_parquet(shipped()[name])
    columns = {column: values for column, values in table.columns.items() if column != "latency"}
    write_parquet(tmp_path / f"{name}.parquet", replace(table, columns=columns), said)
    (tmp_path / "to").mkdir()
    tables.of_medium(tmp_path, tmp_path / "to")
    again, kept = open_table(str(tmp_path / "to" / f"{name}.parquet")), open_table(name)
    assert again.table.fingerprint == kept.table.fingerprint
    assert again.about == kept.about


#: A super-network of a second.
QUICK = {"text": ["review"], "label": "verdict", "epochs": 2, "order_epochs": 1, "batch_size": 16, "max_length": 16}


@pytest.fixture(scope="module")
def made(
    evaluate: Any, tmp_path_factory: pytest.TempPathFactory, model_folder: Path, data_file: Path
) -> tuple[Path, list[str]]:
    """A folder with tables of a toy, and the command that made it."""
    folder = tmp_path_factory.mktemp("evaluate") / "toy"
    given = ["--model", str(model_folder), "--data", str(data_file), "--to", str(folder), "--medium", "12", "--step", "4"]
    given += ["--device", "cpu", "--change", json.dumps({**QUICK, "latency_length": 16})]
    evaluate.main(given)
    return folder, given


def test_a_grid_of_small_and_samples_of_medium(made: tuple[Path, list[str]]) -> None:
    small, medium = (open_table(str(made[0] / f"prune-{space}-reviews.parquet")) for space in ("small", "medium"))
    # 3 layers, 4 heads, 12 units in steps of 4: all widths but the empty one at 3 depths, and the network without layers.
    assert len(small.table) == 3 * (5 * 4 - 1) + 1
    assert small.space.size() == 4 * 5 * 4
    assert (len(medium.table), medium.space.size()) == (12, 12)
    assert medium.table.column("body_parameters").max() > 2 * medium.table.column("body_parameters").min()


def test_the_scores_are_those_of_the_extracted_networks(made: tuple[Path, list[str]]) -> None:
    from secateur import open_run
    from secateur.estimators.shared_weights import score

    run = open_run(made[0] / "run")
    data = run.configuration.task_data(run.tokenizer)
    for space in ("small", "medium"):
        table = open_table(str(made[0] / f"prune-{space}-reviews.parquet"))
        whole = table.space.space if space == "medium" else table.space
        for architecture in table.table.architectures[::11]:
            network = run.supernet.extract(whole.plan(architecture))
            values = table.table.values(architecture.key)
            assert values["error"] == pytest.approx(score(network, data.task, data.batches("validation", 8))["error"])
            assert values["parameters"] == sum(p.numel() for p in network.parameters())


def test_it_goes_on_where_it_was_stopped(
    evaluate: Any, made: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the rows and half a line: the rest comes out as before."""
    rows = made[0] / "rows.jsonl"
    whole = rows.read_text()
    for kept in (len(whole) // 2, len(whole) - 300):
        rows.write_text(whole[:kept])
        evaluate.main(made[1])
        assert rows.read_text() == whole
    assert capsys.readouterr().out.splitlines()[-1].endswith("prune-medium-reviews.parquet")


def test_medium_is_sampled_over_all_sizes_and_near_the_best(evaluate: Any) -> None:
    from secateur.rng import generator
    from secateur.spaces.pruning import Medium, Shape

    space = Medium(Shape(6, 12, 1536), units=":128")
    sizes = [space.encode(evaluate.drawn(space, generator(0, i))).mean() for i in range(300)]
    assert min(sizes) < 0.2
    assert max(sizes) > 0.75
    best, worst = space.make({"heads": [3] * 6, "units": [512] * 6}), space.make({"heads": [4] * 6, "units": [512] * 6})
    rows = [
        {"architecture": a.as_dict(), "error": e, "body_parameters": b} for a, e, b in ((best, 0.1, 1.0), (worst, 0.2, 2.0))
    ]
    near = [evaluate.sample(space, rows, number, 0) for number in range(1, 20, 2)]
    assert all(np.count_nonzero(space.values(a) != space.values(best)) == 1 for a in near)
