"""The written forms of a run's sub-network, judged: scored on the run's validation data and timed as its latencies are."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.anatomy.inputs import longest_text, read_length
from secateur.devices.setup import Setup
from secateur.errors import SecateurError, StudyError, one_line
from secateur.export.scored import Forms, Judge
from secateur.rng import generator
from secateur.runs.progress import Progress

if TYPE_CHECKING:
    from secateur.runs.prune.run import PruneRun
    from secateur.tasks import TaskData


def judging(run: PruneRun, progress: Progress, most: int | None = None, *, beside: bool = True) -> Judge:
    """A judge of forms, on at most so many validation examples, in turns with the unpruned network unless `beside` says no.
    Where the run's data are no longer there, forms are timed only, and a note says why."""

    @cache
    def scored_on() -> tuple[tuple[Any, list[Any]] | None, str]:
        try:
            return _batches(run, most), ""
        except SecateurError as error:
            return None, one_line(error)

    def judge(network: Any, folder: Path) -> Forms:
        from secateur.estimators.forms import judge_forms

        c = run.configuration
        length = read_length(network.config, min(c.latency_length, longest_text(network.config)))
        setup = Setup(threads=c.threads, batch=c.latency_batch, length=length, kind=run.task["kind"])
        data, unscored = scored_on()
        with progress.bar("scoring the formats") as advance:
            return judge_forms(network, folder, setup, data, unscored, advance, run.supernet.model if beside else None)

    return judge


def _batches(run: PruneRun, most: int | None) -> tuple[Any, list[Any]]:
    """The task and batches of the data that the run began with. Raises DataError or StudyError where they are no longer
    there."""
    c = run.configuration
    data: TaskData = c.task_data(run.tokenizer)
    if run.store.get_meta("data") != data.fingerprint:
        raise StudyError(f"`{c.data}` has changed since the run began")
    if most is None or most >= len(data.validation):
        return data.task, list(data.batches("validation", c.evaluation_batch))
    # a random part: the data may be sorted by label
    some = generator(c.seed, "forms").permutation(len(data.validation))[:most]
    return data.task, list(data.batches(data.validation.chosen(some), c.evaluation_batch))
