"""`secateur encode`: pre-training into a folder, its card, vectors in a file, and searches that use them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

import secateur
from secateur.cli import app
from secateur.encodings.learned import Trained
from secateur.encodings.learned.arch2vec import Arch2vec
from secateur.errors import ConfigurationError, Stopped, StudyError, UnknownNameError
from secateur.runs.encode.material import cells_of, named_space
from secateur.spaces.cells import Darts, NasBench101, NasBench201
from secateur.tables.searchable import write_searchable

TWO = "operations=none,nor_conv_3x3"
SMALL: dict[str, Any] = {"width": 8, "layers": 1, "latent": 4, "epochs": 2, "batch": 8, "progress": False, "device": "cpu"}


def pretrained(to: Path, **changes: Any) -> Any:
    return secateur.encode_pretrain("nasbench201", **{"space_option": [TWO], "to": to, **SMALL, **changes})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Forty of the cells, with an accuracy."""
    space = NasBench201(merged=False, operations=("none", "nor_conv_3x3"))
    rows = [{"architecture": a, "accuracy": float(str(a).count("3x3")) + i / 100} for i, a in enumerate(space.every())][:40]
    said = {"space": "nasbench201", "options": {"merged": False, "operations": ["none", "nor_conv_3x3"]}}
    write_searchable(tmp_path / "toy.parquet", rows, {**said, "objectives": ["accuracy"], "maximise": ["accuracy"]})
    return tmp_path / "toy.parquet"


def test_the_card(tmp_path: Path) -> None:
    done = pretrained(tmp_path / "a")
    card = json.loads((tmp_path / "a" / "card.json").read_text())
    assert {p.name for p in (tmp_path / "a").iterdir()} == {"card.json", "model.safetensors"}
    assert card["options"] == {"merged": False, "operations": ["none", "nor_conv_3x3"]}
    assert (card["method"], card["space"], card["seed"], card["nodes"]) == ("arch2vec", "nasbench201", 0, 8)
    assert (card["trained_on"], card["tested_on"]) == (58, 6)
    assert card["secateur"] == secateur.__version__
    assert card["settings"]["latent"] == 4
    assert len(card["losses"]) == 2
    assert set(card["figures"]) >= {"operations", "edges", "cells", "validity", "uniqueness"}
    assert f"--encoding {tmp_path / 'a'}, --searcher bananas:{tmp_path / 'a'}" in str(done)
    assert done.as_dict()["figures"] == card["figures"]


def test_what_is_there_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = pretrained(tmp_path / "a")
    with monkeypatch.context() as patched:
        patched.setattr(Arch2vec, "train", lambda *given: pytest.fail("trained again"))
        assert pretrained(tmp_path / "a").card == first.card
    with pytest.raises(StudyError, match="holds an encoding that was trained in another way"):
        pretrained(tmp_path / "a", kl_weight=1.0)


