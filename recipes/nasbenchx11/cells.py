"""The recurrent cells of NAS-Bench-NLP (Klyuchnikov et al. 2020) with their learning curves, as numbers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from secateur.predictors.curves.known import Known

OPERATIONS = ("linear", "blend", "elementwise_prod", "elementwise_sum", "activation_tanh", "activation_sigm")
OPERATIONS += ("activation_leaky_relu",)
METRICS = ("val_losses", "train_losses", "test_losses")
#: Whole trainings have so many epochs.
EPOCHS = 50


def described(recipe: dict[str, Any]) -> list[float]:
    """A cell as counts: its nodes, edges and states, each operation, the inputs of its linear layers, its longest path, and
    what each operation leads to."""
    nodes = list(recipe)
    edges = [(source, name) for name in nodes for source in recipe[name]["input"]]
    counts = [sum(recipe[name]["op"] == op for name in nodes) for op in OPERATIONS]
    states = sum(name.startswith("h_new") for name in nodes)
    inputs = [len(recipe[name]["input"]) for name in nodes if recipe[name]["op"] == "linear"]
    depth: dict[str, int] = {}

    def deep(name: str) -> int:
        if name not in recipe:
            return 0
        if name not in depth:
            depth[name] = 1 + max((deep(source) for source in recipe[name]["input"]), default=0)
        return depth[name]

    follows = np.zeros((len(OPERATIONS), len(OPERATIONS)))
    for source, name in edges:
        if source in recipe:
            follows[OPERATIONS.index(recipe[source]["op"]), OPERATIONS.index(recipe[name]["op"])] += 1
    longest = max(map(deep, nodes))
    return [len(nodes), len(edges), states, *counts, sum(inputs), max(inputs, default=0), longest, *follows.ravel().tolist()]


def read(path: Path, early: int = 0, metrics: tuple[str, ...] = METRICS[:1]) -> Known:
    """The cells that were trained to the end, with the losses of the first `early` epochs beside their counts."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        cells = json.load(file)
    whole = [cell for cell in cells if all(len(cell[name]) == EPOCHS for name in metrics)]
    whole = [cell for cell in whole if np.isfinite([cell[name] for name in metrics]).all()]
    curves = np.array([[cell[name] for name in metrics] for cell in whole])
    inputs = np.array([described(json.loads(cell["recepie"])) for cell in whole], dtype=float)
    inputs = np.hstack([inputs, np.log([[cell["num_params"]] for cell in whole]), curves[:, :, :early].reshape(len(whole), -1)])
    keys = tuple(str(place) for place in range(len(whole)))
    return Known(inputs, curves, metrics, np.arange(1.0, EPOCHS + 1), keys)
