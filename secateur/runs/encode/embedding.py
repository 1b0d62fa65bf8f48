"""`secateur encode embed`: the vectors that a trained encoding gives, in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.encodings.learned import Trained
from secateur.errors import ConfigurationError
from secateur.runs.encode.material import MOST, made_space
from secateur.tables.opening import open_table
from secateur.tables.parquet import write_parquet


@dataclass(frozen=True)
class Embedded:
    """A file of vectors: how many there are, and how long each is."""

    file: Path
    architectures: int
    dimensions: int

    def as_dict(self) -> dict[str, Any]:
        return vars(self)

    def __str__(self) -> str:
        return f"{self.architectures:,} architectures, {self.dimensions} numbers each: {self.file}"


def embed(folder: Path, table: str | None, to: Path) -> Embedded:
    """Write a row for each architecture of a table, or of all of the space that the encoding was trained on: `architecture`,
    `key` and `embedding`.

    Raises ConfigurationError where the encoding cannot serve the table or the space is too large, StudyError, DataError.
    """
    if to.suffix != ".parquet":
        raise ConfigurationError(f"`to` must be a Parquet file such as embeddings.parquet, got `{to}`.")
    trained = Trained(folder)
    if table is not None:
        opened = open_table(table)
        space, architectures = opened.space, list({a.key: a for a in opened.table.architectures}.values())
    else:
        space = made_space(trained.card["space"], trained.card["options"])
        if space.size() > MOST:
            raise ConfigurationError(f"`{space.name}` has {space.size():,} architectures, too many for a file: give --table.")
        architectures = list(space.every())
    encoding = trained(space)
    vectors = encoding.encode(architectures)
    rows = [
        {"architecture": architecture, "key": architecture.key, "embedding": vector}
        for architecture, vector in zip(architectures, vectors.tolist(), strict=True)
    ]
    said = {"space": space.name, "encoding": {name: trained.card[name] for name in ("method", "space", "options", "seed")}}
    write_parquet(to, rows, said)
    return Embedded(to, len(rows), encoding.dimensions)
