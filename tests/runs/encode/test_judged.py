"""`secateur encode pretrain --method supervised`: cells of a table with one of its columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import secateur
from secateur.cli import app
from secateur.encodings import GraphEncoding
from secateur.encodings.learned import Trained
from secateur.encodings.learned.supervised_settings import SupervisedSettings
from secateur.errors import ConfigurationError, DataError, UnknownNameError
from secateur.runs.encode.judged import judged
from secateur.runs.encode.settings import PretrainSettings
from secateur.spaces.cells import Darts, NasBench101, NasBench201
from secateur.tables.searchable import write_searchable

OPTIONS = {"merged": False, "operations": ["none", "nor_conv_3x3"]}
TWO = ["operations=none,nor_conv_3x3"]
SPACE = NasBench201(merged=False, operations=("none", "nor_conv_3x3"))
SMALL: dict[str, Any] = {"width": 8, "layers": 1, "latent": 4, "epochs": 2, "batch": 8, "progress": False, "device": "cpu"}


def convolutions(cell: Any) -> float:
    return float(str(cell).count("3x3"))


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Forty of the cells, two trainings each, with curves; one was never trained to the end."""
    cells = list(SPACE.every())[:40]
    rows = [
        {
            "architecture": cell,
            "seed": seed,
            "budgets": [1.0, 2.0],
            "accuracy": [convolutions(cell) + seed, np.nan if i == 7 else 10 * convolutions(cell) + seed],
            "never": np.nan,
        }
        for i, cell in enumerate(cells)
        for seed in (0, 1)
    ]
    said = {"space": "nasbench201", "options": OPTIONS, "objectives": ["accuracy"], "maximise": ["accuracy"], "budget": 1}
    write_searchable(tmp_path / "toy.parquet", rows, said)
    return str(tmp_path / "toy.parquet")


def told(table: str, cells: int | None = None, seed: int = 0, **changes: Any) -> Any:
    return judged(SPACE, SupervisedSettings(table=table, **changes), cells, seed)


def test_the_cells_of_a_table(table: str) -> None:
    """Each once, with the mean over its trainings, at the table's own budget or another."""
    cells, target = told(table)
    assert target == {"table": "toy", "metric": "accuracy", "budget": 1.0}
    listed = list(SPACE.every())[:40]
    assert np.array_equal(cells.vectors, GraphEncoding(SPACE).encode(listed))
    assert cells.vectors.dtype == np.uint8
    assert cells.targets == pytest.approx([convolutions(cell) + 0.5 for cell in listed])
    later, target = told(table, budget=2.0)
    assert target["budget"] == 2.0
    assert later.targets == pytest.approx([10 * convolutions(cell) + 0.5 for i, cell in enumerate(listed) if i != 7])


def test_some_of_them(table: str) -> None:
    every, _ = told(table)
    known = {tuple(vector): target for vector, target in zip(every.vectors.tolist(), every.targets, strict=True)}
    some = [told(table, 15, seed)[0] for seed in (0, 0, 1)]
    for cells in some:
        assert len(np.unique(cells.vectors, axis=0)) == 15
        assert cells.targets.tolist() == [known[tuple(vector)] for vector in cells.vectors.tolist()]
    assert np.array_equal(some[0].vectors, some[1].vectors)
    assert not np.array_equal(some[0].vectors, some[2].vectors)
    assert len(told(table, 1000)[0]) == 40


def test_a_table_that_names_no_budget(tmp_path: Path) -> None:
    """The end of its curves, or none where it has no curves."""
    cells = list(SPACE.every())[:5]
    said = {"space": "nasbench201", "options": OPTIONS, "objectives": ["error"]}
    rows = [{"architecture": cell, "budgets": [1.0, 2.0], "error": [1.0, 2.0 + i]} for i, cell in enumerate(cells)]
    write_searchable(tmp_path / "curves.parquet", rows, said)
    found, target = told(str(tmp_path / "curves.parquet"))
    assert (target["budget"], found.targets.tolist()) == (2.0, [2, 3, 4, 5, 6])
    write_searchable(tmp_path / "plain.parquet", [{"architecture": cell, "error": 1.0} for cell in cells], said)
    assert told(str(tmp_path / "plain.parquet"))[1] == {"table": "plain", "metric": "error", "budget": None}


