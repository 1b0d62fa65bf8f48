"""`secateur bench predictors`: how well predictors rank networks of a table after a few of them."""

from __future__ import annotations

from secateur.runs.bench.predictors import PredictorSettings, compare_predictors
from secateur.runs.bench.predictors_results import PredictorStudy
from secateur.runs.progress import Progress
from secateur.verbs.signature import Shown, takes, tells


@tells
@takes(PredictorSettings)
def bench_predictors(settings: PredictorSettings, *, progress: Shown = True) -> PredictorStudy:
    """Fit predictors to a few networks of tables and compare how they rank, how far off they are and how honestly they doubt.

    Raises ConfigurationError for settings out of range or predictors that cannot serve, DataError for a table that cannot be
    used.
    """
    return compare_predictors(settings, Progress(progress))
