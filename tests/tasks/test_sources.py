from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from secateur.errors import ConfigurationError, DataError, MissingExtraError, UnknownNameError
from secateur.tasks import TASKS
from secateur.tasks.sources import read, refuse_labels, resolve


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SECATEUR_DATA", raising=False)


def folder(path: Path, *names: str) -> Path:
    path.mkdir(parents=True)
    for name in names:
        (path / name).write_text("sentence1\tsentence2\tlabel\na\tb\t1\n")
    return path


def test_an_existing_path_wins(tmp_path: Path):
    assert resolve("rte").files is None
    folder(tmp_path / "rte", "train.tsv")
    source = resolve("rte")
    assert source.entry is TASKS["rte"]
    assert source.files == {"train": [Path("rte/train.tsv")]}


def test_a_folder_of_another_name_is_own_data(tmp_path: Path):
    source = resolve(folder(tmp_path / "mine", "train.tsv", "dev.tsv"))
    assert (source.name, source.entry) == ("mine", None)


def test_a_file_is_own_data(tmp_path: Path):
    path = folder(tmp_path / "x", "rte.tsv") / "rte.tsv"
    assert resolve(path).entry is None
    assert resolve(str(path)).name == "rte"


@pytest.mark.parametrize("inner", ["glue/rte", "rte"])
def test_names_are_looked_for_in_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inner: str):
    folder(tmp_path / "data" / inner, "train.tsv")
    monkeypatch.setenv("SECATEUR_DATA", str(tmp_path / "data"))
    assert resolve("glue/RTE").files == {"train": [tmp_path / "data" / inner / "train.tsv"]}
    assert resolve("mrpc").files is None


def test_neither_a_path_nor_a_name():
    with pytest.raises(UnknownNameError, match="Did you mean `sst2`"):
        resolve("glue/sst3")
    for missing in ("data/reviews", "./rte", "rte.csv", "a.tsv.gz", "~/none", Path("rte")):
        with pytest.raises(DataError, match="does not exist"):
            resolve(missing)


def test_odd_extension(tmp_path: Path):
    (tmp_path / "a.xlsx").write_text("x")
    with pytest.raises(DataError, match="an unknown extension"):
        resolve("a.xlsx")


def test_plain_text_and_tables_do_not_mix(tmp_path: Path):
    path = folder(tmp_path / "mine", "train.txt", "test.tsv")
    with pytest.raises(DataError, match="mixes plain text with tables"):
        _ = resolve(path).plain_text
    (path / "test.tsv").rename(path / "test.txt")
    assert resolve(path).plain_text
    with pytest.raises(ConfigurationError, match="only language_modelling fits"):
        refuse_labels(resolve(path), "classification")


def test_the_hub(monkeypatch: pytest.MonkeyPatch):
    asked = []

    def load_dataset(name, configuration, split):
        asked.append((name, configuration, split))
        return SimpleNamespace(to_pandas=lambda: pd.DataFrame({"split": [split]}))

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    tables = read(resolve("glue/mnli"))
    assert asked == [("nyu-mll/glue", "mnli", "train"), ("nyu-mll/glue", "mnli", "validation_matched")]
    assert tables["validation"]["split"].tolist() == ["validation_matched"]
    assert resolve("mnli").path("train") == "mnli (train)"


def test_a_hub_that_does_not_answer(monkeypatch: pytest.MonkeyPatch):
    def load_dataset(*_, **__):
        raise ConnectionError("no route\nto host.")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    with pytest.raises(DataError, match=r"could not load `nyu-mll/glue` from the hub: no route to host\. Give a local folder"):
        read(resolve("rte"))


def test_no_hub_library(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"secateur\[hub\]"):
        read(resolve("rte"))
