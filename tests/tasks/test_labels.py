from __future__ import annotations

import numpy as np
import pytest

from secateur.errors import DataError
from secateur.tasks.labels import Labels, infer_kind, label_strings


def test_one_spelling():
    assert label_strings([1, 1.0, "1.0", " 1 ", np.int64(1), np.float64(1)]) == ["1"] * 6
    assert label_strings([None, float("nan"), "", " ", "NaN", "<NA>"]) == [None] * 6
    assert label_strings(["None", 0.5, True, -1], unlabelled="-1") == ["None", "0.5", "True", None]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["good", "bad"], "classification"),
        ([str(i) for i in range(30)] * 3, "classification"),
        (["0.5", "1.5"] * 10, "classification"),
        ([str(i / 8) for i in range(30)], "regression"),
        (["0.25", "0.5", "0.75"], "regression"),
        ([*(str(i / 8) for i in range(30)), "unknown"], "classification"),
    ],
)
def test_kinds(labels: list[str], kind: str):
    assert infer_kind([*labels, None]) == kind


def test_classes_are_in_order():
    assert Labels.fit(["10", "9", "-1"], "y", "f").names == ("-1", "9", "10")
    assert Labels.fit(["b", "a", "10"], "y", "f").names == ("10", "a", "b")


def test_known_classes_by_name_or_number():
    names = ("no", "yes")
    assert Labels.fit(["yes", "no"], "y", "f", names).encode(["no", "yes"], "f").tolist() == [0, 1]
    assert Labels.fit(["1", "0"], "y", "f", names).encode(["0", "1"], "f").tolist() == [0, 1]


def test_answers_counted_from_one_or_from_zero():
    names = ("1", "2")
    assert Labels.fit(["1", "2"], "y", "f", names).encode(["1", "2"], "f").tolist() == [0, 1]
    assert Labels.fit(["1", "0"], "y", "f", names).encode(["1", "0"], "f").tolist() == [1, 0]


def test_numbers():
    encoded = Labels.numbers("y").encode(["1", "2.5"], "f")
    assert encoded.dtype == np.float64
    assert encoded.tolist() == [1.0, 2.5]


@pytest.mark.parametrize("bad", ["high", "inf"])
def test_a_label_that_is_no_number(bad: str):
    with pytest.raises(DataError, match=f"not a number in row 2 of the column `y`: `{bad}`"):
        Labels.numbers("y").encode(["1", bad], "f")


def test_missing_labels_are_counted():
    for act in (lambda v: Labels.numbers("y").encode(v, "f"), lambda v: Labels.fit(v, "y", "f")):
        with pytest.raises(DataError, match="`y` in 2 of 4 rows, first in row 2"):
            act(["1", None, "2", None])


def test_a_single_class():
    with pytest.raises(DataError, match="the same label in every row of the column `y`: `a`"):
        Labels.fit(["a", "a"], "y", "f")


def test_too_many_classes():
    with pytest.raises(DataError, match="30 different labels in 30 rows"):
        Labels.fit([f"id{i}" for i in range(30)], "y", "f")


def test_a_class_that_training_does_not_know():
    with pytest.raises(DataError, match=r"label `c` in row 2.*not among the classes: `a`, `b`"):
        Labels.fit(["a", "b"], "y", "f").encode(["a", "c"], "test.csv")
