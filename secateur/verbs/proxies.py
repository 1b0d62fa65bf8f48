"""`secateur bench proxies`: how well proxies rank architectures that were trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.errors import ConfigurationError
from secateur.runs.bench.image_proxies import ImageProxyStudy, check_images, judge_image_proxies
from secateur.runs.bench.proxies import ProxySettings, judge_proxies
from secateur.runs.bench.results import ProxyStudy
from secateur.runs.progress import Progress
from secateur.verbs.signature import Shown, takes, tells

TableFile = Annotated[Path | None, typer.Argument(help="Trained architectures: a Parquet, CSV or JSON Lines file.")]


@tells
@takes(ProxySettings)
def proxies(settings: ProxySettings, table: TableFile = None, *, progress: Shown = True) -> ProxyStudy | ImageProxyStudy:
    """Score trained architectures with every proxy, and report how well each ranks them and what it costs.

    With the space `mobilenet` and images there is no table: networks are drawn, scored, trained and ranked.

    Raises ConfigurationError for settings out of range or unknown proxies, DataError for a table, a text or images that cannot
    be used.
    """
    check_images(settings, table)
    if settings.space == "mobilenet":
        return judge_image_proxies(settings, settings.proxy, settings.seed, Progress(progress))
    if table is None:
        raise ConfigurationError("a table of trained architectures must be given, or --space mobilenet and --data.")
    return judge_proxies(Path(table), settings, Progress(progress))
