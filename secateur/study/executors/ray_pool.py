"""Workers on a Ray cluster that do one task after the other. What a task needs is put into the object store once."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from types import TracebackType
from typing import Any, Self

import numpy as np

from secateur import __version__
from secateur.errors import ConfigurationError, SecateurError, StudyError, one_line
from secateur.study.executors.ray_cluster import Place, RayCluster

#: How often a task is begun before the worker that dies of it is its failure; how many workers in a row may fail to start.
ATTEMPTS, STARTS = 2, 3
#: Seconds after which a wait looks whether the workers have printed something.
LOOK = 1.0
#: Seconds that what workers have printed last has to arrive.
LAST = 0.3

#: Told of an event, with its fields: `RunLog.write` is one.
Note = Callable[..., None]


@dataclass(frozen=True)
class Lost:
    """A task that ended no worker's way: those that did it died, for this reason."""

    reason: str


@dataclass(frozen=True)
class Work:
    """What workers do: a function ("module:function") is called with what is `given` and with the arrays; what it returns is
    called with one task after the other."""

    make: str
    given: Any = None
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())


@dataclass
class _Hired:
    """One worker as the driver sees it."""

    actor: Any
    place: Place
    task: tuple[Hashable, Any] | None = None
    host: str = ""
    pid: int = 0


class RayPool:
    """As many workers as there are places. Use it as a context: leaving it ends them; the cluster is the caller's.

    A worker that dies (killed, out of memory, with its node) is replaced, and its task begun again by whoever is free; the
    second time the task is lost. A worker gets a task once it has started: one that waits for room on a busy cluster holds
    none. `note` is told of workers that start and end, and of every line that they print.
    """

    def __init__(self, cluster: RayCluster, work: Work, places: list[Place], note: Note | None = None) -> None:
        self._cluster, self.ray = cluster, cluster.ray
        self.note: Note = (lambda *_, **__: None) if note is None else note
        self._free = list(places)
        said = os.environ.get("OMP_NUM_THREADS", "")  # the user's own number stays
        self._threads = int(said) if said.isdigit() else max(1, int(places[0].cpus))
        self._parts = {name: self.ray.put(array) for name, array in work.arrays.items()}  # bytes travel once to each node
        self._work = work.make, self.ray.put(work.given), self._parts
        self._actor = self.ray.remote(_Worker)
        self._waiting: deque[tuple[Hashable, Any]] = deque()
        self._starting: dict[Any, _Hired] = {}
        self._idle: list[_Hired] = []
        self._busy: dict[Any, _Hired] = {}
        self._attempts: dict[Hashable, int] = {}
        self._faults = 0
        self._lines = _Lines(cluster)

    def submit(self, name: Hashable, task: Any) -> None:
        """Begin a task, or let it wait for a worker."""
        self._waiting.append((name, task))
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting and self._idle:
            hired = self._idle.pop()
            hired.task = self._waiting.popleft()
            name, task = hired.task
            self._attempts[name] = self._attempts.get(name, 0) + 1
            self._busy[hired.actor.work.remote(task)] = hired
        while self._free and len(self._starting) < len(self._waiting):
            place = self._free.pop(0)
            given = (*self._work, self._threads, os.getcwd())
            actor = self._actor.options(**place.options(), max_restarts=0, max_task_retries=0).remote(*given)
            self._starting[actor.facts.remote()] = _Hired(actor, place)

    def take(self) -> tuple[Hashable, Any]:
        """The name of the next task that has ended, and what came of it, or `Lost`; waits for one.

        Raises the SecateurError that ended it; StudyError where no task is there or no worker can start.
        """
        if not (self._busy or self._waiting):
            raise StudyError("no task was submitted, so none can end.")
        while True:
            self._hand_out()
            ready, _ = self.ray.wait([*self._busy, *self._starting], num_returns=1, timeout=LOOK)
            self._lines.tell(self.note)
            if not ready:
                self._move()
            for reference in ready:
                if reference in self._starting:
                    self._started(reference)
                elif (ended := self._ended(reference)) is not None:
                    return ended

    def _move(self) -> None:
        """Workers that wait for room that no node has any more are started elsewhere."""
        for reference, hired in list(self._starting.items()):
            if (place := self._cluster.still(hired.place)) != hired.place:
                del self._starting[reference]
                self._end(hired)
                self._free.append(place)

    def _started(self, reference: Any) -> None:
        hired = self._starting.pop(reference)
        try:
            facts = self.ray.get(reference)
        except Exception as error:
            self._end(hired)
            self._faults += 1
            self.note("worker failed to start", reason=_said(error))
            if hired.place.node is None and self._faults < STARTS:
                self._free.append(hired.place)
            elif not (self._free or self._idle or self._busy or self._starting):
                raise StudyError(f"no worker can start on the Ray cluster: {_said(error)}.") from error
            return
        self._faults = 0
        hired.host, hired.pid = facts["host"], facts["pid"]
        if facts["version"] != (mine := versions()):
            self._end(hired)
            theirs = ", ".join(f"{name} {v}" for name, v in facts["version"].items())
            here = ", ".join(f"{name} {v}" for name, v in mine.items())
            raise ConfigurationError(f"`{hired.host}` has {theirs}, but this machine {here}. Install the same on all nodes.")
        self.note("worker started", host=hired.host, pid=hired.pid)
        self._idle.append(hired)

    def _ended(self, reference: Any) -> tuple[Hashable, Any] | None:
        """The end of a task; None where it begins again."""
        hired = self._busy.pop(reference)
        assert hired.task is not None
        name, _ = hired.task
        try:
            found = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:  # what was found cannot be sent
            self._rest(hired, name)
            raise StudyError(f"what a worker found could not be sent: {_said(error)}.") from error
        except self.ray.exceptions.RayError as error:
            return self._lost(hired, _said(error))
        self._rest(hired, name)
        if isinstance(found, BaseException):
            raise found
        return name, found

    def _rest(self, hired: _Hired, name: Hashable) -> None:
        del self._attempts[name]
        hired.task = None
        self._idle.append(hired)
        self._hand_out()

    def _lost(self, hired: _Hired, reason: str) -> tuple[Hashable, Any] | None:
        """What becomes of the task of a worker that died: another attempt, or its failure."""
        assert hired.task is not None
        name, _ = hired.task
        self._end(hired)
        self._free.append(hired.place)
        again = self._attempts[name] < ATTEMPTS
        self.note("worker lost", host=hired.host, pid=hired.pid, reason=reason, again=again)
        if again:
            self._waiting.appendleft(hired.task)
            return None
        del self._attempts[name]
        return name, Lost(reason)

    def _end(self, hired: _Hired) -> None:
        with suppress(Exception):  # it is gone already
            self.ray.kill(hired.actor)

    def close(self) -> None:
        """End all workers; no task that was begun ends any more."""
        if self._idle or self._busy:
            time.sleep(LAST)
        for hired in (*self._starting.values(), *self._idle, *self._busy.values()):
            self._end(hired)
            self._free.append(hired.place)
        for kept in (self._starting, self._idle, self._busy, self._waiting, self._attempts):
            kept.clear()
        self._lines.tell(self.note)
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Lines:
    """What the workers of all nodes print, as Ray brings it to the driver."""

    _streams: Any = None

    def __init__(self, cluster: RayCluster) -> None:
        self._heard: deque[Mapping[str, Any]] = deque()
        self._job = cluster.ray.get_runtime_context().get_job_id()
        # Not a public part of Ray: where another version lacks it, Ray prints the lines, with the worker before each.
        with suppress(ImportError):
            logging = import_module("ray._private.ray_logging")
            self._streams = getattr(logging, "global_worker_stdstream_dispatcher", None)
        if self._streams is not None:
            self._streams.add_handler(str(id(self)), self._heard.append)
            if cluster.own:  # what is in the log need not go through the progress bar as well
                self._streams.remove_handler("ray_print_logs")

    def tell(self, note: Note) -> None:
        """Tell what was heard since."""
        while self._heard:
            heard = self._heard.popleft()
            if heard.get("job") == self._job:
                for line in heard["lines"]:
                    stream = "stderr" if heard.get("is_err") else "stdout"
                    note("printed", host=heard.get("ip"), pid=int(heard["pid"]), stream=stream, line=str(line))

    def close(self) -> None:
        if self._streams is not None:
            self._streams.remove_handler(str(id(self)))


