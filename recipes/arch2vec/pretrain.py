"""How well arch2vec and its baselines rebuild cells, and what becomes of random numbers: table 3.1 of Yan (2022), and more.

    python recipes/arch2vec/pretrain.py runs/arch2vec [NAME …]    # → pretraining.csv; goes on where it was stopped

Each training has a folder of its name. Those of all of NAS-Bench-101 were made on a GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import replace_rows  # noqa: E402

import secateur  # noqa: E402

#: The released code's differences, one by one.
SWITCHES: dict[str, dict[str, Any]] = {
    "no-narrow": {"narrow": False},
    "sigmoid": {"operations": "sigmoid"},
    "log-deviation": {"log_deviation": True},
    "kl-rescaled": {"kl_rescaled": True},
    "settled": {"settled": True},
    "dropout": {"dropout": 0.3},
    "clip": {"clip": 5.0},
    "no-shuffle": {"shuffle": False},
}
#: Name → space and settings.
TRAININGS: dict[str, tuple[str, dict[str, Any]]] = {
    "nb201-text": ("nasbench201", {}),
    "nb201-published": ("nasbench201", {"as_published": True}),
    **{f"nb201-{name}": ("nasbench201", given) for name, given in SWITCHES.items()},
    "nb201-bound": ("nasbench201", {"edge_weight": 8.0}),
    "nb201-bound-1": ("nasbench201", {"edge_weight": 8.0, "seed": 1}),
    "nb201-bound-2": ("nasbench201", {"edge_weight": 8.0, "seed": 2}),
    "nb201-no-kl": ("nasbench201", {"variational": False}),
    "nb201-gae": ("nasbench201", {"method": "gae"}),
    "nb201-vgae": ("nasbench201", {"method": "vgae"}),
    "nb201-d-vae": ("nasbench201", {"method": "d-vae"}),
    "nb101-text": ("nasbench101", {"epochs": 8}),
    "nb101-bound": ("nasbench101", {"epochs": 40, "batch": 256, "edge_weight": 7.0, "learning_rate": 2e-3}),
    "darts-bound": (
        "darts",
        {"space_option": ["shared=true"], "cells": 300_000, "epochs": 10, "batch": 256, "edge_weight": 15.0},
    ),
}
FIGURES = ("operations", "edges", "cells", "validity", "uniqueness", "read_validity", "read_uniqueness", "spelt_uniqueness")


def main(folder: str, *names: str) -> None:
    for name in names or TRAININGS:
        space, given = TRAININGS[name]
        card = secateur.encode_pretrain(space, to=Path(folder) / name, **given).card
        row = {"name": name, "learnt_from": card["trained_on"], "epochs": len(card["losses"])}
        row |= {"batch": card["settings"]["batch"], "loss": card["losses"][-1]}
        row |= {"seconds": card["seconds"], "device": card["device"].partition(":")[0]}
        row |= {figure: card["figures"].get(figure, "") for figure in FIGURES}
        replace_rows(HERE / "pretraining.csv", [row], ("name",))


if __name__ == "__main__":
    main(*sys.argv[1:])