def test_an_interrupted_one_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After training, before its figures were told: nothing is trained again, and the weights are those of one without a
    break."""
    whole = pretrained(tmp_path / "whole")
    with monkeypatch.context() as patched:
        patched.setattr(Arch2vec, "figures", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            pretrained(tmp_path / "cut")
    with pytest.raises(StudyError, match="its pre-training has not ended"):
        Trained(tmp_path / "cut").refuses(NasBench201())
    with pytest.raises(StudyError, match="holds the beginning of another pre-training"):
        pretrained(tmp_path / "cut", seed=1)
    again = pretrained(tmp_path / "cut")
    assert again.card["losses"] == whole.card["losses"]
    assert again.card["figures"] == whole.card["figures"]
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "cut")]
    assert files[0] == files[1]


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Arch2vec, "_epoch", stop)
    with pytest.raises(Stopped, match="give the same command again to go on"):
        pretrained(tmp_path / "a")


def test_the_cells_of_a_space() -> None:
    space, options = named_space("nasbench201", [])
    assert options == {"merged": False}
    assert len(cells_of(named_space("nasbench201", [TWO])[0], None, 0)) == 64
    assert len(cells_of(named_space("nasbench201", [TWO])[0], 40, 0)) == 40
    some = [cells_of(space, 50, seed).vectors for seed in (0, 0, 1)]
    assert some[0].dtype == np.uint8
    assert len(np.unique(some[0], axis=0)) == 50
    assert np.array_equal(some[0], some[1])
    assert not np.array_equal(some[0], some[2])
    darts, _ = named_space("darts", ["shared=true", "nodes=1"])
    assert isinstance(darts, Darts)
    assert darts.shared
    both, _ = named_space("darts", ["nodes=1", "operations=skip_connect,max_pool_3x3"])
    alone, _ = named_space("darts", ["nodes=1", "operations=skip_connect,max_pool_3x3", "shared=true"])
    assert both.size() == alone.size() ** 2
    cells = [{tuple(row) for row in cells_of(space, None, 0).vectors.tolist()} for space in (both, alone)]
    assert cells[0] == cells[1], "each cell once, whatever its role"
    assert len(cells_of(both, None, 0)) == len(cells[0]) == 4
    assert cells_of(named_space("darts", [])[0], 7, 0).vectors.shape == (7, 15 * (15 + 11))
    few, options = named_space("nasbench101", ["nodes=4", "edges=3..5"])
    assert isinstance(few, NasBench101)
    assert len(cells_of(few, None, 0)) == few.size()


def test_drawn_cells_are_different(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a space that is not enumerated, as many as were asked for, or all that were found."""
    monkeypatch.setattr("secateur.runs.encode.material.MOST", 10)
    space, _ = named_space("nasbench201", [TWO])
    assert len(np.unique(cells_of(space, 60, 0).vectors, axis=0)) == 60
    assert 60 < len(cells_of(space, 100, 0)) <= 64


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"batch": 100}, ConfigurationError, "`batch` is 100, and there are only 58 cells to train on"),
        ({"device": "cuda:99"}, ConfigurationError, "`device` cuda:99 is not available"),
        ({"space_option": ["merged"]}, ConfigurationError, "must be a name and a value such as nodes=2..6, got `merged`"),
        ({"space_option": ["nodes=3"]}, UnknownNameError, "unknown option of nasbench201 `nodes`"),
        ({"space_option": ["operations=none,3"]}, UnknownNameError, "unknown operation `3`"),
        ({"space_option": ["merged=no"]}, ConfigurationError, "`space_option` merged=no: it is true or false"),
        ({"space": "darts", "space_option": ["nodes=x"]}, ConfigurationError, "`space_option` nodes=x: it is a whole number"),
        ({"space_option": ["operations=none"]}, ConfigurationError, "too few cells to train on and to test on: 1"),
        ({"method": "word2vec"}, ConfigurationError, "unknown method `word2vec`"),
        ({"space": "nasbench301"}, UnknownNameError, "unknown space `nasbench301`"),
        ({"as_published": True, "kl_weight": 0.1}, ConfigurationError, "`as_published` sets `kl_weight` to 1.0"),
    ],
)
def test_refusals(changes: dict[str, Any], kind: type[Exception], said: str, tmp_path: Path) -> None:
    given = {"space": "nasbench201", "space_option": [TWO], "to": tmp_path / "a", **SMALL, **changes}
    with pytest.raises(kind, match=said):
        secateur.encode_pretrain(given.pop("space"), **given)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="is a file: --to takes a folder"):
        pretrained(tmp_path / "file")


