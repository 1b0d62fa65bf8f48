"""`secateur bench import`: published tables under names of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.tables.importing import Imported, import_surrogate, import_table
from secateur.verbs.documented import plainly
from secateur.verbs.signature import tells

TableFile = Annotated[Path, typer.Argument(help="A file of NAS-Bench-101 or NAS-Bench-201.")]
Named = Annotated[
    str | None, typer.Option(help="Under which name; by default nb101 or nb201; of a surrogate, nb101-surrogate.")
]
Fitted = Annotated[
    bool, typer.Option("--surrogate", help="Fit a surrogate on it, which answers for all of NAS-Bench-101's cells.")
]


@tells
@plainly
def bench_import(file: TableFile, *, name: Named = None, surrogate: Fitted = False) -> Imported:
    """Keep a published table as a Parquet file, and open it by its name from then on.

    The folder is the one that SECATEUR_TABLES names, by default one in the user's cache.

    Raises DataError for a file that cannot be read or written, ConfigurationError for a name that no table can have,
    MissingExtraError where what a surrogate needs is not installed.
    """
    return import_surrogate(file, name) if surrogate else import_table(file, name)
