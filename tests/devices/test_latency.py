from __future__ import annotations

import gc
from math import comb
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from secateur.devices.latency import _Samples, _settled, measure_latency, median_interval, no_collection, relative_spread
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError


def test_the_interval_of_the_median_is_the_textbook_one() -> None:
    """Ranks from the table of distribution-free intervals: n = 10 → 2 and 9, n = 20 → 6 and 15, n = 100 → 40 and 61."""
    assert median_interval(list(range(1, 11))) == (2, 9)
    assert median_interval(list(range(1, 21))) == (6, 15)
    assert median_interval(list(range(1, 101))) == (40, 61)


def test_few_samples_give_their_extremes() -> None:
    assert median_interval([5.0]) == (5.0, 5.0)
    assert median_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


@given(st.integers(6, 300))
def test_the_interval_covers_95_percent_and_is_the_narrowest_that_does(n: int) -> None:
    low, high = median_interval([float(i) for i in range(1, n + 1)])
    k = int(low)
    assert high == n + 1 - k

    def coverage(k: int) -> float:
        return 1 - 2 * sum(comb(n, i) for i in range(k)) / 2**n

    assert coverage(k) >= 0.95
    assert k == n // 2 or coverage(k + 1) < 0.95


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=60))
def test_interval_and_spread_are_sane(samples: list[float]) -> None:
    low, high = median_interval(samples)
    ordered = sorted(samples)
    assert low <= ordered[len(ordered) // 2] <= high or low <= ordered[(len(ordered) - 1) // 2] <= high
    assert relative_spread(samples) >= 0


def test_spread_is_the_interquartile_range_over_the_median() -> None:
    assert relative_spread([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2 / 3)
    assert relative_spread([0.0, 0.0]) == 0.0


def test_settled_needs_enough_samples_and_a_narrow_interval() -> None:
    assert not _settled([1.0] * 5)
    assert _settled([1.0] * 6)
    assert not _settled([1.0, 2.0] * 5)
    assert _settled([1.0, 1.01] * 5)


@pytest.mark.parametrize(
    ("thread", "process", "threads", "clock"),
    [
        (0.9, 0.9, 1, "cpu"),  # the usual case
        (0.2, 0.2, 1, "cpu"),  # a loaded machine: the run waits, its CPU time stands
        (0.9, 1.8, 2, "wall"),  # several threads
        (0.1, 0.9, 1, "wall"),  # other threads did the work, to which the thread's clock is blind
        (0.001, 0.001, 1, "wall"),  # it slept
    ],
)
def test_the_clock_fits_the_run(thread: float, process: float, threads: int, clock: str) -> None:
    samples = _Samples(wall=[1.0], thread=[thread], process=[process])
    assert samples.primary(threads)[0] == clock
    samples.cuda.append(0.5)
    assert samples.primary(threads) == ("cuda", [0.5])


def test_real_work_is_timed() -> None:
    data = torch.rand(64, 64, generator=torch.Generator().manual_seed(0))
    latency = measure_latency(lambda: data @ data, Setup(seconds=0.2, batch=3, length=5, runtime="torch-int8"))
    assert 0 < latency.low <= latency.median <= latency.high
    assert latency.repeats >= 1
    assert min(latency.wall, latency.cpu) > 0
    assert (latency.threads, latency.batch, latency.length, latency.runtime) == (1, 3, 5, "torch-int8")


def test_several_threads_are_timed_by_the_wall_clock(clock: Any) -> None:
    latency = measure_latency(lambda: clock.tick(0.01, cpu=0.02), Setup(threads=2))
    assert (latency.clock, latency.median) == ("wall", pytest.approx(0.01))
    assert latency.cpu == pytest.approx(0.02)


def test_a_steady_run_stops_early_and_a_noisy_one_does_not(clock: Any) -> None:
    calls = []

    def noisy() -> None:
        calls.append(1)
        clock.tick(0.001 * (1 + len(calls) % 2))

    first = measure_latency(lambda: clock.tick(0.001), Setup())
    assert (first.repeats, first.steady) == (10, True)
    assert first.median == pytest.approx(0.001)
    second = measure_latency(noisy, Setup())
    assert (second.repeats, second.steady) == (200, False)
    assert len(calls) == 203, "three warm-up runs that are not counted"
    assert "not steady" in str(second)
    assert "not steady" not in str(first)


def test_time_is_limited_also_in_the_warm_up(clock: Any) -> None:
    latency = measure_latency(lambda: clock.tick(2.0), Setup(seconds=5.0))
    assert clock.wall == 4.0, "one to warm up, and one: another would end after 6 s"
    assert (latency.repeats, latency.steady) == (1, False)
    assert (latency.low, latency.high) == (2.0, 2.0)


def test_what_comes_before_a_run_is_not_timed(clock: Any) -> None:
    latency = measure_latency(lambda: clock.tick(0.001), Setup(), before=lambda: clock.tick(0.01))
    assert latency.median == pytest.approx(0.001)
    assert latency.cpu == pytest.approx(0.001)


def test_waiting_on_a_busy_machine_is_said(clock: Any) -> None:
    latency = measure_latency(lambda: clock.tick(0.002, cpu=0.001), Setup())
    assert latency.loaded
    assert "waited for 50 %" in latency.note
    assert latency.note in str(latency)
    assert latency.median == pytest.approx(0.001)
    assert latency.wall == pytest.approx(0.002)


def test_global_state_is_put_back_even_after_an_error() -> None:
    threads, collecting = torch.get_num_threads(), gc.isenabled()
    seen = {}

    def run() -> None:
        seen["threads"] = torch.get_num_threads()
        seen["inference"] = torch.is_inference_mode_enabled()
        seen["collecting"] = gc.isenabled()
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        measure_latency(run, Setup(threads=threads + 1))
    assert seen == {"threads": threads + 1, "inference": True, "collecting": False}
    assert torch.get_num_threads() == threads
    assert gc.isenabled() == collecting
    assert not torch.is_inference_mode_enabled()
    with no_collection():
        with no_collection():
            pass
        assert not gc.isenabled(), "the inner one leaves the collector as it found it"
    assert gc.isenabled()


def test_all_faults_of_the_settings_are_reported() -> None:
    with pytest.raises(ConfigurationError) as caught:
        measure_latency(lambda: None, Setup(threads=0, seconds=0))
    assert len(caught.value.faults) == 2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_is_timed_by_events() -> None:
    data = torch.rand(2048, 2048, device="cuda")
    latency = measure_latency(lambda: data @ data, Setup(device="cuda"))
    assert latency.clock == "cuda"
    assert 0 < latency.median <= latency.wall
    assert latency.device.startswith("cuda: ")
