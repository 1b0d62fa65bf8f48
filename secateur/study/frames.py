"""Trials and fronts as pandas frames, and as tables in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from secateur.trial import Trial

if TYPE_CHECKING:
    from pandas import DataFrame


class Trials(list[Trial]):
    """The trials of a run, in the order of their numbers."""

    def to_pandas(self) -> DataFrame:
        """A row per trial: number, origin, status, key, architecture, seconds, reason, and every value and detail."""
        return frame([_row(trial) for trial in self], "number")

    def _repr_html_(self) -> str:
        return html(self.to_pandas())


def _row(trial: Trial) -> dict[str, Any]:
    names = ("number", "origin", "status", "key", "budget", "seconds", "reason")
    said = {name: getattr(trial, name) for name in names}
    return {**said, "status": str(trial.status), "architecture": str(trial.architecture), **trial.values, **trial.details}


def frame(rows: Sequence[dict[str, Any]], index: str) -> DataFrame:
    """The rows as a frame; `index` names the column that counts them."""
    import pandas as pd

    found = pd.DataFrame(list(rows))
    return found.set_index(index) if index in found else found


def html(table: DataFrame) -> str:
    """A frame as a notebook shows it: numbers that are read at a glance, nothing where a value is missing."""
    text = table.to_html(float_format=_number, na_rep="", max_rows=60, border=0)
    return str(text)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
