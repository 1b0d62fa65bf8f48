"""Presets: the values that `secateur prune` takes where the user gives none."""

from __future__ import annotations

from typing import Any

from secateur.errors import UnknownNameError

#: What worked best in our measurements: recipes/prune-minilm has the tables.
DEFAULT: dict[str, Any] = {
    "space": "small",
    "objectives": ["error", "body_parameters"],
    "searcher": None,  # by the space: `usual_searcher`
    "trials": 100,
    "depths": True,
    "strategy": "full",
    "epochs": 8.0,
    "learning_rate": None,  # by the length of the run: training.settings.usual_learning_rate
    "batch_size": 32,
    "k": 2,
    "temperature": 2.0,
    "squared_temperature": True,
    "distillation_weight": 1.0,
    "weight_decay": 0.01,
    "learning_rate_warmup": 0.06,
    "group_by_length": True,
    "order": True,
    "order_epochs": 1.0,
    "order_learning_rate": 5e-5,
    "polish": True,
    "polish_at": ["10%", "20%", "30%", "50%", "70%"],
    "polish_epochs": 3.0,
    "polish_learning_rate": 5e-5,
}

#: Klein et al. (2024): section 3, appendix A. Only the meaning of zero differs, see docs/decisions.md.
KLEIN2024: dict[str, Any] = {
    **DEFAULT,
    "objectives": ["error", "parameters"],
    "searcher": "ehvi",
    "depths": False,
    "epochs": 5.0,
    "learning_rate": 2e-5,
    "batch_size": 4,
    "temperature": 10.0,
    "squared_temperature": False,
    "weight_decay": 0.0,
    "learning_rate_warmup": 0.0,
    "group_by_length": False,
    "order": False,
    "polish": False,
}

#: Minutes on two CPU cores.
DEMO: dict[str, Any] = {
    **DEFAULT,
    "trials": 60,
    "epochs": 2.0,
    "polish_at": ["30%", "50%"],
    "polish_epochs": 1.0,
}


def usual_searcher(space: str) -> str:
    """Local search where one number changes much (`small`), random search where local search would stay near its start."""
    return "local" if space == "small" else "random"


PRESETS = {"default": DEFAULT, "klein2024": KLEIN2024, "demo": DEMO}


def preset(name: str) -> dict[str, Any]:
    """A copy of the preset. Raises UnknownNameError."""
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    return {key: list(value) if isinstance(value, list) else value for key, value in PRESETS[name].items()}
