"""Labels as they stand in a table, turned into class numbers or real numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import DataError
from secateur.tasks.columns import structure

#: Fractions with more different values than this are taken for a regression.
_MANY = 10


def label_strings(values: Iterable[Any], *, unlabelled: str | None = None) -> list[str | None]:
    """Each label in one spelling (1, 1.0 and `1.0` are `1`), None where it is missing or the mark `unlabelled`."""
    spelt = [_spelt(value) for value in values]
    return [None if value == unlabelled else value for value in spelt]


def _spelt(value: Any) -> str | None:
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = str(value).strip()
    if text.lower() in ("", "nan", "<na>"):
        return None
    return text.split(".")[0] if re.fullmatch(r"[+-]?\d+\.0+", text) else text


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def check_labels(values: Iterable[Any], column: str, where: str) -> None:
    """Raise DataError for what is no label, and for labels of several sorts: numbers among words are a slip of some row."""
    seen: dict[str, int] = {}
    for row, value in enumerate(values, start=1):
        kind = structure(value)
        if kind is not None or (isinstance(value, str) and len(value.strip().splitlines()) > 1):
            raise DataError(
                f"`{where}` has {kind or 'several lines'} in row {row} of the label column `{column}`: "
                "a label is one word or number."
            )
        spelt = _spelt(value)
        if spelt is not None and re.fullmatch(r"[+-]?\d+,\d+", spelt):
            raise DataError(
                f"`{where}` has a decimal comma in row {row} of the label column `{column}`: write `{spelt}` with a point."
            )
        if spelt is not None:
            logical = isinstance(value, bool | np.bool_)
            seen.setdefault("true or false" if logical else "a word" if _number(spelt) is None else "a number", row)
    if len(seen) > 1:
        (one, first), (other, second), *_ = seen.items()
        raise DataError(
            f"the labels of `{where}` in the column `{column}` are of different types: {one} in row {first}, "
            f"{other} in row {second}. Write either all of them as words or all as numbers."
        )


def infer_kind(labels: Sequence[str | None]) -> str:
    """`regression` where all labels are numbers, some of them fractions, with many different values; else `classification`."""
    present = [label for label in labels if label is not None]
    distinct = set(present)
    if any(_number(label) is None for label in distinct):
        return "classification"
    fractions = any(not float(label).is_integer() for label in distinct)
    return "regression" if fractions and (len(distinct) > _MANY or 2 * len(distinct) > len(present)) else "classification"


def refuse_missing(labels: Sequence[str | None], column: str, where: str) -> None:
    """Raises DataError where a label is missing: how many, and the first row."""
    rows = [row for row, label in enumerate(labels, start=1) if label is None]
    if rows:
        raise DataError(
            f"`{where}` has no value in the label column `{column}` in {len(rows)} of {len(labels)} rows, "
            f"first in row {rows[0]}. Fill or drop these rows."
        )


def refuse_constant(labels: Sequence[str | None], column: str, where: str) -> None:
    """Raises DataError where all labels are the same: there is nothing to learn, and nothing to score."""
    distinct = {label for label in labels if label is not None}
    if len(distinct) == 1:
        raise DataError(
            f"`{where}` has the same label in every row of the column `{column}`: `{min(distinct)}`. "
            "Name another label column, or add rows with other labels."
        )


@dataclass(frozen=True)
class Labels:
    """How one task's labels become numbers: `ids` maps a spelling to a class. A regression has neither."""

    column: str
    names: tuple[str, ...] | None
    ids: dict[str, int]

    @classmethod
    def numbers(cls, column: str) -> Labels:
        return cls(column, None, {})

    @classmethod
    def fit(cls, labels: Sequence[str | None], column: str, where: str, names: tuple[str, ...] | None = None) -> Labels:
        """The classes of the training `labels`: those of `names`, spelt as names or as 0, 1, …; else all that occur, in order.

        Raises DataError for a single class, or for as many classes as an identifier would have.
        """
        refuse_missing(labels, column, where)
        refuse_constant(labels, column, where)
        distinct = {label for label in labels if label is not None}
        if names is not None:
            numbered = {str(index): index for index in range(len(names))}
            return cls(column, names, numbered if distinct <= set(numbered) else {name: i for i, name in enumerate(names)})
        if len(distinct) > max(20, len(labels) // 2):
            raise DataError(
                f"`{where}` has {len(distinct)} different labels in {len(labels)} rows of the column `{column}`: too many for "
                "classes. Name another label column, or set `kind` to regression if they are numbers."
            )
        whole = all(re.fullmatch(r"[+-]?\d+", label) for label in distinct)
        ordered = sorted(distinct, key=int) if whole else sorted(distinct)
        return cls(column, tuple(ordered), {label: index for index, label in enumerate(ordered)})

    def encode(self, labels: Sequence[str | None], where: str) -> NDArray[Any]:
        """Class numbers (n,) int64, or values (n,) float64. Raises DataError where one is missing, unknown or no number."""
        refuse_missing(labels, self.column, where)
        present = [label for label in labels if label is not None]
        if self.names is None:
            numbers = [_number(label) for label in present]
            for row, (number, label) in enumerate(zip(numbers, present, strict=True), start=1):
                if number is None:
                    raise DataError(
                        f"`{where}` has a label that is not a number in row {row} of the column `{self.column}`: `{label}`. "
                        "A regression needs finite numbers."
                    )
            return np.asarray(numbers, dtype=np.float64)
        for row, label in enumerate(present, start=1):
            if label not in self.ids:
                known = ", ".join(f"`{name}`" for name in list(self.ids)[:20])
                raise DataError(
                    f"`{where}` has the label `{label}` in row {row} of the column `{self.column}`, "
                    f"which is not among the classes: {known}."
                )
        return np.asarray([self.ids[label] for label in present], dtype=np.int64)
