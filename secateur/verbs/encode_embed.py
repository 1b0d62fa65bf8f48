"""`secateur encode embed`: architectures as the vectors of a trained encoding."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.runs.encode.embedding import Embedded, embed
from secateur.verbs.documented import plainly
from secateur.verbs.signature import tells

EncodingFolder = Annotated[Path, typer.Argument(help="A folder that `secateur encode pretrain` made.")]
OfTable = Annotated[
    str | None, typer.Option(help="A table by name or a file; by default all of the space that it was trained on.")
]
ParquetFile = Annotated[Path, typer.Option(help="The Parquet file to write.")]


@tells
@plainly
def encode_embed(folder: EncodingFolder, *, to: ParquetFile, table: OfTable = None) -> Embedded:
    """Write the vectors of all architectures of a table or a space: a row each, with `architecture`, `key` and `embedding`.

    Raises ConfigurationError where the encoding cannot serve the table or the space is too large, StudyError for a folder that
    holds no trained encoding, DataError for a table that cannot be used.
    """
    return embed(folder, table, to)
