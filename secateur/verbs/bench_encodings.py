"""`secateur bench encodings`: how encodings compare in the parts of a search that depend on one."""

from __future__ import annotations

from secateur.runs.bench.encodings import EncodingSettings, compare_encodings
from secateur.runs.bench.encodings_results import EncodingStudy
from secateur.runs.progress import Progress
from secateur.verbs.signature import Shown, takes, tells


@tells
@takes(EncodingSettings)
def bench_encodings(settings: EncodingSettings, *, progress: Shown = True) -> EncodingStudy:
    """Draw, step and predict in encodings: search tables of evaluated networks with each, and compare what is found.

    Raises ConfigurationError for settings out of range or encodings that cannot serve a table, DataError for a table that
    cannot be used.
    """
    return compare_encodings(settings, Progress(progress))
