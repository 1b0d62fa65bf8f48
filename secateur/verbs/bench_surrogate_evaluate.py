"""`secateur bench surrogate evaluate`: how models of learning curves compare on networks held out."""

from __future__ import annotations

from secateur.runs.bench.surrogate.evaluating import evaluate
from secateur.runs.bench.surrogate.results import SurrogateStudy
from secateur.runs.bench.surrogate.settings import EvaluateSettings
from secateur.runs.progress import Progress
from secateur.verbs.bench_surrogate_fit import TableName
from secateur.verbs.signature import Shown, takes, tells


@tells
@takes(EvaluateSettings)
def bench_surrogate_evaluate(settings: EvaluateSettings, table: TableName, *, progress: Shown = True) -> SurrogateStudy:
    """Predict the learning curves of networks held out with every compressor, regressor and model of noise, and compare them.

    Raises DataError for a table without whole curves, ConfigurationError for settings out of range and too few networks.
    """
    return evaluate(table, settings, Progress(progress))
