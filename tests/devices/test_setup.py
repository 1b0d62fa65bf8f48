from __future__ import annotations

from typing import Any

import pytest

from secateur.devices.setup import RUNTIMES, Setup, generation_fault
from secateur.errors import ConfigurationError


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:3"])
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_may_be_asked_for(device: str, runtime: str) -> None:
    assert Setup(device=device, runtime=runtime).faults() == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"threads": 0}, "`threads` must be at least 1 and at most"),
        ({"batch": 0, "length": -1}, "`length` must be at least 1 and at most 1,000,000, got -1."),
        ({"seconds": 0}, "`seconds` must be above 0 and at most 86,400, got 0."),
        ({"kind": "multiplechoice"}, "Did you mean `multiple_choice`?"),
        ({"runtime": "onnx_int8"}, "unknown runtime `onnx_int8`. Did you mean `onnx-int8`?"),
        ({"device": "gpu"}, "`device` must be auto, cpu, cuda or cuda:N, got `gpu`."),
        ({"device": "cpu:0", "threads": 0, "seconds": -1}, "`device` must be"),
    ],
)
def test_every_fault_is_reported_at_once(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Setup(**wrong).check()
    assert said in str(caught.value)
    assert len(caught.value.faults) == len(wrong)


def test_what_can_be_generated() -> None:
    assert generation_fault(2, Setup()) is None
    assert "at least 2 tokens" in str(generation_fault(1, Setup()))
    assert "needs a cache" in str(generation_fault(4, Setup(runtime="onnx")))
