"""`secateur proxies`: how well proxies rank architectures that were trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.runs.bench.proxies import ProxySettings, judge_proxies
from secateur.runs.bench.results import ProxyStudy
from secateur.runs.progress import Progress


def proxies(
    table: Annotated[Path, typer.Argument(help="Trained architectures: a Parquet, CSV or JSON-lines file.")],
    *,
    to: Annotated[
        Path, typer.Option(help="Folder for scores, rankings and the page; scores that are there are not computed again.")
    ],
    proxy: Annotated[
        list[str] | None, typer.Option(help="A proxy, or partial_training; repeat it for several. All by default.")
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Only rows of this source (random, homogeneous, search, …); repeat it for several.")
    ] = None,
    partial: Annotated[
        list[float] | None,
        typer.Option(help="Per cent of the steps for partial training; repeat it. From 1.25 to 87.5 by default."),
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="Real text for the proxies that need data: a file or a folder. Random tokens without it.")
    ] = None,
    tokenizer: Annotated[str | None, typer.Option(help="The text's tokenizer; without it one is trained on the text.")] = None,
    vocabulary: Annotated[
        int | None, typer.Option(help="Tokens of the networks; by default the table's column `vocabulary`.")
    ] = None,
    batch: Annotated[int, typer.Option(help="Texts in the batch that proxies see.")] = 16,
    length: Annotated[int, typer.Option(help="Tokens per text.")] = 64,
    seed: Annotated[int, typer.Option(help="Of initial weights, batch and bootstrap.")] = 0,
    progress: Annotated[bool, typer.Option("--progress/--quiet", help="Show progress.")] = True,
) -> ProxyStudy:
    """Score trained architectures by every proxy, and tell how well each ranks them and what it costs.

    Raises ConfigurationError for settings out of range or unknown proxies, DataError for a table or text that cannot be used.
    """
    given = {**locals(), "table": Path(table), "to": Path(to)}
    return judge_proxies(ProxySettings(**{name: given[name] for name in ProxySettings.hints()}), Progress(progress))
