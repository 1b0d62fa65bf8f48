"""Trials in processes of their own, side by side."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from secateur.devices.cores import available_cores
from secateur.errors import ConfigurationError, SecateurError, StudyError
from secateur.estimators.together import Known, Outcome
from secateur.settings import MOST_THREADS
from secateur.study.executors.base import Executor, Recipe
from secateur.trial import Status, Trial

#: The variable that tells a worker's interpreter what it is, before it has loaded anything.
WORKER = "SECATEUR_WORKER"
#: What a worker says first.
READY = "ready"
#: How often a trial is begun before the process that dies of it is its failure.
ATTEMPTS = 2

Task = tuple[Trial, Known, bool]


class Processes(Executor):
    """`workers` processes, each with estimators of its own, made by the recipe.

    A process that dies (killed, out of memory) is replaced and its trial begun again; the second time the trial has failed.
    Each process computes with its share of the cores. `environments` has variables for each of them, such as its GPU: whoever
    takes the place of one that died is told the same.
    """

    def __init__(self, recipe: Recipe, workers: int, environments: Sequence[Mapping[str, str]] = ()) -> None:
        if workers < 1:
            raise ConfigurationError(f"`workers` must be at least 1, got {workers}.")
        if workers > MOST_THREADS:
            raise ConfigurationError(f"`workers` must be at most {MOST_THREADS} on this machine, got {workers}.")
        self.recipe, self.workers = recipe, workers
        self._threads = max(1, len(available_cores()) // workers)
        self._environments = list(environments) or [{}] * workers
        self._places = list(range(workers))
        self._waiting: deque[Task] = deque()
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, _Worker] = {}
        self._attempts: dict[int | None, int] = {}

    def submit(self, trial: Trial, known: Known, extras: bool) -> None:
        self._waiting.append((trial, dict(known), extras))
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting and (self._idle or len(self._busy) < self.workers):
            worker = self._idle.pop() if self._idle else self._started()
            task = self._waiting.popleft()
            self._attempts[task[0].id] = self._attempts.get(task[0].id, 0) + 1
            self._busy[worker.pipe] = worker
            worker.begin(task)

    def _started(self) -> _Worker:
        place = self._places.pop(0)
        return _Worker(self.recipe, self._threads, place, self._environments[place])

    def take(self) -> Outcome:
        if not self._busy:
            raise StudyError("no trial was submitted, so none can end.")
        while True:
            ready = next(pipe for pipe in wait(list(self._busy)) if isinstance(pipe, Connection))
            worker = self._busy[ready]  # known until it has answered, so that `close` ends it whatever happens here
            trial = worker.task[0]
            try:
                found = ready.recv()
            except (EOFError, OSError):
                del self._busy[ready]
                worker.process.join(1)  # it has ended: its own exit code, not that of being ended
                code = worker.process.exitcode
                worker.end()
                self._places.append(worker.place)
                if not worker.ready and (code is None or code >= 0):  # not killed: it ended by itself
                    raise StudyError(
                        f"a worker process could not start (exit code {code}). A script that uses several workers needs "
                        'the usual `if __name__ == "__main__":` around its calls.'
                    ) from None
                lost = self._lost(worker, code)
                self._hand_out()
                if lost is None:
                    continue
                return lost
            if found == READY:
                worker.ready = True
                continue
            del self._busy[ready]
            self._idle.append(worker)
            self._hand_out()
            self._attempts.pop(trial.id, None)
            if isinstance(found, BaseException):
                raise found
            outcome: Outcome = found
            return outcome

    def _lost(self, worker: _Worker, code: int | None) -> Outcome | None:
        """What becomes of the trial of a process that died: another attempt, or its failure."""
        trial = worker.task[0]
        if self._attempts[trial.id] < ATTEMPTS:
            self._waiting.appendleft(worker.task)
            return None
        del self._attempts[trial.id]
        reason = f"the process that evaluated it died {ATTEMPTS} times (exit code {code}); out of memory?"
        return Outcome(replace(trial, status=Status.FAILED, reason=reason))

    def close(self) -> None:
        for worker in (*self._idle, *self._busy.values()):
            worker.end()
        self._places = list(range(self.workers))
        self._idle.clear()
        self._busy.clear()
        self._waiting.clear()
        self._attempts.clear()


class _Worker:
    """One process, and the trial it is at."""

    task: Task

    def __init__(self, recipe: Recipe, threads: int, place: int, environment: Mapping[str, str]) -> None:
        # A new interpreter: a fork would copy the locks and threads of the libraries that are loaded here.
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(other, recipe), daemon=True)
        self.ready, self.place = False, place
        mine = {WORKER: "1", **environment}
        if "OMP_NUM_THREADS" not in os.environ:  # the user's own number stays
            mine |= {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        before = {name: os.environ.get(name) for name in mine}
        os.environ.update(mine)  # libraries read them as they load, which they do before any line of ours
        try:
            self.process.start()
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
        other.close()

    def begin(self, task: Task) -> None:
        self.task = task
        with suppress(OSError):  # it has died already: `take` will notice
            self.pipe.send(task)

    def end(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def _serve(pipe: Any, recipe: Recipe) -> None:
    """The life of a worker: make the estimators, then one trial after the other until nobody is there to send one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    pipe.send(READY)
    together = None
    while True:
        try:
            trial, known, extras = pipe.recv()
        except (EOFError, OSError):
            return
        found: Outcome | BaseException
        try:
            together = together or recipe.make()
            found = together.outcome(trial, known, extras)
        except SecateurError as error:
            found = error
        except Exception as error:
            found = StudyError(f"a worker could not make its estimators: {type(error).__name__}: {error}")
        try:
            pipe.send(found)
        except OSError:
            return
        except Exception as error:  # what an estimator gave cannot be sent
            pipe.send(StudyError(f"what a worker found could not be sent: {type(error).__name__}: {error}"))
