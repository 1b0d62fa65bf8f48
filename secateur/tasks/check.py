"""What is wrong with a task's settings, found from file names and first rows, before anything heavy loads."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from secateur.errors import ConfigurationError, MissingExtraError, SecateurError
from secateur.tasks.columns import SAMPLE, check_kind, find_columns, rename, text_columns
from secateur.tasks.files import read_table
from secateur.tasks.image_files import check_album
from secateur.tasks.sources import Source, refuse_labels, resolve
from secateur.tasks.task import IMAGES, KINDS, TEXT_KINDS, check_metric

_Found = TypeVar("_Found")


def check_data(
    data: str | Path,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    kind: str | None = None,
    metric: str | None = None,
) -> list[str]:
    """Every fault that can be told cheaply, a line each; empty where there is none.

    It sees paths, names, formats and columns. What stands in all the rows (labels, missing values) is seen by `load_task`.
    For the kind `image_classification` the data are images, and all else is about texts.
    """
    faults: list[str] = []

    def attempt(check: Callable[[], _Found]) -> _Found | None:
        try:
            return check()
        except ConfigurationError as error:
            faults.extend(error.faults)
        except SecateurError as error:
            faults.append(str(error))
        return None

    attempt(lambda: check_kind(kind, KINDS))
    if kind == IMAGES:
        attempt(lambda: check_album(data))
        attempt(lambda: check_metric(metric, kind))
        return faults
    columns = attempt(lambda: text_columns(text))
    source = attempt(lambda: resolve(data))
    if source is not None:
        known_kind = kind if kind in TEXT_KINDS else None
        attempt(lambda: _check_content(source, columns, label, known_kind))
        attempt(lambda: _check_metric(source, metric, known_kind))
    return faults


def _check_metric(source: Source, metric: str | None, kind: str | None) -> None:
    """What the rows alone say, whether they are classes or numbers, is seen by `load_task`."""
    named = source.entry.kind if source.entry is not None else None
    if known := "language_modelling" if source.plain_text else kind or named:
        check_metric(metric, known)


def _check_content(source: Source, text: tuple[str, ...] | None, label: str | None, kind: str | None) -> None:
    if source.files is None:
        if importlib.util.find_spec("datasets") is None:
            raise MissingExtraError("datasets", "hub")
        return
    if source.plain_text:
        refuse_labels(source, kind)
        return
    path = source.files["train"][0]
    table = rename(read_table(path, rows=SAMPLE), source.entry)
    kind = kind or (source.entry.kind if source.entry is not None else None)
    find_columns(table, str(path), text=text, label=label, kind=kind, entry=source.entry)
