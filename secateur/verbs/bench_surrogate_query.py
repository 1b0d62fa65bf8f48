"""`secateur bench surrogate query`: what a surrogate says of an architecture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.runs.bench.surrogate.fitting import Answer, query
from secateur.verbs.documented import plainly
from secateur.verbs.signature import tells

SurrogateFolder = Annotated[Path, typer.Argument(help="A folder that `secateur bench surrogate fit` made.")]
Asked = Annotated[str, typer.Argument(help="An architecture as JSON, or a file with it: its choices are enough.")]
Noise = Annotated[
    int | None, typer.Option(min=0, help="Tell one training with the noise of this seed; by default the expected curve.")
]
Numbers = Annotated[
    list[str] | None, typer.Option(help="A number that the surrogate reads beside architectures: loss@250=3.9. Repeatable.")
]


@tells
@plainly
def bench_surrogate_query(folder: SurrogateFolder, architecture: Asked, *, seed: Noise = None, told: Numbers = None) -> Answer:
    """Tell the learning curve that a surrogate expects of an architecture, and where nine of ten trainings lie by its model of
    noise.

    Raises StudyError for a folder without a surrogate, ConfigurationError for an architecture of another space or numbers that
    are missing.
    """
    return query(folder, architecture, seed, told or ())
