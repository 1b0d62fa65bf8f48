"""How long one run takes: warm-up, then repeats until the median is known well enough."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

import torch
from torch import nn

from secateur.devices.contention import Load, LoadWatch
from secateur.devices.device import describe_device, resolve_device
from secateur.devices.inputs import dummy_inputs
from secateur.devices.runtime import check_runtime, running
from secateur.errors import ConfigurationError

#: The fewest samples whose extremes enclose the median with 95 % confidence: 1 − 2 · 2⁻⁶ = 0.97.
FEWEST_FOR_INTERVAL = 6


@dataclass(frozen=True)
class Latency:
    """The time of one run, in seconds.

    `low` and `high` enclose the median with 95 % confidence (order statistics: no distribution is assumed). `spread` is the
    interquartile range over the median. `clock` says which time that is: `cpu` (the thread's CPU time, which other processes
    hardly disturb), `wall` or `cuda` (events on the GPU). Always there: `wall`, the median of the wall-clock time, and `cpu`,
    that of the process's CPU time, all its threads together. `steady` means that the interval came within the tolerance
    before the limits; `loaded` that the machine was busy, as `note` says.
    """

    median: float
    low: float
    high: float
    spread: float
    repeats: int
    threads: int
    device: str
    batch: int
    length: int
    clock: str
    wall: float
    cpu: float
    loaded: bool
    steady: bool
    note: str = ""
    runtime: str = "torch"

    def __str__(self) -> str:
        text = (
            f"{self.median * 1e3:.4g} ms ({self.low * 1e3:.4g}…{self.high * 1e3:.4g} ms with 95 % confidence, "
            f"spread {self.spread:.1%}, {self.repeats} repeats, {self.clock} clock; wall clock {self.wall * 1e3:.4g} ms, "
            f"CPU time {self.cpu * 1e3:.4g} ms; {self.runtime}, {self.threads} thread{'s' if self.threads != 1 else ''}, "
            f"batch {self.batch} × {self.length}; {self.device})"
        )
        return text + ("" if self.steady else "; not steady") + (f". {self.note}" if self.note else "")


def median_interval(samples: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """The order statistics of n `samples` that enclose the median with at least `confidence`, whatever the distribution.

    The number of samples below the median is binomial (n, ½), so the k-th smallest and k-th largest enclose it unless
    fewer than k lie on one side. With too few samples for that, their extremes: the widest interval there is.
    """
    ordered = sorted(samples)
    n, k, tail = len(ordered), 0, 0.0
    while k < n // 2:
        tail += math.comb(n, k) / 2**n
        if 2 * tail > 1 - confidence:
            break
        k += 1
    k = max(k, 1)
    return ordered[k - 1], ordered[n - k]


def relative_spread(samples: Sequence[float]) -> float:
    """The interquartile range over the median; 0 for a median of 0."""
    ordered = sorted(samples)
    middle = median(ordered)

    def quantile(share: float) -> float:
        place = share * (len(ordered) - 1)
        below = math.floor(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (place - below) * (ordered[above] - ordered[below])

    return (quantile(0.75) - quantile(0.25)) / middle if middle > 0 else 0.0


@contextmanager
def fixed_threads(threads: int) -> Iterator[None]:
    """torch computes with `threads` threads inside, and with as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def no_collection() -> Iterator[None]:
    """Python's garbage collector rests inside: a collection in one repeat would be charged to the network."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass
class _Samples:
    """The times of each repeat by every clock, in seconds."""

    wall: list[float] = field(default_factory=list)
    thread: list[float] = field(default_factory=list)
    process: list[float] = field(default_factory=list)
    cuda: list[float] = field(default_factory=list)

    def primary(self, threads: int) -> tuple[str, list[float]]:
        """The clock to judge by, and its times.

        The thread's CPU time is the steadiest, but it is blind to other threads and to waiting: it counts only where one thread
        was asked for, and that thread did the process's work.
        """
        if self.cuda:
            return "cuda", self.cuda
        working = sum(self.thread)
        if threads == 1 and working >= 0.5 * sum(self.process) and working >= 0.05 * sum(self.wall):
            return "cpu", self.thread
        return "wall", self.wall


def _time_once(run: Callable[[], object], device: torch.device, samples: _Samples) -> None:
    if device.type == "cuda":
        stream = torch.cuda.current_stream(device)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize(device)
        wall, process = time.perf_counter(), time.process_time()
        begin.record(stream)
        run()
        end.record(stream)
        end.synchronize()
        samples.process.append(time.process_time() - process)
        samples.wall.append(time.perf_counter() - wall)
        samples.cuda.append(begin.elapsed_time(end) / 1e3)
        return
    wall, process, thread = time.perf_counter(), time.process_time(), time.thread_time()
    run()
    # Read in the reverse order, so that each clock's window holds the next one's.
    thread_end, process_end, wall_end = time.thread_time(), time.process_time(), time.perf_counter()
    samples.thread.append(thread_end - thread)
    samples.process.append(process_end - process)
    samples.wall.append(wall_end - wall)


def _settled(times: Sequence[float], tolerance: float) -> bool:
    if len(times) < FEWEST_FOR_INTERVAL:
        return False
    low, high = median_interval(times)
    middle = median(times)
    return high - middle <= tolerance * middle and middle - low <= tolerance * middle


def measure_latency(
    run: Callable[[], object],
    *,
    device: str | torch.device = "cpu",
    threads: int = 1,
    warmup: int = 3,
    min_repeats: int = 10,
    max_repeats: int = 200,
    tolerance: float = 0.03,
    max_seconds: float = 5.0,
    batch: int = 1,
    length: int = 0,
    runtime: str = "torch",
    before: Callable[[], object] | None = None,
) -> Latency:
    """Time `run` until the 95 % confidence interval of the median lies within ± `tolerance` of it.

    Stops at `max_repeats`, or before one more would end after `max_seconds` (warm-up included), and then says `steady=False`;
    the first warm-up run and one repeat always happen. `before` is called ahead of each run, untimed. `batch`, `length` and
    `runtime` are only noted.
    Raises ConfigurationError for settings out of range.
    """
    faults = [
        f"`{name}` must be at least {least}, got {value}."
        for name, value, least in (("threads", threads, 1), ("warmup", warmup, 0), ("min_repeats", min_repeats, 1))
        if value < least
    ]
    if max_repeats < min_repeats:
        faults.append(f"`max_repeats` must be at least `min_repeats` ({min_repeats}), got {max_repeats}.")
    faults += [
        f"`{name}` must be above 0, got {value}."
        for name, value in (("tolerance", tolerance), ("max_seconds", max_seconds))
        if value <= 0
    ]
    if faults:
        raise ConfigurationError(faults)
    where = device if isinstance(device, torch.device) else resolve_device(device)
    samples, steady, prepare = _Samples(), False, before or (lambda: None)
    with fixed_threads(threads), torch.inference_mode(), no_collection():
        start = time.perf_counter()
        for _ in range(warmup):
            prepare()
            _time_once(run, where, _Samples())
            if time.perf_counter() - start > max_seconds / 4:
                break
        watch = LoadWatch()
        while len(samples.wall) < max_repeats:
            prepare()
            _time_once(run, where, samples)
            if len(samples.wall) >= min_repeats and _settled(samples.primary(threads)[1], tolerance):
                steady = True
                break
            if time.perf_counter() - start + samples.wall[-1] > max_seconds:  # one more would be too many
                break
        others = watch.others()
    clock, times = samples.primary(threads)
    waiting = max(0.0, 1 - sum(samples.thread) / sum(samples.wall)) if clock == "cpu" else 0.0
    load = Load(others, waiting)
    low, high = median_interval(times)
    return Latency(
        median=median(times),
        low=low,
        high=high,
        spread=relative_spread(times),
        repeats=len(times),
        threads=threads,
        device=describe_device(where),
        batch=batch,
        length=length,
        clock=clock,
        wall=median(samples.wall),
        cpu=median(samples.process),
        loaded=load.loaded,
        steady=steady,
        note=load.sentence,
        runtime=runtime,
    )


def measure_model(
    model: nn.Module,
    *,
    device: str | torch.device = "cpu",
    threads: int = 1,
    batch: int = 1,
    length: int = 128,
    kind: str = "classification",
    max_seconds: float = 5.0,
    tolerance: float = 0.03,
    runtime: str = "torch",
) -> Latency:
    """The latency of one forward pass of a transformers model on `batch` × `length` tokens, by one of `RUNTIMES`.

    Moves the model to `device` and leaves it in eval mode. The time to convert it for the runtime is no part of any figure.
    """
    where = device if isinstance(device, torch.device) else resolve_device(device)
    check_runtime(runtime, where)
    model.to(where).eval()
    inputs = dummy_inputs(model, batch, length, kind)
    with running(model, inputs, runtime=runtime, threads=threads, kind=kind) as run:
        return measure_latency(
            run,
            device=where,
            threads=threads,
            tolerance=tolerance,
            max_seconds=max_seconds,
            batch=batch,
            length=length,
            runtime=runtime,
        )
