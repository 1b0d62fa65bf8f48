"""How long one run takes: warm-up, then repeats until the median is known well enough."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

import numpy as np
import torch
from torch import nn

from secateur.devices.contention import Contention, ContentionWatch
from secateur.devices.device import describe_device, resolve_device
from secateur.devices.inputs import dummy_inputs
from secateur.devices.runtime import check_setup, running
from secateur.devices.setup import Setup

#: The fewest samples whose extremes enclose the median with 95 % confidence: 1 − 2 · 2⁻⁶ = 0.97.
FEWEST_FOR_INTERVAL = 6
#: How far the interval of the median may reach from it, relative to it.
TOLERANCE = 0.03
#: Runs before the first that counts; the fewest repeats, and the most.
WARM_UP, FEWEST, MOST = 3, 10, 200


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
        return "; ".join(filter(None, [*self.figures(), self.setup, self.device, self.note]))

    def figures(self) -> list[str]:
        """The figure and how sure it is, in lines that fit a narrow terminal."""
        return [
            f"{self.median * 1e3:.4g} ms ({self.low * 1e3:.4g}…{self.high * 1e3:.4g} ms at 95 %)",
            f"spread {100 * self.spread:.1f} %, {self.repeats} repeats, {self.clock} clock{', not steady' * (not self.steady)}",
            f"wall clock {self.wall * 1e3:.4g} ms, CPU time {self.cpu * 1e3:.4g} ms",
        ]

    @property
    def setup(self) -> str:
        return f"{self.runtime}, {self.threads} thread{'s' if self.threads != 1 else ''}, batch {self.batch} × {self.length}"


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
    low, middle, high = np.percentile(samples, (25, 50, 75)).tolist()
    return (high - low) / middle if middle > 0 else 0.0


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


def _settled(times: Sequence[float]) -> bool:
    if len(times) < FEWEST_FOR_INTERVAL:
        return False
    low, high = median_interval(times)
    middle = median(times)
    return max(high - middle, middle - low) <= TOLERANCE * middle


def measure_latency(run: Callable[[], object], setup: Setup, *, before: Callable[[], object] = lambda: None) -> Latency:
    """Time `run` on the setup's device and threads until the 95 % confidence interval of the median lies within ± `TOLERANCE`.

    Stops at `MOST` repeats, or before one more would end after the setup's `seconds` (warm-up included), and then says
    `steady=False`; the first warm-up run and one repeat always happen. `before` is called ahead of each run, untimed. Batch,
    length and runtime are only noted.
    Raises ConfigurationError for settings out of range.
    """
    where, threads = resolve_device(setup.check().device), setup.threads
    samples, steady = _Samples(), False
    with fixed_threads(threads), torch.inference_mode(), no_collection():
        start = time.perf_counter()
        for _ in range(WARM_UP):
            before()
            _time_once(run, where, _Samples())
            if time.perf_counter() - start > setup.seconds / 4:
                break
        watch = ContentionWatch()
        while len(samples.wall) < MOST:
            before()
            _time_once(run, where, samples)
            if len(samples.wall) >= FEWEST and _settled(samples.primary(threads)[1]):
                steady = True
                break
            if time.perf_counter() - start + samples.wall[-1] > setup.seconds:  # one more would be too many
                break
        others = watch.others()
    clock, times = samples.primary(threads)
    waiting = max(0.0, 1 - sum(samples.thread) / sum(samples.wall)) if clock == "cpu" else 0.0
    note = Contention(others, waiting).sentence
    low, high = median_interval(times)
    return Latency(
        median=median(times),
        low=low,
        high=high,
        spread=relative_spread(times),
        repeats=len(times),
        threads=threads,
        device=describe_device(where),
        batch=setup.batch,
        length=setup.length,
        clock=clock,
        wall=median(samples.wall),
        cpu=median(samples.process),
        loaded=bool(note),
        steady=steady,
        note=note,
        runtime=setup.runtime,
    )


def measure_model(model: nn.Module, setup: Setup) -> Latency:
    """The latency of one forward pass of a transformers model on the setup's tokens, by its runtime.

    Moves the model to the device and leaves it in eval mode. The time to convert it for the runtime is no part of any figure.
    """
    model.to(check_setup(setup)).eval()
    inputs = dummy_inputs(model, setup.batch, setup.length, setup.kind, setup.remembered)
    with running(model, inputs, setup) as run:
        return measure_latency(run, setup)
