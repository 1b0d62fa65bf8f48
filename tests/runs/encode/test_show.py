"""`secateur encode show`: the numbers it tells, the page it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import secateur
from secateur.cli import app
from secateur.encodings.learned import Trained
from secateur.errors import ConfigurationError, DataError, StudyError, UnknownNameError
from secateur.runs.encode import population, showing
from secateur.spaces.cells import NasBench201
from secateur.tables.opening import open_table
from secateur.tables.searchable import write_searchable

OPERATIONS = ["none", "nor_conv_3x3"]
SPACE = NasBench201(merged=False, operations=OPERATIONS)
SMALL: dict[str, Any] = {"width": 8, "layers": 1, "latent": 4, "epochs": 2, "batch": 8, "progress": False, "device": "cpu"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = Path(tmp_path_factory.mktemp("encodings")) / "a"
    secateur.encode_pretrain("nasbench201", space_option=[f"operations={','.join(OPERATIONS)}"], to=to, **SMALL)
    return to


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty of the cells: an accuracy after 1 and 2 epochs, with gaps, and a loss of the first five alone."""
    rows = [
        {
            "architecture": a,
            "budgets": [1, 2],
            "accuracy": [i / 50, float("nan") if i == 7 else (i * 7 % 40) / 50],
            "loss": 1.0 - i / 50 if i < 5 else float("nan"),
        }
        for i, a in enumerate(list(SPACE.every())[:40])
    ]
    said = {"space": "nasbench201", "options": {"merged": False, "operations": OPERATIONS}, "objectives": ["accuracy"]}
    said |= {"maximise": ["accuracy"], "budget": 1, "reported": [{"metric": "accuracy", "budget": 2}]}
    path = Path(tmp_path_factory.mktemp("tables")) / "toy.parquet"
    write_searchable(path, rows, said)
    return path


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"WALKED": 40, "PAIRS": 200, "STEPS": 5}.items():
        monkeypatch.setattr(showing, name, value)


def shown(folder: Path, beside: Path, **changes: Any) -> Any:
    return secateur.encode_show(folder, **{"projection": "pca", "to": beside / "a.html", **changes})


def test_of_a_table(folder: Path, table: Path, tmp_path: Path) -> None:
    done = shown(folder, tmp_path, table=str(table))
    told = done.as_dict()
    assert (told["metric"], told["budget"], told["table"]) == ("accuracy", 2, "toy")
    assert (told["architectures"], told["embedded"], told["mapped"]) == (40, 40, 40)
    rows = open_table(str(table)).table
    values = {key: rows.values(key, 2).get("accuracy", np.nan) for key in rows.keys}
    walk = done.found.walk
    assert walk.values[0] == np.nanmax(list(values.values())), "it starts with the best"
    assert [values[a.key] for a in walk.architectures] == pytest.approx(walk.values.tolist(), nan_ok=True)
    assert told["walk_edits"] == [
        SPACE.distance(a, b) for a, b in zip(walk.architectures[:-1], walk.architectures[1:], strict=True)
    ]
    assert told["walk_mean"] == np.mean(told["walk_edits"])
    encoding = Trained(folder)(SPACE)
    every = encoding.encode(list(rows.architectures))
    start, second = encoding.encode(walk.architectures[:2])
    assert np.linalg.norm(second - start) == pytest.approx(np.sort(np.linalg.norm(every - start, axis=1))[1], abs=1e-6)
    plane = done.found.map
    assert [plane.architectures[i] for i in plane.walked] == list(walk.architectures)
    assert len({a.key for a in plane.architectures}) == 40
    assert np.isnan(plane.values).sum() == 1
    assert sum(box["pairs"] for box in told["distances"]) > 190
    assert told["draws"] == 1_000
    assert told["spearman"] == shown(folder, tmp_path, table=str(table)).as_dict()["spearman"], "by its seed"
    text = (tmp_path / "a.html").read_text()
    assert f"Page: {tmp_path / 'a.html'}" in str(done)
    for said in ("arch2vec of nasbench201", "Map: accuracy at budget 2", "no value", "From the best of the table on"):
        assert said in text


def test_another_metric(folder: Path, table: Path, tmp_path: Path) -> None:
    done = shown(folder, tmp_path, table=str(table), metric="loss")
    assert (done.found.measure.best, done.found.measure.budget) == ("min", None)
    assert done.found.walk.values[0] == pytest.approx(1.0 - 4 / 50)
    first = shown(folder, tmp_path, table=str(table), budget=1)
    assert first.found.walk.values[0] == pytest.approx(39 / 50)


