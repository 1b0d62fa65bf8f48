"""`secateur bench proxies`: how well proxies rank architectures that were trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.runs.bench.proxies import ProxySettings, judge_proxies
from secateur.runs.bench.results import ProxyStudy
from secateur.runs.progress import Progress
from secateur.verbs.signature import Shown, takes, tells

TableFile = Annotated[Path, typer.Argument(help="Trained architectures: a Parquet, CSV or JSON Lines file.")]


@tells
@takes(ProxySettings)
def proxies(settings: ProxySettings, table: TableFile, *, progress: Shown = True) -> ProxyStudy:
    """Score trained architectures with every proxy, and report how well each ranks them and what it costs.

    Raises ConfigurationError for settings out of range or unknown proxies, DataError for a table or text that cannot be used.
    """
    return judge_proxies(Path(table), settings, Progress(progress))
