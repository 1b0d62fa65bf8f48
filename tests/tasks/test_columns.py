from __future__ import annotations

import pandas as pd
import pytest

from secateur.errors import ConfigurationError, DataError, UnknownNameError
from secateur.tasks import TASKS
from secateur.tasks.columns import Columns, check_kind, choice_names, find_columns, read_texts, rename, text_columns

TABLE = pd.DataFrame({"id": ["1", "2"], "review": ["good", "bad"], "label": ["1", "0"]})


def test_text_and_label_that_can_only_be_meant():
    assert find_columns(TABLE, "f") == Columns(("review",), "label")
    assert find_columns(TABLE.assign(text="x"), "f").text == ("text",)
    assert find_columns(TABLE, "f", kind="language_modelling", text=("review",)).label is None


def test_what_the_user_names_wins():
    table = TABLE.assign(other=["a", "b"])
    assert find_columns(table, "f", text=("review", "other"), label="id") == Columns(("review", "other"), "id")
    with pytest.raises(DataError, match=r"2 columns that could be the text.*`id`, `review`, `label`, `other`"):
        find_columns(table, "f")


def test_no_text_at_all():
    with pytest.raises(DataError, match="0 columns that could be the text"):
        find_columns(TABLE[["id", "label"]], "f")


def test_a_missing_column_is_told_with_those_there_are():
    with pytest.raises(DataError, match="`f` has no column `body` for the text; the columns are: `id`, `review`, `label`"):
        find_columns(TABLE, "f", text=("body",))
    with pytest.raises(DataError, match="has no column `stars` for the label"):
        find_columns(TABLE, "f", label="stars")
    with pytest.raises(DataError, match="has no column `label` for the label"):
        find_columns(TABLE[["id", "review"]], "f")


def test_text_is_not_label():
    with pytest.raises(DataError, match="`label` cannot be both"):
        find_columns(TABLE, "f", text=("label",))


def test_entries_bring_their_columns_and_other_spellings():
    raw = pd.DataFrame({"Quality": ["1"], "#1 String": ["a"], "#2 String": ["b"]})
    table = rename(raw, TASKS["mrpc"])
    assert find_columns(table, "f", entry=TASKS["mrpc"]) == Columns(("sentence1", "sentence2"), "label")
    both = pd.DataFrame({"score": ["1"], "label": ["2"]})
    assert rename(both, TASKS["stsb"]) is not None
    assert list(rename(both, TASKS["stsb"]).columns) == ["score", "label"]
    assert rename(raw, None) is raw


def test_answers_of_multiple_choice():
    table = pd.DataFrame({"context": ["q"], "choice_b": ["y"], "choice_a": ["x"], "label": ["a"]})
    found = find_columns(table, "f", kind="multiple_choice")
    assert found == Columns(("context",), "label", ("choice_a", "choice_b"))
    assert choice_names(found.choices) == ("a", "b")
    with pytest.raises(DataError, match="no answer columns"):
        find_columns(TABLE, "f", kind="multiple_choice")


def test_missing_texts_are_counted():
    table = TABLE.assign(review=["good", None])
    with pytest.raises(DataError, match="text column `review` in 1 of 2 rows, first in row 2"):
        read_texts(table, Columns(("review",), "label"), "f")
    with pytest.raises(DataError, match="no column `body`"):
        read_texts(table, Columns(("body",), "label"), "f")


def test_settings():
    assert text_columns(None) is None
    assert text_columns("a") == ("a",)
    assert text_columns(["a", "b"]) == ("a", "b")
    for bad in ([], ["a", "b", "c"], ""):
        with pytest.raises(ConfigurationError, match="one or two columns"):
            text_columns(bad)
    check_kind("regression")
    with pytest.raises(UnknownNameError, match="Did you mean `regression`"):
        check_kind("regresion")
