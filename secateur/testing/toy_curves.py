"""A table of made-up trainings of decoders, with learning curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from secateur.rng import generator
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_counts import decoder_parameters
from secateur.tables.searchable import write_searchable

OPTIONS: dict[str, Any] = {"layers": "1..3", "width": "8..32:8", "inner": "16..64:16", "heads": (2,), "embedding": (0,)}
BUDGETS = (10.0, 20.0, 30.0, 40.0, 50.0, 60.0)


def toy_trainings(count: int = 40, seeds: int = 1) -> list[dict[str, Any]]:
    """Rows of networks whose losses fall the deeper the more parameters they have, with noise."""
    rows: list[dict[str, Any]] = []
    drawn = {a.key: a for a in Decoder(**OPTIONS).sample_many(4 * count, generator(0, "toys"))}
    for place, architecture in enumerate(list(drawn.values())[:count]):
        size = float(np.log(decoder_parameters(architecture)))
        for seed in range(seeds):
            noise = 0.01 * generator(seed, "noise", place).standard_normal((2, len(BUDGETS)))
            loss = 12 - size + 3 / np.sqrt(np.array(BUDGETS) / 10) + noise[0]
            row = {"architecture": architecture, "seed": seed, "budgets": list(BUDGETS), "loss": loss.tolist()}
            row |= {"train_loss": (loss - 0.1 + noise[1]).tolist(), "seconds": float(np.exp(size)), "latency": 1e-3 * size}
            rows.append(row)
    return rows


def write_toy_curves(
    path: Path, change: Callable[[list[dict[str, Any]]], None] = lambda rows: None, final: Sequence[str] = (), **given: int
) -> Path:
    """Write a table of such rows, which may be changed before; columns in `final` hold at the end of a training only."""
    rows = toy_trainings(**given)
    change(rows)
    write_searchable(path, rows, {"space": "decoder", "options": OPTIONS, "objectives": ["loss"], "final": list(final)})
    return path
