"""Can this machine be measured at all? The same work, timed several times over, should take the same time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from secateur.devices.device import resolve_device
from secateur.devices.latency import measure_latency
from secateur.errors import ConfigurationError, MeasurementError


@dataclass(frozen=True)
class Steadiness:
    """`spread` is (largest − smallest) / smallest of the `medians` (seconds) of the same work, timed again and again."""

    spread: float
    medians: tuple[float, ...]
    clock: str
    note: str

    def __str__(self) -> str:
        low, high = min(self.medians) * 1e3, max(self.medians) * 1e3
        text = f"the same work took {low:.3g}…{high:.3g} ms ({self.spread:.1%} apart, {self.clock} clock)"
        return f"{text}. {self.note}" if self.note else text


def check_steady(
    *,
    device: str | torch.device = "cpu",
    threads: int = 1,
    limit: float = 0.10,
    rounds: int = 5,
    seconds: float = 0.4,
    allow: bool = False,
    work: Callable[[], object] | None = None,
) -> Steadiness:
    """Time fixed work (matrix products) in `rounds` of at most `seconds` each.

    Raises MeasurementError where the rounds differ by more than `limit`, unless `allow`: the message gives the spread and says
    how to go on. Raises ConfigurationError for settings out of range. Takes about `rounds` × `seconds` at most.
    """
    faults = [f"`rounds` must be at least 2, got {rounds}."] if rounds < 2 else []
    positive = (("limit", limit), ("seconds", seconds))
    faults += [f"`{name}` must be above 0, got {value}." for name, value in positive if value <= 0]
    if faults:
        raise ConfigurationError(faults)
    where = device if isinstance(device, torch.device) else resolve_device(device)
    if work is None:
        # Sizes of a small decoder layer: long enough for the clocks, and out of the first-level caches.
        left = torch.rand(192, 512, generator=torch.Generator().manual_seed(0)).to(where)
        right = torch.rand(512, 1024, generator=torch.Generator().manual_seed(1)).to(where)

        def work() -> object:
            return [left @ right for _ in range(4)]

    found = [measure_latency(work, device=where, threads=threads, max_seconds=seconds, max_repeats=60) for _ in range(rounds)]
    medians = tuple(latency.median for latency in found)
    note = next((latency.note for latency in found if latency.note), "")
    steady = Steadiness((max(medians) - min(medians)) / min(medians), medians, found[0].clock, note)
    if steady.spread > limit and not allow:
        raise MeasurementError(
            f"this device cannot be measured steadily: {str(steady).rstrip('.')}; at most {limit:.0%} apart is steady. "
            "Stop what else runs on it, give `threads` 1, or go on with --unsteady."
        )
    return steady
