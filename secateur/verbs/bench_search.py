"""`secateur bench search`: how searchers compare on tables of networks that were evaluated before."""

from __future__ import annotations

from secateur.runs.bench.search import SearchSettings, compare_searchers
from secateur.runs.bench.search_results import SearchStudy
from secateur.runs.progress import Progress
from secateur.verbs.signature import Shown, takes, tells


@tells
@takes(SearchSettings)
def bench_search(settings: SearchSettings, *, progress: Shown = True) -> SearchStudy:
    """Let searchers search tables of evaluated networks with many seeds, and compare what they find: no network is trained.

    Raises ConfigurationError for settings out of range or searchers that cannot serve a table, DataError for a table that
    cannot be used.
    """
    return compare_searchers(settings, Progress(progress))
