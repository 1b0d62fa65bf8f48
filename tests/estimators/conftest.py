"""Toy networks to measure, and measurements that take no time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from torch import nn

from secateur.architecture import Architecture
from secateur.estimators import latency
from secateur.testing.models import toy_model


def _toy(layers: int = 1, units: int = 32) -> Architecture:
    return Architecture.of("toy", {"layers": layers, "units": units}, key=f"{layers}-{units}")


def _bert(architecture: Architecture) -> nn.Module:
    """No layers: a network that does not fit."""
    if not architecture["layers"]:
        raise RuntimeError("no space")
    return toy_model("bert", layers=architecture["layers"], intermediate_size=architecture["units"])


@pytest.fixture(scope="session")
def toy() -> Any:
    """Layers and units → architecture."""
    return _toy


@pytest.fixture(scope="session")
def bert() -> Any:
    """Architecture → network."""
    return _bert


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Measures networks in no time by a function of one's own, network → seconds; gives a list of those measured."""

    def pretend(seconds_of: Any, loaded: Any = lambda n: False) -> list[nn.Module]:
        seen: list[nn.Module] = []

        def measure(network: nn.Module, _: Any) -> Any:
            seen.append(network)
            seconds = seconds_of(network)
            counts = {"repeats": 1, "steady": True, "loaded": loaded(len(seen)), "clock": "cpu"}
            return SimpleNamespace(median=seconds, low=seconds, high=seconds, spread=0.0, wall=seconds, cpu=seconds, **counts)

        monkeypatch.setattr(latency, "measure_model", measure)
        return seen

    return pretend