def test_what_a_table_lacks(table: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown column `accurate`"):
        told(table, metric="accurate")
    with pytest.raises(DataError, match=r"has no budget 3. Its budgets: 1, 2"):
        told(table, budget=3.0)
    with pytest.raises(ConfigurationError, match=r"no network of the table `toy` has `never@1`. Give another --metric"):
        told(table, metric="never")
    with pytest.raises(UnknownNameError, match="unknown table `nowhere`"):
        told("nowhere")


def test_tables_of_other_spaces(table: str) -> None:
    given = SupervisedSettings(table=table)
    for space in (NasBench201(merged=False), NasBench101()):
        with pytest.raises(ConfigurationError, match=r"`table` toy holds networks of `nasbench201`, and none of the cells of"):
            judged(space, given, None, 0)
    with pytest.raises(ConfigurationError, match="`table` prune-sst2 holds networks of `small`, and none of the cells"):
        told("prune-sst2")
    with pytest.raises(ConfigurationError, match="what each cell is worth, and an architecture of `darts` has 2 cells"):
        judged(Darts(), given, None, 0)


def test_the_card_and_the_encoding(tmp_path: Path, table: str) -> None:
    done = secateur.encode_pretrain(
        "nasbench201", method="supervised", table=table, cells=30, space_option=TWO, to=tmp_path / "a", **SMALL
    )
    assert done.card["target"] == {"table": "toy", "metric": "accuracy", "budget": 1.0}
    assert done.card["settings"]["table"] == table
    assert (done.card["trained_on"], done.card["tested_on"]) == (27, 3)
    assert "rmse" in done.card["figures"]
    assert " %" not in str(done)
    assert Trained(tmp_path / "a")(SPACE).encode(list(SPACE.every())).shape == (64, 4)
    Path(table).unlink()
    assert Trained(tmp_path / "a")(SPACE).dimensions == 4, "it needs its table no more"


def test_on_the_command_line(tmp_path: Path, table: str) -> None:
    words = ["encode", "pretrain", "nasbench201", "--space-option", TWO[0], "--to", str(tmp_path / "a"), "--quiet"]
    small = ["--width", "8", "--layers", "1", "--epochs", "1", "--batch", "8", "--device", "cpu"]
    told = CliRunner().invoke(app, [*words, *small, "--method", "supervised", "--table", table, "--budget", "2", "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["target"] == {"table": "toy", "metric": "accuracy", "budget": 2}
    words[words.index("--to") + 1] = str(tmp_path / "b")
    for given, said in {
        ("--table", table): "`--table` is a setting of supervised, and `--method` is arch2vec",
        ("--method", "supervised"): "`--table` is missing: `supervised` learns from the accuracies of one",
        ("--method", "supervised", "--table", "prune-sst2"): "`--table` prune-sst2 holds networks of `small`",
    }.items():
        told = CliRunner().invoke(app, [*words, *small, *given])
        assert told.exit_code == 2
        assert said in told.output
        assert len(told.output.splitlines()) == 1


def test_help_says_once_what_methods_share() -> None:
    options = PretrainSettings.options()
    assert options["epochs"].about.endswith("d-vae 5; supervised 100]")
    assert options["latent"].about.startswith("arch2vec, gae, vgae, supervised: Numbers per node, and per embedding.")
    assert options["kl_weight"].about.endswith("[default: 0.005]")
    assert options["table"].about.startswith("supervised: The table")
    assert (options["table"].panel, options["graph"].panel, options["epochs"].panel) == ("Methods", "Methods", "Training")
