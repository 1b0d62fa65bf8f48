"""Which columns of a table hold the text, the answers and the label."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secateur.errors import ConfigurationError, DataError, UnknownNameError
from secateur.tasks.task import TEXT_KINDS, Task

if TYPE_CHECKING:
    import pandas as pd

#: Rows that are looked at to tell a column of text from one of numbers.
SAMPLE = 1000
_CHOICE = re.compile(r"(ending|choice|option|answer)[ _-]?(\d+|[A-Za-z])", re.IGNORECASE)


@dataclass(frozen=True)
class Columns:
    """The names of the columns that a task reads."""

    text: tuple[str, ...]
    label: str | None
    choices: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        return (*self.text, *self.choices)


def text_columns(text: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """The user's `text` as a tuple; raises ConfigurationError unless it names one or two columns."""
    if text is None:
        return None
    columns = (text,) if isinstance(text, str) else tuple(text)
    if len(columns) not in (1, 2) or not all(columns):
        raise ConfigurationError(f"`text` must name one or two columns, got {list(columns)}.")
    if len(set(columns)) < len(columns):
        raise ConfigurationError(f"`text` names the column `{columns[0]}` twice: name another one for the second text.")
    return columns


def check_kind(kind: str | None, known: Collection[str] = TEXT_KINDS) -> None:
    """Raises UnknownNameError for a kind of task, by default one on texts, that there is not."""
    if kind is not None and kind not in known:
        raise UnknownNameError("kind", kind, known)


def find_columns(
    table: pd.DataFrame,
    where: str,
    *,
    text: tuple[str, ...] | None = None,
    label: str | None = None,
    kind: str | None = None,
    entry: Task | None = None,
) -> Columns:
    """The columns to read: those the user names, else those of the task's `entry`, else those that can only be meant.

    Without either, `label` is the label, and the text is the only column of text beside it, or else the one called `text`.
    Raises DataError, with the columns there are, where one is missing or cannot be told.
    """
    there = list(table.columns)
    if entry is not None:
        text, label = text or entry.text, label or entry.label
    label = None if kind == "language_modelling" else label or "label"
    choices: tuple[str, ...] = ()
    if kind == "multiple_choice":
        choices = entry.choices if entry is not None and entry.choices else _choices(table, where)
    for column in (*(text or ()), *choices, *((label,) if label is not None else ())):
        require_column(there, column, where, "label" if column == label else "text")
    if text is None:
        head = table.head(SAMPLE)
        candidates = [c for c in there if c != label and c not in choices and _is_text(head[c])]
        if len(candidates) != 1 and "text" in candidates:
            candidates = ["text"]
        if len(candidates) != 1:
            raise DataError(
                f"`{where}` has {len(candidates)} columns that could be the text. Name one or two as `text`; "
                f"the columns are: {_listed(there)}."
            )
        text = (candidates[0],)
    if label in text:
        raise DataError(f"the column `{label}` cannot be both text and label; the columns of `{where}` are: {_listed(there)}.")
    shared = [column for column in choices if column in (*text, label)]
    if shared:
        raise DataError(f"the column `{shared[0]}` is an answer, so it cannot be text or label too.")
    return Columns(text, label, choices)


def require_column(there: Sequence[str], column: str, where: str, role: str) -> None:
    """Raises DataError, with the columns there are, where `column` is not among them."""
    if column not in there:
        raise DataError(f"`{where}` has no column `{column}` for the {role}; the columns are: {_listed(there)}.")


def read_texts(table: pd.DataFrame, columns: Columns, where: str) -> dict[str, list[str]]:
    """Column → its texts. Raises DataError where a column is not there, lacks a value or holds something else than text."""
    _refuse_swallowed(table, columns, where)
    texts: dict[str, list[str]] = {}
    for column in columns.inputs:
        require_column(list(table.columns), column, where, "text")
        missing = table[column].isna().to_numpy()
        if missing.any():
            raise DataError(
                f"`{where}` has no value in the text column `{column}` in {int(missing.sum())} of {len(table)} rows, "
                f"first in row {int(missing.argmax()) + 1}. Fill or drop these rows."
            )
        texts[column] = [_text(value, column, where, row) for row, value in enumerate(table[column].tolist(), start=1)]
    return texts


def _text(value: Any, column: str, where: str, row: int) -> str:
    kind = structure(value)
    if kind is not None:
        raise DataError(
            f"`{where}` has {kind} instead of text in row {row} of the column `{column}`. Write it as text, or drop it."
        )
    return str(value)


def structure(value: Any) -> str | None:
    """What a value is called that is neither text nor a number; None where it is one of these."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, bytes | bytearray):
        return "bytes"
    return "a list" if not isinstance(value, str) and hasattr(value, "__len__") else None


def _refuse_swallowed(table: pd.DataFrame, columns: Columns, where: str) -> None:
    """Raise DataError where a field of a CSV runs over what looks like the end, or the beginning, of a row of its own.

    A quote that is opened and not closed takes in all rows up to the next quote: the sign is a label where it would stand in
    those rows.
    """
    separator, there = table.attrs.get("separator"), list(table.columns)
    if separator is None or columns.label not in there:
        return
    labels, place, width = set(table[columns.label]), there.index(columns.label), len(there)
    for at, column in enumerate(there):
        for row, value in enumerate(table[column].tolist(), start=1):
            lines = re.split(r"\r\n|\r|\n", value) if isinstance(value, str) else []
            if len(lines) < 2:
                continue
            first, last = lines[0].split(separator), lines[-1].split(separator)
            if at < place and len(first) >= width - at:
                found = first[place - width]
            elif place < at < len(last):
                found = last[place]
            else:
                continue
            if found in labels:
                raise DataError(
                    f"`{where}`: row {row} takes in the {'row' if len(lines) == 2 else f'{len(lines) - 1} rows'} after it: "
                    f"a quote in its column `{column}` is never closed. Close it, or double the quotes that are part of "
                    "the text; if the text really contains these lines, use JSON Lines."
                )


def rename(table: pd.DataFrame, entry: Task | None) -> pd.DataFrame:
    """The table with the column names of another distribution of `entry` replaced by ours, where ours are not there."""
    if entry is None:
        return table
    return table.rename(columns={theirs: ours for theirs, ours in entry.aliases if ours not in table.columns})


def _choices(table: pd.DataFrame, where: str) -> tuple[str, ...]:
    found: dict[str, list[str]] = {}
    for column in table.columns:
        match = _CHOICE.fullmatch(column)
        if match:
            found.setdefault(match[1].lower(), []).append(column)
    groups = [group for group in found.values() if len(group) > 1]
    if len(groups) != 1:
        raise DataError(
            f"`{where}` has no answer columns (ending0, ending1, … or choice_a, choice_b, …), which multiple choice needs; "
            f"the columns are: {_listed(table.columns)}."
        )
    return tuple(sorted(groups[0], key=lambda column: (len(column), column)))


def choice_names(choices: Sequence[str]) -> tuple[str, ...]:
    """What the answers are called by a label that does not count from 0: `choice_a`, `choice_b` → `a`, `b`."""
    return tuple(match[2] if (match := _CHOICE.fullmatch(column)) else column for column in choices)


def _is_text(column: Any) -> bool:
    """Whether the column holds strings that are not all numbers."""
    values = [value for value in column.tolist() if isinstance(value, str)]
    return any(not re.fullmatch(r"\s*[-+]?[\d.]+([eE][-+]?\d+)?\s*", value) for value in values)


def _listed(columns: Any) -> str:
    return ", ".join(f"`{column}`" for column in columns)
