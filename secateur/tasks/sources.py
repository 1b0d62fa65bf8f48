"""Where a task's data come from: a file, a folder of splits, or a name on the hub. An existing path wins over a name."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from secateur.errors import ConfigurationError, DataError, MissingExtraError, one_line
from secateur.paths import checked
from secateur.tasks.columns import rename
from secateur.tasks.files import FORMATS, file_format, find_splits, read_tables, require_format
from secateur.tasks.glue import named_task, require_task
from secateur.tasks.hub import hub
from secateur.tasks.image_files import is_album
from secateur.tasks.task import Task

if TYPE_CHECKING:
    import pandas as pd

#: A folder in which named tasks are looked for before the hub: `<folder>/glue/rte` or `<folder>/rte`.
DATA_VARIABLE = "SECATEUR_DATA"


@dataclass(frozen=True)
class Source:
    """`files` by split, or none where the data are on the hub; `entry` where the task has a name."""

    name: str
    where: str
    entry: Task | None
    files: dict[str, list[Path]] | None

    @property
    def plain_text(self) -> bool:
        """Whether the files are plain text; raises DataError where only some are."""
        formats = {file_format(path) for paths in (self.files or {}).values() for path in paths}
        if "text" in formats and len(formats) > 1:
            raise DataError(f"`{self.where}` mixes plain text with tables: give all splits in one format.")
        return formats == {"text"}

    def language(self, kind: str | None) -> bool:
        """Whether it is read as text to go on with, where the user asks for `kind` or does not say."""
        named = self.entry.kind if self.entry is not None else None
        return self.plain_text or (kind or named) == "language_modelling"

    def path(self, split: str) -> str:
        """What to call a split in a message."""
        return f"{self.where} ({split})" if self.files is None else str(self.files[split][0])


def resolve(data: str | Path) -> Source:
    """What `data` means. Reads file names only.

    Raises UnknownNameError for a name of no task, DataError for a path that is not there, of no known format, or without a
    training file.
    """
    path = checked(data, DataError)
    if path.is_dir():
        name = path.resolve().name
        try:
            return Source(name, str(path), named_task(name), find_splits(path))
        except DataError:
            refuse_images(data)
            raise
    refuse_images(data)
    if path.exists():
        require_format(path)
        return Source(path.name.split(".")[0], str(path), None, {"train": [path]})
    entry = named_task(str(data)) if isinstance(data, str) else None
    if entry is None:
        if isinstance(data, Path) or _like_path(data):
            raise DataError(f"`{data}` does not exist: no such file or folder.")
        entry = require_task(data)
    local = os.environ.get(DATA_VARIABLE)
    for name in ("glue/" + entry.name, entry.name, str(data)) if local else ():
        if (folder := Path(local or "").expanduser() / name).is_dir():
            return Source(entry.name, str(folder), entry, find_splits(folder))
    return Source(entry.name, str(data), entry, None)


def _like_path(data: str) -> bool:
    if re.match(r"[./~]", data) or "\\" in data or Path(data.removesuffix(".gz")).suffix in FORMATS:
        return True
    return "/" in data and not data.lower().startswith("glue/")


def refuse_images(data: str | Path) -> None:
    """Raises DataError where the data can only be images."""
    if is_album(data):
        raise DataError(f"`{data}` is a data set of images: it needs a model and a kind of task that read images.")


def refuse_labels(source: Source, kind: str | None) -> None:
    """Raises ConfigurationError where plain text is to be read as a `kind` that needs labels."""
    if source.plain_text and kind not in (None, "language_modelling"):
        raise ConfigurationError(
            f"`kind` is {kind}, but `{source.where}` is plain text, which has no labels: only language_modelling fits."
        )


def _shelf(name: str) -> str:
    """How to give the task's files once and for all."""
    local = os.environ.get(DATA_VARIABLE)
    if local:
        return f"put one named {name} into `{local}`, as {DATA_VARIABLE} says"
    return f"set {DATA_VARIABLE} to a folder of such folders"


def read(source: Source) -> dict[str, pd.DataFrame]:
    """Split → table. From the hub: train, and as `validation` the split that the task's entry names."""
    if source.files is not None:
        return {split: rename(read_tables(paths), source.entry) for split, paths in source.files.items()}
    assert source.entry is not None
    assert source.entry.hub is not None
    try:
        import datasets
    except ImportError:
        raise MissingExtraError("datasets", "hub") from None
    name, configuration = source.entry.hub
    splits = {"train": "train", "validation": source.entry.evaluation}
    if source.entry.kind == "language_modelling" and source.entry.evaluation == "test":
        splits |= {"validation": "validation", "test": "test"}
    try:
        with hub():
            return {ours: datasets.load_dataset(name, configuration, split=t).to_pandas() for ours, t in splits.items()}
    except (OSError, ValueError, RuntimeError) as error:  # no network, no such data set, a damaged cache
        raise DataError(
            f"could not load `{name}` from the hub: {one_line(error)}. "
            f"Give a local folder with train and dev files, or {_shelf(source.entry.name)}."
        ) from error