def test_vectors_in_a_file(tmp_path: Path, table: Path) -> None:
    pretrained(tmp_path / "a")
    done = secateur.encode_embed(tmp_path / "a", to=tmp_path / "all.parquet")
    assert (done.architectures, done.dimensions) == (64, 4)
    frame = pandas.read_parquet(tmp_path / "all.parquet").set_index("key")
    assert frame.index.is_unique
    space = NasBench201(merged=False, operations=("none", "nor_conv_3x3"))
    some = list(space.every())[::9]
    expected = Trained(tmp_path / "a")(space).encode(some)
    assert np.stack(frame.loc[[a.key for a in some], "embedding"]) == pytest.approx(expected, abs=1e-5)
    assert json.loads(frame["architecture"].iloc[0])["space"] == "nasbench201"
    of_table = secateur.encode_embed(tmp_path / "a", table=str(table), to=tmp_path / "some.parquet")
    assert of_table.architectures == 40
    assert set(pandas.read_parquet(tmp_path / "some.parquet")["key"]) <= set(frame.index)
    with pytest.raises(ConfigurationError, match="`to` must be a Parquet file"):
        secateur.encode_embed(tmp_path / "a", to=tmp_path / "all.csv")
    with pytest.raises(ConfigurationError, match="of cells, and the space `small` has none"):
        secateur.encode_embed(tmp_path / "a", table="prune-sst2", to=tmp_path / "other.parquet")


def test_too_many_for_a_file(tmp_path: Path) -> None:
    changes = {**SMALL, "space_option": ["nodes=4"], "cells": 20}
    secateur.encode_pretrain("darts", to=tmp_path / "a", **changes)
    with pytest.raises(ConfigurationError, match="architectures, too many for a file: give --table"):
        secateur.encode_embed(tmp_path / "a", to=tmp_path / "all.parquet")


def test_on_the_command_line(tmp_path: Path) -> None:
    small = ["--width", "8", "--layers", "1", "--epochs", "1", "--quiet", "--device", "cpu"]
    words = ["encode", "pretrain", "nasbench201", "--space-option", TWO, "--to", str(tmp_path / "a"), *small]
    told = CliRunner().invoke(app, [*words, "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["trained_on"] == 58
    told = CliRunner().invoke(app, ["encode", "embed", str(tmp_path / "a"), "--to", str(tmp_path / "all.parquet")])
    assert told.exit_code == 0, told.output
    assert "64 architectures, 16 numbers each" in told.stdout


def test_searchers_and_predictors_take_it(tmp_path: Path, table: Path) -> None:
    """Once more with other weights is another cell of the bench."""
    folder = tmp_path / "a"
    pretrained(folder)
    common: dict[str, Any] = {"table": [str(table)], "seeds": 2, "workers": 1, "progress": False}

    def searched() -> Any:
        given = {"searcher": ["random", f"bo-dngo:{folder}"], "queries": 12, "to": tmp_path / "search"}
        return secateur.bench_search(**common, **given)

    def predicted() -> Any:
        given = {"encoding": [str(folder)], "predictor": ["forest", "mlp"], "train": [15], "to": tmp_path / "predictors"}
        return secateur.bench_predictors(**common, **given)

    found = searched().frame
    assert set(found["searcher"]) == {"random", f"bo-dngo:{folder}"}
    assert (found.groupby(["searcher", "seed"])["query"].max() == 12).all()
    rows = predicted().rows()
    assert {row["encoding"] for row in rows} == {str(folder)}
    cells = [set(pandas.read_parquet(tmp_path / name)["cell"]) for name in ("predictors/predictions.parquet",)]
    for path in folder.iterdir():
        path.unlink()
    pretrained(folder, seed=1)
    predicted()
    again = set(pandas.read_parquet(tmp_path / "predictors/predictions.parquet")["cell"])
    assert len(again - cells[0]) == len(cells[0])


def test_a_missing_folder_is_one_line(table: Path, tmp_path: Path) -> None:
    words = ["bench", "search", "--table", str(table), "--searcher", "bananas:no/such", "--to", str(tmp_path / "out")]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 2
    assert "`no/such` holds no trained encoding" in told.output
    assert len(told.output.splitlines()) == 1
