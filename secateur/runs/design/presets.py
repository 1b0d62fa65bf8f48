"""Presets of `secateur design`: the values taken where the user gives none."""

from __future__ import annotations

from typing import Any

from secateur.errors import UnknownNameError
from secateur.spaces.decoder import LARGE, PAPER

#: The paper's ranges; the search runs on a latency model and measures the front at its end.
DEFAULT: dict[str, Any] = {
    **PAPER,
    "factor": (1, 2, 4),
    "objectives": ["decoder_parameters", "latency", "memory"],
    "searcher": "evolution",
    "trials": 2500,  # 100 at random, then 30 iterations of 80 children
    "hull": False,
    "measure": "front",
}

#: Javaheripi et al. (2022): every candidate is measured, and parents come from the lower convex hull of what was measured.
JAVAHERIPI2022: dict[str, Any] = {**DEFAULT, "factor": (4,), "hull": True, "measure": "all"}

#: Models of 300 to 500 million parameters.
LARGE_MODELS: dict[str, Any] = {**DEFAULT, **LARGE, "bounds": ["parameters>=300M<=500M"]}

PRESETS = {"default": DEFAULT, "javaheripi2022": JAVAHERIPI2022, "large": LARGE_MODELS}


def preset(name: str) -> dict[str, Any]:
    """A copy of the preset. Raises UnknownNameError."""
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    return {key: list(value) if isinstance(value, list | tuple) else value for key, value in PRESETS[name].items()}
