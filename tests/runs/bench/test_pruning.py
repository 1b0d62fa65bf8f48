"""A whole grid on a toy: every experiment, what fails, what is resumed, and what is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import secateur
from secateur.cli import app
from secateur.errors import Stopped
from secateur.rng import generator
from secateur.runs.bench import cells as cells_module
from secateur.runs.bench import pruning
from secateur.spaces.pruning import Shape, Small
from secateur.study import RunLock

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("brief")]

#: Runs of a second or two.
QUICK = ["text=[review]", "label=verdict", "epochs=2", "learning_rate=0.003", "order=false", "batch_size=16"]
QUICK += ["max_length=16", "latency_length=16", "polish_epochs=1", "weight-sharing.trials=4"]

Bench = Callable[..., Any]


@pytest.fixture(scope="module")
def bench(model_folder: Path, data_file: Path) -> Bench:
    def call(folder: Path, **changes: Any) -> Any:
        given: dict[str, Any] = {
            "model": [str(model_folder)],
            "task": [str(data_file)],
            "method": ["weight-sharing"],
            "seed": [0, 1],
            "space": ["small", "layer"],
            "strategy": ["standard", "full"],
            "searcher": ["random", "local"],
            "level": ["50%", "90%"],
            "samples": 5,
            "sizes": 20,
            "trials": 6,
            "set": QUICK,
            "device": "cpu",
            "progress": False,
        }
        return secateur.bench_pruning(folder, **{**given, **changes})

    return call


@pytest.fixture(scope="module")
def study(bench: Bench, tmp_path_factory: pytest.TempPathFactory, brief: None) -> Any:
    """The whole grid: to be read only."""
    return bench(tmp_path_factory.mktemp("bench") / "grid")


def test_every_experiment_has_its_rows(study: Any) -> None:
    frame = pd.read_parquet(study.folder / "results.parquet")
    counted = frame.groupby(["experiment", "kind", "arm"]).size().to_dict()
    assert counted[("spaces", "trial", "small")] == counted[("strategies", "trial", "standard")] == 2 * 5
    assert counted[("spaces", "trial", "layer")] == 2 * 5  # of 8 networks
    assert counted[("spaces", "size", "layer")] == 20
    assert counted[("searchers", "trial", "local")] == 2 * 6
    assert counted[("methods", "level", "weight-sharing")] == 2 * 2
    assert counted[("methods", "unpruned", "weight-sharing")] == 2
    assert set(frame[frame["experiment"] == "fronts"]["seed"]) == {0}
    assert "failure" not in set(frame["kind"])
    assert study.notes == [f"{len({*frame['cell']})} of {len({*frame['cell']})} cells are done."]


def test_all_strategies_of_a_repetition_see_the_same_sub_networks(study: Any) -> None:
    rows = study.of("strategies", "trial")
    seen = {(arm, seed): some["key"].tolist() for (arm, seed), some in rows.groupby(["arm", "seed"])}
    assert seen["standard", 0] == seen["full", 0]
    assert seen["standard", 1] == seen["full", 1]
    assert seen["standard", 0] != seen["standard", 1]
    drawn: list[str] = []  # uniformly from `small`, each network once
    for number in range(5):
        rng = generator(1, "ask", number)
        drawn.append(next(key for _ in range(99) if (key := Small(Shape(3, 4, 12)).sample(rng).key) not in drawn))
    assert seen["full", 1] == drawn
    errors = {arm: some["error"].tolist() for arm, some in rows[rows["seed"] == 0].groupby("arm")}
    assert errors["standard"] != errors["full"]


def test_times_are_those_of_the_search_and_of_what_came_before(study: Any) -> None:
    """All searches of a repetition begin with one super-network."""
    rows = study.of("searchers", "trial")
    for _, some in rows.groupby(["arm", "seed"]):
        assert (np.diff(some["seconds"]) > 0).all()
        assert some["trial"].tolist() == [1, 2, 3, 4, 5, 6]
    run = secateur.open_run(next((study.folder / "cells").glob("*-small-full-seed0-*")) / "run")
    trained = sum(row.seconds for row in run.store.stages() if row.name not in ("search", "report"))
    assert rows[rows["seed"] == 0]["before"].tolist() == pytest.approx([trained] * 12)
    run.close()


def test_methods_are_scored_on_test_data(study: Any) -> None:
    run = secateur.open_run(next((study.folder / "cells").glob("*-weight-sharing-seed1-*")) / "run")
    rows = study.of("methods", "level", "unpruned")
    rows = rows[rows["seed"] == 1]
    for level in ("50%", "90%"):
        best = run.front.best(under={"body_parameters": level})
        (row,) = rows[rows["level"] == level].to_dict("records")
        assert (row["key"], row["test_error"], row["error"]) == (best.key, best.test["error"], best.values["error"])
        assert row["share"] == best.values["body_parameters"] / run.unpruned["body_parameters"] <= float(level[:-1]) / 100
    (whole,) = rows[rows["kind"] == "unpruned"].to_dict("records")
    assert whole["test_error"] == run.unpruned_test["error"]
    # 2 epochs of training; of polishing 1 for the winners, a quarter of it for the others.
    steps, met = -(-run.task["sizes"]["train"] // 16), set(run.store.get_meta("polishing"))
    won, lost = (sum(name.endswith(f"@{epochs}") for name in met) for epochs in ("1", "0.25"))
    assert won >= 1
    assert whole["passes"] == pytest.approx(2 * steps * 16 / run.task["sizes"]["train"] + won + 0.25 * (lost - won))
    run.close()


def test_sizes_are_those_of_the_space(study: Any) -> None:
    shares = set(study.of("spaces", "size").query("arm == 'layer'")["share"].round(6))
    assert 1 < len(shares) <= 4  # 0 to 3 layers
    assert max(shares) <= 1


def test_tables_and_page(study: Any) -> None:
    tables = study.tables()
    assert [title.partition(":")[0] for title in tables] == [
        "Spaces", "Strategies", "Searchers, weight-sharing, tiny-bert", "Methods on reviews, tiny-bert", "Methods",
    ]  # fmt: skip
    assert [row["arm"] for row in tables["Strategies: hypervolume"].rows] == ["standard", "full"]
    for title, table in tables.items():
        assert title in str(study)
        assert all(row[column.name] is not None for row in table.rows for column in table.columns)
    page = (study.folder / "pruning.html").read_text(encoding="utf-8")
    for heading in ("Sizes of sampled", "Spaces", "Strategies", "Searchers, weight-sharing", "Methods on reviews", "Fronts of"):
        assert f"<h2>{heading}" in page
    assert json.loads(json.dumps(study.as_dict(), default=str))["tables"]


def test_only_what_was_found_is_kept(study: Any) -> None:
    assert not list(study.folder.rglob("*.safetensors"))
    assert not list(study.folder.rglob("report.html"))
    assert list(study.folder.rglob("study.db"))


def test_the_same_command_again_has_nothing_to_do(study: Any, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "_go", lambda *_: pytest.fail("a cell was worked on again"))
    before = study.frame.copy()
    again = bench(study.folder)
    pd.testing.assert_frame_equal(again.frame, before)
    some = bench(study.folder, experiment=["strategies"], seed=[1])
    assert set(some.frame["experiment"]) == {"strategies"}
    assert len(bench(study.folder).frame) == len(before)


FEW: dict[str, Any] = {"experiment": ["strategies"], "seed": [0]}


def test_a_grid_that_is_stopped_goes_on_where_it_was(study: Any, bench: Bench, tmp_path: Path, monkeypatch: Any) -> None:
    """Stopped in the training of the second cell, and after the run but before the search of the first."""
    from secateur.methods.weight_sharing import WeightSharing

    train, searched, ends = WeightSharing.train, cells_module.searched, iter([True, False, True, False])

    def stopping(*given: Any) -> Any:
        if next(ends):
            raise KeyboardInterrupt
        return searched(*given)

    def stopping_training(method: Any) -> None:
        train(method)
        if method.bench.c.strategy == "full" and next(ends):
            raise KeyboardInterrupt

    monkeypatch.setattr(cells_module, "searched", stopping)
    with pytest.raises(Stopped, match="the same command goes on"):
        bench(tmp_path / "grid", **FEW)
    monkeypatch.setattr(WeightSharing, "train", stopping_training)
    with pytest.raises(Stopped):
        bench(tmp_path / "grid", **FEW)
    monkeypatch.undo()
    resumed = bench(tmp_path / "grid", **FEW)
    whole = study.of("strategies", "trial").query("seed == 0")
    columns = ["arm", "trial", "key", "error", "parameters"]
    pd.testing.assert_frame_equal(resumed.frame[columns], whole[columns].reset_index(drop=True), check_dtype=False)


def test_a_cell_that_fails_is_noted_and_tried_again(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from secateur.methods.weight_sharing import WeightSharing

    train = WeightSharing.train

    def failing(method: Any) -> None:
        if method.bench.c.strategy == "standard":
            raise RuntimeError("the device\nis on fire")
        train(method)

    monkeypatch.setattr(WeightSharing, "train", failing)
    study = bench(tmp_path / "grid", **FEW)
    assert set(study.of("strategies", "trial")["arm"]) == {"full"}
    (failed,) = study.of("strategies", "failure").to_dict("records")
    assert (failed["arm"], failed["reason"]) == ("standard", "RuntimeError: the device")
    assert any("failed: RuntimeError: the device" in note for note in study.notes)
    (file,) = (tmp_path / "grid").rglob("failed.txt")
    assert file.read_text() == "RuntimeError: the device\n"
    monkeypatch.undo()
    study = bench(tmp_path / "grid", **FEW)
    assert set(study.of("strategies", "trial")["arm"]) == {"standard", "full"}
    assert not file.exists()


def test_a_cell_in_other_hands_is_left_alone_and_one_without_weights_is_trained_anew(bench: Bench, tmp_path: Path) -> None:
    few = {**FEW, "strategy": ["full"]}
    place = tmp_path / "grid" / "cells"
    bench(tmp_path / "grid", **few)
    (cell,) = place.iterdir()
    before = bench(tmp_path / "grid", **few).frame
    with RunLock(cell):
        study = bench(tmp_path / "grid", **{**few, "samples": 6})
    assert study.frame.empty
    assert "1 cells are in the hands of other processes" in study.notes[1]
    assert not study.tables()
    more = bench(tmp_path / "grid", **{**few, "samples": 6, "keep": True})
    assert more.frame["error"].tolist()[:5] == before["error"].tolist()
    assert list(cell.rglob("*.safetensors"))


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["bench", "pruning", str(tmp_path / "x"), "--model", "m", "--task", "t", "--set", "epoch=1"]
    )
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_candidates_that_are_trained(bench: Bench, tmp_path: Path) -> None:
    """Of mo-asha only what was trained to the end can be compared; its time and its epochs count all the same."""
    from secateur.runs.bench.spending import passes_over_data

    quick = [*QUICK, "trial_epochs=2", "r_min=1", "eta=2"]
    asked = {"experiment": ["searchers"], "seed": [0], "trials": 6, "searcher": ["random", "mo-asha"]}
    study = bench(tmp_path / "grid", **asked, method=["standard"], set=quick)
    rows = study.of("searchers", "trial")
    assert {arm: len(some) for arm, some in rows.groupby("arm")}["random"] == 6
    run = secateur.open_run(next((tmp_path / "grid" / "cells").glob("*-standard-mo-asha-*")) / "run")
    ended = [t for t in run.trials if t.id is not None]
    whole = [t for t in ended if t.budget == 2]
    assert 0 < len(whole) < len(ended)
    told = rows[rows["arm"] == "mo-asha"]
    assert told["key"].tolist() == [t.key for t in whole]
    assert told["seconds"].iloc[-1] == pytest.approx(sum(t.seconds for t in ended[: ended.index(whole[-1]) + 1]))
    steps = -(-run.task["sizes"]["train"] // 16)
    epochs = sum(1 if t.budget == 1 or t.continues is not None else 2 for t in ended)
    assert passes_over_data(run) == pytest.approx(2 * steps * 16 / run.task["sizes"]["train"] + epochs)
    run.close()


def test_a_method_needs_nothing_of_the_bench(bench: Bench, tmp_path: Path) -> None:
    """One that trains a list of its own in another space, and one that trains nothing but the unpruned network."""
    quick = [*QUICK, "trial_epochs=1", "polish=false"]
    methods = ["layer-drop", "fisher"]
    study = bench(tmp_path / "grid", experiment=["methods", "fronts"], seed=[0], method=methods, set=quick)
    shares = study.of("fronts", "front").query("arm == 'layer-drop'")["share"].tolist()
    assert shares == sorted(shares)
    assert set(np.round(shares, 6)) <= {round(1 / 3, 6), round(2 / 3, 6)}
    passes = study.of("methods", "unpruned").set_index("arm")["passes"]
    run = secateur.open_run(next((tmp_path / "grid" / "cells").glob("*-fisher-*")) / "run")
    examples = run.task["sizes"]["train"]
    run.close()
    assert passes["fisher"] == pytest.approx(2 * -(-examples // 16) * 16 / examples)
    assert passes["layer-drop"] == pytest.approx(passes["fisher"] + 2)  # one and two layers, an epoch each
    assert all(method in str(study) for method in methods)
