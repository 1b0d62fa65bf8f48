"""Tasks in processes of their own, side by side: each has one thread, and is made ready once."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from selectors import EVENT_READ, DefaultSelector
from typing import Any

from secateur.devices.cores import available_cores
from secateur.errors import StudyError
from secateur.study.executors.ray_cluster import Place, RayCluster
from secateur.study.executors.ray_pool import Lost, RayPool, Work

#: Libraries read these as they load.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
#: A new interpreter that does not run the user's script again. It has our path once it has started: a script's folder may hold
#: a file that is called as a module of Python's own is.
_CODE = "import sys; sys.path[:] = sys.argv[1:]; from secateur.runs.bench.workers import serve; serve()"


@dataclass(frozen=True)
class Crew:
    """Who does the tasks: so many workers (by default one per core), in processes of this machine or on a Ray cluster."""

    workers: int | None = None
    executor: str = "processes"
    address: str | None = None

    @classmethod
    def of(cls, settings: Any) -> Crew:
        return cls(settings.workers, settings.executor, settings.address)


def each(prepare: str, given: Any, tasks: Sequence[Any], crew: Crew, here: Callable[[Any], Any]) -> Iterator[tuple[int, Any]]:
    """The place of each task and what came of it, as they end: by others, see `side_by_side` and `on_ray`; or, where one
    process is enough, by calling what would be prepared `here`."""
    several = min(crew.workers or len(available_cores()), len(tasks))
    if crew.executor == "ray" and tasks:
        yield from on_ray(prepare, given, tasks, several, crew.address)
        return
    if several > 1:
        yield from side_by_side(prepare, given, tasks, several)
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # as in a worker: sums in another order would be another result
        for place, task in enumerate(tasks):
            yield place, here(task)


def side_by_side(prepare: str, given: Any, tasks: Sequence[Any], workers: int) -> Iterator[tuple[int, Any]]:
    """The place of each task and what came of it, as they end.

    Every process calls `prepare` ("module:function") with what is `given`, and then what that returned with one task after the
    other. An error of a task is raised here.
    """
    waiting = iter(enumerate(tasks))
    running = [_Worker(prepare, given) for _ in range(min(workers, len(tasks)))]
    try:
        with DefaultSelector() as selector:
            for worker, (place, task) in zip(running, waiting, strict=False):
                worker.begin(place, task)
                selector.register(worker.answers, EVENT_READ, worker)
            while selector.get_map():
                for key, _ in selector.select():
                    ready: _Worker = key.data
                    place, found = ready.place, ready.take()
                    following = next(waiting, None)
                    if following is None:
                        selector.unregister(ready.answers)
                    else:
                        ready.begin(*following)
                    yield place, found
    finally:
        for worker in running:
            worker.end()


def on_ray(
    prepare: str, given: Any, tasks: Sequence[Any], workers: int, address: str | None = None
) -> Iterator[tuple[int, Any]]:
    """The same on a Ray cluster, where a worker or node that dies is replaced and its task begun again.

    Raises StudyError where workers died of one task again and again, ConfigurationError where the cluster does not answer or
    has no room.
    """
    cluster = RayCluster(address, workers=workers)
    try:
        places = [Place(1)] * len(cluster.places(workers))  # one thread each
        with RayPool(cluster, Work(prepare, given), places) as pool:
            for place, task in enumerate(tasks):
                pool.submit(place, task)
            for _ in tasks:
                name, found = pool.take()
                if isinstance(found, Lost):
                    raise StudyError(f"the workers that did a task died again and again: {found.reason}.")
                assert isinstance(name, int)
                yield name, found
    finally:
        cluster.leave()


class _Worker:
    """One process, and the place of the task it is at."""

    place: int

    def __init__(self, prepare: str, given: Any) -> None:
        environment = {**os.environ, **ONE_THREAD}
        command = [sys.executable, "-c", _CODE, *sys.path]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._tasks, self.answers = self._process.stdin, self._process.stdout
        self._send((prepare, given))

    def begin(self, place: int, task: Any) -> None:
        self.place = place
        self._send(task)

    def take(self) -> Any:
        try:
            found = _read(self.answers.read)
        except EOFError:
            raise self._gone() from None
        if isinstance(found, BaseException):
            raise found
        return found

    def _send(self, message: Any) -> None:
        data = pickle.dumps(message)
        try:
            self._tasks.write(len(data).to_bytes(8, "big") + data)
        except BrokenPipeError:
            raise self._gone() from None

    def _gone(self) -> StudyError:
        code = self._process.wait()
        return StudyError(f"a worker process ended (exit code {code}); out of memory? Run the same command again.")

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._tasks.close()
        self.answers.close()


def serve() -> None:
    """The loop of a worker: what to be ready for, then tasks, until there is nothing more to read."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    work: Callable[[Any], Any] | None = None
    while True:
        try:
            message = _read(sys.stdin.buffer.read)
        except EOFError:
            return
        try:
            if work is None:
                prepare, given = message
                module, _, name = prepare.partition(":")
                work = getattr(import_module(module), name)(given)
                continue
            found = work(message)
        except Exception as error:
            found = error
        data = pickle.dumps(found)
        try:
            answers.write(len(data).to_bytes(8, "big") + data)
            answers.flush()
        except OSError:  # who asked was killed
            return


def _read(read: Callable[[int], bytes | None]) -> Any:
    """The next message. Raises EOFError where there is none."""

    def exactly(n: int) -> bytes:
        parts = b""
        while len(parts) < n:
            part = read(n - len(parts))
            if not part:
                raise EOFError
            parts += part
        return parts

    return pickle.loads(exactly(int.from_bytes(exactly(8), "big")))
