from __future__ import annotations

import time

import pytest

from secateur.devices import check_steady
from secateur.errors import ConfigurationError, MeasurementError


def test_the_fixed_work_is_timed_on_this_machine() -> None:
    found = check_steady(rounds=2, seconds=0.1, allow=True)
    assert len(found.medians) == 2
    assert min(found.medians) > 0
    assert f"{found.spread:.1%}" in str(found)


def clocked(monkeypatch: pytest.MonkeyPatch, growth: float) -> dict[str, float]:
    """Work that takes 1 ms on clocks of our own, and `growth` times as long in each round (3 + 10 runs)."""
    state = {"now": 0.0, "calls": 0.0}
    for name in ("perf_counter", "thread_time", "process_time"):
        monkeypatch.setattr(time, name, lambda: state["now"])
    state["growth"] = growth
    return state


def test_a_steady_machine_passes_and_an_unsteady_one_is_refused_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    state = clocked(monkeypatch, 1.0)

    def work() -> None:
        state["now"] += 0.001 * state["growth"] ** (state["calls"] // 13)
        state["calls"] += 1

    assert check_steady(rounds=3, work=work).spread == pytest.approx(0.0, abs=1e-6)
    state.update(growth=1.1, calls=0)
    with pytest.raises(MeasurementError, match=r"1…1\.21 ms \(21\.0% apart, cpu clock\); at most 10% .* --unsteady"):
        check_steady(rounds=3, work=work)
    state.update(calls=0)
    assert check_steady(rounds=3, work=work, allow=True).spread == pytest.approx(0.21)
    state.update(calls=0)
    assert check_steady(rounds=3, work=work, limit=0.3).spread == pytest.approx(0.21)


def test_all_faults_are_reported() -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_steady(rounds=1, limit=0, seconds=0)
    assert len(caught.value.faults) == 3
