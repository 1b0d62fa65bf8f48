"""The written forms of a run's sub-network, judged: scored on the run's validation data and timed as its latencies are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.anatomy.inputs import longest_text
from secateur.devices.setup import Setup
from secateur.errors import SecateurError, StudyError, one_line
from secateur.export.scored import Forms, Judge
from secateur.runs.progress import Progress

if TYPE_CHECKING:
    from secateur.runs.prune.run import PruneRun
    from secateur.tasks import TaskData


def judging(run: PruneRun, progress: Progress) -> Judge:
    """A judge of forms. Where the run's data are no longer there, they are timed only, and a note says why."""

    def judge(network: Any, folder: Path) -> Forms:
        from secateur.estimators.forms import judge_forms

        c = run.configuration
        length = min(c.latency_length, longest_text(network.config))
        setup = Setup(threads=c.threads, batch=c.latency_batch, length=length, kind=run.task["kind"])
        data, unscored = None, ""
        try:
            found = _data(run)
            data = found.task, list(found.batches("validation", c.evaluation_batch))
        except SecateurError as error:
            unscored = one_line(error)
        with progress.bar("scoring the formats") as advance:
            return judge_forms(network, folder, setup, data, unscored, advance)

    return judge


def _data(run: PruneRun) -> TaskData:
    """The data that the run began with. Raises DataError or StudyError where they are no longer there."""
    data: TaskData = run.configuration.task_data(run.tokenizer)
    if run.store.get_meta("data") != data.fingerprint:
        raise StudyError(f"`{run.configuration.data}` has changed since the run began")
    return data
