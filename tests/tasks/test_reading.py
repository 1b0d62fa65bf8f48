from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from secateur.errors import ConfigurationError, DataError, UnknownNameError
from secateur.tasks import TASKS, TaskData, load_task
from secateur.testing.toy_tokenizer import toy_tokenizer


def sizes(data: TaskData) -> tuple[int, int, int]:
    return len(data.train), len(data.validation), len(data.test)


def table(path: Path, rows: int = 20, label=lambda i: i % 2, **columns) -> Path:
    """A TSV of `rows` rows: text, label and what else is given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"text": [f"the film {'very ' * (i % 6)}good" for i in range(rows)], "label": [label(i) for i in range(rows)]}
    pd.DataFrame(content | columns).to_csv(path, sep="\t", index=False)
    return path


def test_own_file_is_split_by_class(reviews: Path, tokenizer):
    data = load_task(reviews, tokenizer, text="review", label="stars")
    assert sizes(data) == (22, 10, 8)
    assert data.task.kind == "classification"
    assert data.label_names == ("bad", "good")
    assert data.num_labels == 2
    assert Counter(data.test.labels) == {0: 6, 1: 2}
    assert Counter(data.validation.labels) in ({0: 8, 1: 2}, {0: 7, 1: 3})


def test_same_arguments_same_data(reviews: Path, tokenizer):
    arguments = {"text": "review", "label": "stars", "max_train": 10}
    first, again = load_task(reviews, tokenizer, **arguments), load_task(str(reviews), tokenizer, **arguments)
    assert first.fingerprint == again.fingerprint
    assert list(first.train) == list(again.train)
    for change in ({"seed": 1}, {"max_train": 11}, {"max_length": 5}, {"validation_share": 0.4}):
        assert load_task(reviews, tokenizer, **(arguments | change)).fingerprint != first.fingerprint


def test_limits_sample_after_the_split(reviews: Path, tokenizer):
    arguments = {"text": "review", "label": "stars"}
    whole = load_task(reviews, tokenizer, **arguments)
    some = load_task(reviews, tokenizer, **arguments, max_train=8, max_validation=4, max_test=99)
    assert sizes(some) == (8, 4, 8)
    assert Counter(some.train.labels) == {0: 6, 1: 2}
    assert list(some.test) == list(whole.test)
    assert all(example in list(whole.train) for example in some.train)


def test_no_row_is_in_two_splits(tmp_path: Path):
    texts = [f"row{i}" for i in range(50)]
    path = table(tmp_path / "a.tsv", 50, text=texts)
    data = load_task(path, toy_tokenizer(texts))
    seen = [example["input_ids"][1] for part in (data.train, data.validation, data.test) for example in part]
    assert len(set(seen)) == len(seen) == 50


def test_kinds(tmp_path: Path, tokenizer):
    scores = table(tmp_path / "a.tsv", label=lambda i: i / 7)
    data = load_task(scores, tokenizer)
    assert (data.task.kind, data.task.main, data.num_labels, data.label_names) == ("regression", "spearman", 1, None)
    assert isinstance(data.train.labels[0], float)
    stars = table(tmp_path / "b.tsv", label=lambda i: 1 + i % 5)
    assert load_task(stars, tokenizer).label_names == ("1", "2", "3", "4", "5")
    assert load_task(stars, tokenizer, kind="regression").task.kind == "regression"


def test_multiple_choice(tmp_path: Path, tokenizer):
    path = table(tmp_path / "a.tsv", choice1=["good"] * 20, choice2=["very bad"] * 20, label=lambda i: 1 + i % 2)
    data = load_task(path, tokenizer, kind="multiple_choice", text="text")
    assert data.num_labels == 2
    assert data.label_names == ("1", "2")
    assert set(data.train.labels) == {0, 1}
    assert next(data.batches("train", 3))["input_ids"].shape[:2] == (3, 2)


def test_a_folder_with_all_three(tmp_path: Path, tokenizer):
    for name, rows in (("train", 20), ("dev", 6), ("test", 8)):
        table(tmp_path / "mine" / f"{name}.tsv", rows)
    assert sizes(load_task(tmp_path / "mine", tokenizer)) == (20, 6, 8)


def test_a_hidden_test_set_leaves_the_dev_set(tmp_path: Path, tokenizer):
    table(tmp_path / "mine" / "train.tsv", 20)
    table(tmp_path / "mine" / "dev.tsv", 6)
    table(tmp_path / "mine" / "test.tsv", 8, label=lambda i: "")
    assert sizes(load_task(tmp_path / "mine", tokenizer)) == (14, 6, 6)
    (tmp_path / "mine" / "dev.tsv").unlink()
    with pytest.raises(DataError, match=r"test\.tsv` has no labels in the column `label`"):
        load_task(tmp_path / "mine", tokenizer)
    pd.DataFrame({"text": ["a"]}).to_csv(tmp_path / "mine" / "test.tsv", sep="\t")
    with pytest.raises(DataError, match="has no labels"):
        load_task(tmp_path / "mine", tokenizer)


def test_a_folder_named_as_a_task_is_that_task(tmp_path: Path, tokenizer):
    for name, rows in (("train", 20), ("dev", 6), ("test", 8)):
        path = tmp_path / "SST-2" / f"{name}.tsv"
        table(path, rows, label=lambda i: ("negative", "positive")[i % 2])
        path.write_text(path.read_text().replace("text", "sentence", 1))
    data = load_task(tmp_path / "SST-2", tokenizer)
    assert sizes(data) == (14, 6, 6)  # dev is the test set
    assert data.task == TASKS["sst2"]
    assert load_task(tmp_path / "SST-2", tokenizer, kind="language_modelling", max_length=8).task.main == "token_accuracy"


def test_the_users_kind_wins_over_the_entrys(tmp_path: Path, tokenizer):
    table(tmp_path / "stsb" / "train.tsv", 30, sentence1=["a"] * 30, sentence2=["one"] * 30, label=lambda i: i % 3)
    data = load_task(tmp_path / "stsb", tokenizer, kind="classification")
    assert (data.task.main, data.num_labels, data.task.text) == ("accuracy", 3, ("sentence1", "sentence2"))


def test_the_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tokenizer):
    content = pd.DataFrame({"text": ["a good film", "", "bad"] * 10, "label": [0, 1, 1] * 10})
    monkeypatch.setitem(
        sys.modules, "datasets", SimpleNamespace(load_dataset=lambda *_, split: SimpleNamespace(to_pandas=content.copy))
    )
    monkeypatch.chdir(tmp_path)
    data = load_task("imdb", tokenizer)
    assert sizes(data) == (21, 9, 30)
    assert data.label_names == ("neg", "pos")


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (lambda i: 1, "the same label in every row"),
        (lambda i: "" if i in (3, 5) else i % 2, "in 2 of 30 rows, first in row 4"),
        (lambda i: f"id{i}", "30 different labels"),
    ],
)
def test_bad_labels(tmp_path: Path, tokenizer, label, message: str):
    with pytest.raises(DataError, match=message):
        load_task(table(tmp_path / "a.tsv", 30, label=label), tokenizer)


def test_labels_that_do_not_fit(tmp_path: Path, tokenizer):
    with pytest.raises(DataError, match="not a number in row 1 of the column `label`: `word`"):
        load_task(table(tmp_path / "a.tsv", label=lambda i: "word"), tokenizer, kind="regression")
    table(tmp_path / "mine" / "train.tsv")
    table(tmp_path / "mine" / "test.tsv", label=lambda i: i % 3)
    with pytest.raises(DataError, match=r"test\.tsv` has the label `2` in row 3"):
        load_task(tmp_path / "mine", tokenizer)


def test_bad_texts_and_columns(tmp_path: Path, tokenizer):
    with pytest.raises(DataError, match="text column `text` in 1 of 20 rows, first in row 2"):
        load_task(table(tmp_path / "a.tsv", text=["a", "", *["b"] * 18]), tokenizer)
    with pytest.raises(DataError, match=r"no column `body`.*`text`, `label`"):
        load_task(tmp_path / "a.tsv", tokenizer, text="body")
    table(tmp_path / "mine" / "train.tsv")
    pd.DataFrame({"words": ["a"], "label": [1]}).to_csv(tmp_path / "mine" / "dev.tsv", sep="\t", index=False)
    with pytest.raises(DataError, match=r"dev\.tsv` has no column `text`"):
        load_task(tmp_path / "mine", tokenizer)


def test_too_few_rows(tmp_path: Path, tokenizer):
    with pytest.raises(DataError, match="has 2 rows: too few to split"):
        load_task(table(tmp_path / "a.tsv", 2), tokenizer)


def test_unknown_names(tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownNameError, match="Did you mean `rte`"):
        load_task("glue/rtee", tokenizer)
    with pytest.raises(UnknownNameError, match="unknown kind"):
        load_task("rte", tokenizer, kind="ranking")


def test_all_bad_settings_at_once(tokenizer):
    with pytest.raises(ConfigurationError) as caught:
        load_task("rte", tokenizer, max_length=1, validation_share=1.0, test_share=-0.1, max_train=0)
    assert [fault.split("`")[1] for fault in caught.value.faults] == [
        "max_length",
        "validation_share",
        "test_share",
        "max_train",
    ]


@pytest.mark.parametrize(
    ("name", "rows", "evaluation"), [("rte", 2490, 277), ("mrpc", 3668, 408), ("stsb", 5749, 1500), ("sst2", 67349, 872)]
)
def test_real_glue(shared: Path, tokenizer, name: str, rows: int, evaluation: int):
    data = load_task(shared / "glue" / name, tokenizer, max_length=16, max_train=50, max_validation=20)
    assert sizes(data) == (50, 20, evaluation)
    assert data.task == TASKS[name]
    whole = load_task(shared / "glue" / name, tokenizer, max_length=16) if rows < 3000 else None
    if whole is not None:
        assert len(whole.train) + len(whole.validation) == rows
        assert len(whole.validation) == round(0.3 * rows)


def test_the_metric_can_be_chosen(tmp_path: Path, reviews: Path, tokenizer):
    """The examples are the same, so is their fingerprint; what the rows hold is known here."""
    usual, chosen = (load_task(reviews, tokenizer, text="review", label="stars", metric=m) for m in (None, "matthews"))
    assert (usual.task.main, usual.task.metrics) == ("accuracy", ("accuracy", "f1"))
    assert (chosen.task.main, chosen.task.metrics) == ("matthews", ("matthews", "accuracy", "f1"))
    assert chosen.fingerprint == usual.fingerprint
    with pytest.raises(
        ConfigurationError, match="`metric` must be accuracy or f1 or matthews for classification, got `pearson`"
    ):
        load_task(reviews, tokenizer, text="review", label="stars", metric="pearson")
    (tmp_path / "a.txt").write_text("the film was good " * 200)
    with pytest.raises(ConfigurationError, match="`metric` must be token_accuracy for language_modelling, got `f1`"):
        load_task(tmp_path / "a.txt", tokenizer, max_length=8, metric="f1")
