"""What a latency model is fitted to: networks of the space, chosen to cover it and measured in turns within a given time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from secateur.architecture import Architecture
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError
from secateur.estimators.base import Evaluation
from secateur.estimators.building import Build
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.latency_fit import spread_sample
from secateur.estimators.latency_parts import Parts
from secateur.estimators.turns import Found, measure_in_turns
from secateur.settings import DAY, Settings, option

#: How often each network has its turn. Others' work only ever slows a machine down, and for seconds at a time: the quickest of
#: turns that are about a minute apart is bent least by it.
TURNS = 3


@dataclass(frozen=True, kw_only=True)
class Fitting(Settings):
    """How much is measured for a fit."""

    networks: int = option(60, "Networks to fit to.", least=2, most=10_000)
    held_out: int = option(12, "Networks that the fit is tested on.", least=1, most=10_000)
    seconds: float = option(150.0, "Seconds to measure for, all networks together.", above=0, most=DAY)
    seed: int = option(0, "Which networks are chosen.", least=0, below=2**32)


USUAL = Fitting()


#: A network and its seconds.
Measured = tuple[Architecture, float]


@dataclass(frozen=True)
class Sample:
    """`measured`: networks with their seconds, in the order they were chosen. `wanted`: how many were to be measured, `loaded`:
    at how many the machine was busy, `failure`: the last reason where one could not be measured."""

    measured: Sequence[Measured]
    wanted: int
    loaded: int
    failure: str | None


def sample(build: Build, parts: Parts, setup: Setup, fitting: Fitting, progress: Callable[[int, int], None]) -> Sample:
    """Measure `networks` + `held_out` networks in turns, or as many as the seconds allow (but as many networks as there are
    coefficients, and two of each kind where they can be measured). Raises ConfigurationError for settings out of
    range."""
    if faults := [*setup.faults(), *fitting.faults()]:
        raise ConfigurationError(faults)
    wanted = fitting.networks + fitting.held_out
    chosen = spread_sample(parts, wanted, fitting.seed)
    estimator = _Rationed(build, parts, setup, fitting.seconds, chosen)
    # A builder that keeps a buffer as large as its largest network then fills it once.
    with contextlib.suppress(RuntimeError, MemoryError, ValueError):  # too large: its own turn says so
        build(max(chosen, key=parts.size))

    def advance(done: int, total: int) -> None:
        estimator.done = done
        progress(done, total)

    found = measure_in_turns(estimator, chosen, turns=estimator.turns, wanted=estimator.wanted, advance=advance)
    measured = [(a, float(found[a.key]["values"]["latency"])) for a in chosen if "values" in found.get(a.key, {})]
    failures = [entry["failure"] for entry in found.values() if "failure" in entry]
    return Sample(measured, wanted, len(estimator.loaded), failures[-1] if failures else None)


class _Rationed(LatencyEstimator):
    """Shares `seconds`, counted from its creation, evenly among the turns that are left."""

    def __init__(self, build: Build, parts: Parts, setup: Setup, seconds: float, chosen: Sequence[Architecture]) -> None:
        super().__init__(build, setup)
        self.parts, self.seconds, self.chosen = parts, seconds, chosen
        #: An export takes longer than a measurement: there, each network has one turn.
        self.turns = 1 if setup.exported else TURNS
        self.done = 0
        self.loaded: set[str] = set()
        self._fewest = min(len(chosen), len(parts.names(sorted({parts.kind(a) for a in chosen}))) + 2)
        self._began = time.perf_counter()

    @property
    def _left(self) -> float:
        return self.seconds - (time.perf_counter() - self._began)

    def wanted(self, architecture: Architecture, found: Found) -> bool:
        """Whether there is time for a network, or the fit cannot do without it."""
        if self._left >= 0:
            return True
        known = [a for a in self.chosen if "values" in found.get(a.key, {})]
        alike = sum(self.parts.kind(a) == self.parts.kind(architecture) for a in known)
        return architecture not in known and (len(known) < self._fewest or alike < 2)

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        turns = self.turns * len(self.chosen) - self.done
        self.setup = replace(self.setup, seconds=max(0.05, self._left / turns))
        found = super().evaluate(architectures, budget)
        busy = (a.key for a, e in zip(architectures, found, strict=True) if e.details.get("latency_loaded"))
        self.loaded.update(busy)
        return found
