from __future__ import annotations

from typing import Any

import pytest

from secateur.devices.setup import Setup
from secateur.devices.steadiness import ROUNDS, check_steady
from secateur.errors import ConfigurationError, MeasurementError


def test_the_fixed_work_is_timed_on_this_machine() -> None:
    found = check_steady(Setup(), seconds=0.01, allow=True)
    assert len(found.medians) == ROUNDS
    assert min(found.medians) > 0
    assert f"{100 * found.spread:.1f} %" in str(found)


def test_a_steady_machine_passes_and_an_unsteady_one_is_refused_unless_allowed(clock: Any) -> None:
    """Work that takes 1 ms, and `growth` times as long in each round (3 + 10 runs)."""
    state = {"growth": 1.0, "calls": 0}

    def work() -> None:
        clock.tick(0.001 * state["growth"] ** (state["calls"] // 13))
        state["calls"] += 1

    assert check_steady(Setup(), work=work).spread == pytest.approx(0.0, abs=1e-6)
    state.update(growth=1.05, calls=0)
    with pytest.raises(MeasurementError, match=r"1…1\.22 ms \(21\.6 % apart, cpu clock\); at most 10 % .* --unsteady"):
        check_steady(Setup(), work=work)
    state.update(calls=0)
    with pytest.raises(MeasurementError, match="give `threads` 1,"):
        check_steady(Setup(threads=2), work=work)
    state.update(calls=0)
    assert check_steady(Setup(), work=work, allow=True).spread == pytest.approx(1.05**4 - 1)


def test_faults_of_the_settings_are_reported() -> None:
    with pytest.raises(ConfigurationError, match=r"`threads`.*`seconds`"):
        check_steady(Setup(threads=0), seconds=0)