def test_of_a_space(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = shown(folder, tmp_path, to=None)
    assert done.page == folder / "show.html"
    done.page.unlink()
    assert (done.found.total, done.found.measure.name, done.found.measure.table) == (64, "parameters", None)
    assert done.found.map.values.tolist() == [SPACE.parameters(a) for a in done.found.map.architectures]
    assert np.isnan([cell.value for cell in done.found.samples.cells]).all()
    monkeypatch.setattr(population, "MOST", 10)
    monkeypatch.setattr(population, "DRAWN", 30)
    few = shown(folder, tmp_path)
    assert few.found.total == 64
    assert 10 < few.found.among == len({a.key for a in few.found.map.architectures}) <= 30


def test_the_map_has_so_many(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(showing, "MAPPED", 20)
    found = shown(folder, tmp_path).found
    assert (len(found.map.architectures), found.among) == (20, 64)
    assert [found.map.architectures[i] for i in found.map.walked] == list(found.walk.architectures)


def test_spaces_without_cells_and_methods_that_do_not_decode(tmp_path: Path) -> None:
    small = {"width": 8, "heads": 2, "layers": 1, "cross_layers": 1, "epochs": 1, "batch": 8, "progress": False}
    options = ["shape=2,2,4"]
    secateur.encode_pretrain("medium", method="cate", space_option=options, to=tmp_path / "c", device="cpu", **small)
    done = shown(tmp_path / "c", tmp_path, projection="tsne")
    assert done.found.samples is None
    assert done.as_dict()["valid"] is None
    assert done.found.walk is not None
    text = done.page.read_text()
    assert '<p class="words">heads ' in text
    assert "<h2>Decoded</h2>" not in text
    assert "Edits are choices" in text


def test_without_a_distance_it_is_said(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(showing, "distance_of", lambda space: None)
    done = shown(folder, tmp_path)
    assert (done.as_dict()["walk_mean"], done.as_dict()["spearman"]) == (None, None)
    assert str(done) == f"Page: {tmp_path / 'a.html'}"
    assert done.page.read_text().count("nasbench201 has no edit distance to compare with.") == 2


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"metric": "speed"}, UnknownNameError, "unknown column `speed`"),
        ({"budget": 3}, DataError, "has no budget 3. Its budgets: 1, 2"),
        ({"metric": "loss", "budget": -1}, ConfigurationError, "`budget` must be above 0"),
        ({"table": None, "metric": "loss"}, ConfigurationError, "`metric` is of a table: give --table"),
        ({"table": "prune-sst2"}, ConfigurationError, "of cells, and the space `small` has none"),
        ({"table": "no-such"}, UnknownNameError, "unknown table `no-such`"),
        ({"projection": "umap"}, ConfigurationError, "unknown projection `umap`"),
        ({"to": Path("a.pdf")}, ConfigurationError, "`to` must be a page such as show.html, got `a.pdf`"),
    ],
)
def test_refusals(changes: dict[str, Any], kind: type[Exception], said: str, folder: Path, table: Path, tmp_path: Path) -> None:
    with pytest.raises(kind, match=said):
        shown(folder, tmp_path, **{"table": str(table), **changes})
    assert not list(tmp_path.iterdir())


def test_tables_that_do_not_do(folder: Path, tmp_path: Path) -> None:
    said = {"space": "nasbench201", "options": {"merged": False, "operations": OPERATIONS}, "objectives": ["accuracy"]}
    every = list(SPACE.every())
    write_searchable(tmp_path / "one.parquet", [{"architecture": every[0], "accuracy": 1.0}], said)
    with pytest.raises(ConfigurationError, match="there is only one architecture to show of `nasbench201`"):
        shown(folder, tmp_path, table=str(tmp_path / "one.parquet"))
    write_searchable(tmp_path / "none.parquet", [{"architecture": a, "accuracy": float("nan")} for a in every[:5]], said)
    with pytest.raises(DataError, match="has no value of `accuracy` where it was asked for"):
        shown(folder, tmp_path, table=str(tmp_path / "none.parquet"))


def test_a_folder_without_an_encoding_and_a_page_that_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="holds no trained encoding: `secateur encode pretrain` makes one"):
        shown(tmp_path / "nothing", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StudyError, match="cannot be written"):
        shown(folder, tmp_path, to=tmp_path / "file" / "a.html")


def test_on_the_command_line(folder: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    words = ["encode", "show", str(folder), "--table", str(table), "--projection", "pca", "--to", str(tmp_path / "a.html")]
    told = CliRunner().invoke(app, [*words, "--open"])
    assert told.exit_code == 0, told.output
    assert opened == [(tmp_path / "a.html").resolve().as_uri()]
    assert "Spearman of latent and edit distance" in told.stdout
    told = CliRunner().invoke(app, [*words, "--json"])
    assert json.loads(told.stdout)["metric"] == "accuracy"
    wrong = CliRunner().invoke(app, [*words, "--metric", "speed"])
    assert wrong.exit_code == 2
    assert len(wrong.output.splitlines()) == 1
    assert len(opened) == 1
