"""`secateur bench extrapolators`: how well the ends of trainings are told from their beginnings."""

from __future__ import annotations

from secateur.runs.bench.extrapolators import ExtrapolatorSettings, ExtrapolatorStudy, compare_extrapolators
from secateur.runs.progress import Progress
from secateur.verbs.signature import Shown, takes, tells


@tells
@takes(ExtrapolatorSettings)
def bench_extrapolators(settings: ExtrapolatorSettings, *, progress: Shown = True) -> ExtrapolatorStudy:
    """Extrapolate the learning curves of tables from their beginnings, and compare how well their ends are ranked and how well
    deviations fit.

    Raises ConfigurationError for settings out of range, DataError for a table without whole curves.
    """
    return compare_extrapolators(settings, Progress(progress))