class _Worker:
    """The process on the cluster: what it needs is made with its first task, and kept."""

    def __init__(self, make: str, given: Any, parts: Mapping[str, Any], threads: int, folder: str) -> None:
        from secateur.study.executors.processes import WORKER

        # Libraries that are not loaded yet read them as they load.
        os.environ |= {WORKER: "1", "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        with suppress(OSError):  # relative paths in settings are the driver's
            os.chdir(folder)
        _print_whole_lines()
        self._make, self._given, self._parts, self._threads = make, given, dict(parts), threads
        self._do: Callable[[Any], Any] | None = None

    def facts(self) -> dict[str, Any]:
        """Who is there."""
        return {"host": platform.node(), "pid": os.getpid(), "version": versions()}

    def work(self, task: Any) -> Any:
        """What comes of a task, or the error that ends it."""
        try:
            if self._do is None:
                self._do = self._made()
            return self._do(task)
        except SecateurError as error:
            return error
        except Exception as error:
            doing = "do its task" if self._do else "be made ready"
            return StudyError(f"a worker on {platform.node()} could not {doing}: {type(error).__name__}: {one_line(error)}.")

    def _made(self) -> Callable[[Any], Any]:
        import ray
        from threadpoolctl import threadpool_limits

        module, _, name = self._make.partition(":")
        # Views of the object store, which all workers of a node share: nothing is copied, and nobody can write to them.
        arrays = {part: ray.get(reference) for part, reference in self._parts.items()}
        made: Callable[[Any], Any] = getattr(import_module(module), name)(self._given, **arrays)
        self._limits = threadpool_limits(self._threads)  # those that were loaded before us have read other numbers
        return made


def _print_whole_lines() -> None:
    """Ray flushes after every piece that is written, and `print` writes a line in several: others would read half of it."""
    for name in ("stdout", "stderr"):
        setattr(sys, name, open(getattr(sys, name).fileno(), "a", buffering=1, encoding="utf-8", closefd=False))  # noqa: SIM115


def versions() -> dict[str, str]:
    """What driver and workers must have in common."""
    return {"secateur": __version__, "Python": ".".join(map(str, sys.version_info[:2]))}


def _said(error: BaseException) -> str:
    """Why a worker died, in a few words of Ray's many."""
    text = str(error)
    if "node" in text.lower() and ("has died" in text or "died" in text) and "worker process has died" not in text:
        return "its node died"
    if "unavailable" in text:
        return "its node cannot be reached"
    if "worker process has died" in text or "OOM" in text or "out of memory" in text.lower():
        return "its process died; out of memory?"
    return one_line(error, 200)
