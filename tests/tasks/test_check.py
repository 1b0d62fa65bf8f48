from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from secateur.tasks import check_data


def test_nothing_wrong(reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SECATEUR_DATA", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)  # whether the hub's library is installed or not
    assert check_data(reviews, "review", "stars") == []
    assert check_data("glue/rte") == []
    (tmp_path / "a.txt").write_text("words")
    assert check_data(tmp_path / "a.txt") == []


def test_all_faults_at_once():
    faults = check_data("none.csv", ["a", "b", "c"], kind="clasification")
    assert len(faults) == 3
    assert "Did you mean `classification`" in faults[0]
    assert "one or two columns" in faults[1]
    assert "`none.csv` does not exist" in faults[2]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"text": "body", "label": "stars"}, "no column `body`"),
        ({"text": "review"}, "no column `label`"),
        ({"text": "review", "label": "stars", "kind": "multiple_choice"}, "no answer columns"),
    ],
)
def test_columns(reviews: Path, arguments: dict, fault: str):
    faults = check_data(reviews, **arguments)
    assert len(faults) == 1
    assert fault in faults[0]


def test_a_metric_that_the_kind_of_task_does_not_have(reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """By the task's name, the kind that was given, or plain text; what the rows would say is not known yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SECATEUR_DATA", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    (tmp_path / "a.txt").write_text("words")
    (fault,) = check_data("glue/stsb", metric="f1")
    assert fault == "`metric` must be spearman or pearson for regression, got `f1`."
    assert "must be token_accuracy for language_modelling" in check_data(tmp_path / "a.txt", metric="accuracy")[0]
    assert "for classification" in check_data(reviews, "review", "stars", "classification", metric="pearson")[0]
    assert check_data(reviews, "review", "stars", metric="pearson") == []
    for given in ("f1", "papers"):
        assert check_data("mrpc", metric=given) == []


def test_files_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "empty.csv").touch()
    (tmp_path / "a.txt").write_text("words")
    assert "is empty" in check_data(tmp_path / "empty.csv")[0]
    assert "only language_modelling" in check_data(tmp_path / "a.txt", kind="regression")[0]
    assert "Did you mean `cola`" in check_data("coola")[0]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SECATEUR_DATA", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "secateur[hub]" in check_data("rte")[0]


def test_a_named_folder_is_checked_by_its_entry(tmp_path: Path):
    folder = tmp_path / "mrpc"
    folder.mkdir()
    (folder / "train.tsv").write_text("sentence1\tlabel\na\t1\n")
    assert "no column `sentence2`" in check_data(folder)[0]
