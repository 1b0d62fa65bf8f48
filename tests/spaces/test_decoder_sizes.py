"""What all networks of a run share."""

from __future__ import annotations

import pytest

from secateur.errors import ConfigurationError
from secateur.spaces.decoder_sizes import Sizes


def test_cutoffs() -> None:
    assert Sizes(vocabulary=50257).cutoffs == (20_000, 40_000)
    assert Sizes(vocabulary=30_000).cutoffs == (20_000,)
    assert Sizes(vocabulary=20_000).cutoffs == ()
    assert Sizes(vocabulary=8, cutoffs=[5, 7]) == Sizes(vocabulary=8, cutoffs=(5, 7))
    for wrong in ((7, 5), (5, 5), (8,), (0, 3)):
        with pytest.raises(ConfigurationError, match="`cutoffs` must ascend"):
            Sizes(vocabulary=8, cutoffs=wrong)


def test_every_fault_at_once() -> None:
    with pytest.raises(ConfigurationError) as raised:
        Sizes(vocabulary=0, positions=0, recurrence=-1)
    assert raised.value.faults == [
        "`vocabulary` must be at least 1 and at most 10,000,000, got 0.",
        "`positions` must be at least 1 and at most 1,000,000, got 0.",
        "`recurrence` must be at least 0 and at most 1,000,000, got -1.",
    ]
