"""Can this machine be measured at all? The same work, timed several times over, should take the same time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from secateur.devices.device import resolve_device
from secateur.devices.latency import measure_latency
from secateur.devices.setup import Setup
from secateur.errors import MeasurementError

#: How often the work is timed.
ROUNDS = 5
#: How far the slowest round may be from the quickest, relative to it.
LIMIT = 0.10


@dataclass(frozen=True)
class Steadiness:
    """`spread` is (largest − smallest) / smallest of the `medians` (seconds) of the same work, timed again and again."""

    spread: float
    medians: tuple[float, ...]
    clock: str
    note: str

    def __str__(self) -> str:
        low, high = min(self.medians) * 1e3, max(self.medians) * 1e3
        text = f"the same work took {low:.3g}…{high:.3g} ms ({100 * self.spread:.1f} % apart, {self.clock} clock)"
        return f"{text}. {self.note}" if self.note else text


def check_steady(
    setup: Setup, *, seconds: float = 0.4, allow: bool = False, work: Callable[[], object] | None = None
) -> Steadiness:
    """Time fixed work (matrix products) on the setup's device and threads, in `ROUNDS` of at most `seconds` each.

    Raises MeasurementError where the rounds differ by more than `LIMIT`, unless `allow`: the message gives the spread and says
    how to go on. Raises ConfigurationError for settings out of range.
    """
    setup = replace(setup, seconds=seconds)
    where = resolve_device(setup.check().device)
    if work is None:
        # Sizes of a small decoder layer: long enough for the clocks, and out of the first-level caches.
        left = torch.rand(192, 512, generator=torch.Generator().manual_seed(0)).to(where)
        right = torch.rand(512, 1024, generator=torch.Generator().manual_seed(1)).to(where)

        def work() -> object:
            return [left @ right for _ in range(4)]

    found = [measure_latency(work, setup) for _ in range(ROUNDS)]
    medians = tuple(latency.median for latency in found)
    note = next((latency.note for latency in found if latency.note), "")
    steady = Steadiness((max(medians) - min(medians)) / min(medians), medians, found[0].clock, note)
    if steady.spread > LIMIT and not allow:
        raise MeasurementError(
            f"this device cannot be measured steadily: {str(steady).rstrip('.')}; at most {100 * LIMIT:.0f} % apart is steady. "
            f"Stop other programs on it,{' give `threads` 1,' if setup.threads > 1 else ''} or continue with --unsteady."
        )
    return steady
