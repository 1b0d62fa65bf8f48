"""The trainings of CATE that this recipe compares, and of arch2vec on the same cells.

    python recipes/cate/pretrain.py runs/cate [NAME …]    # → pretraining.csv; goes on where it was stopped

Each has a folder of its name. They were made on a GPU, but for `decoder` and `nb201-small`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import replace_rows  # noqa: E402

import secateur  # noqa: E402

#: The half of NAS-Bench-101 that `cate-outside` is not in.
INSIDE = ["nodes=2..6", "edges=1..7"]
MEDIUM = ["shape=6,12,1536", "units=:128"]
DECODER = ["layers=1..8", "width=32..256:32", "inner=64..1024:64", "heads=2,4,8", "embedding=0,128,256", "factor=1,2,4"]
SMALL = {"method": "cate", "layers": 3, "cross_layers": 6}
LITTLE = {"method": "cate", "layers": 2, "cross_layers": 2}
MIDDLE = {"method": "cate", "layers": 6, "cross_layers": 6}
#: Name → space and settings. Searches are made with those of two epochs; the longer ones hardly lower the loss.
TRAININGS: dict[str, tuple[str, dict[str, Any]]] = {
    "indirect": ("nasbench101", {"method": "cate", "epochs": 2}),
    "direct": ("nasbench101", {"method": "cate", "epochs": 2, "dependencies": "direct"}),
    "long-indirect": ("nasbench101", {"method": "cate", "epochs": 9}),
    "long-direct": ("nasbench101", {"method": "cate", "epochs": 9, "dependencies": "direct"}),
    "small-indirect": ("nasbench101", SMALL),
    "small-direct": ("nasbench101", {**SMALL, "dependencies": "direct"}),
    "nb201": ("nasbench201", {"method": "cate", "epochs": 21, "batch": 256}),
    "nb201-small": ("nasbench201", {**SMALL, "epochs": 21, "batch": 256}),
    "inside": ("nasbench101", {"method": "cate", "epochs": 60, "space_option": INSIDE}),
    "arch2vec-inside": ("nasbench101", {"epochs": 60, "edge_weight": 6.0, "space_option": INSIDE}),
    "medium": ("medium", {**MIDDLE, "space_option": MEDIUM}),
    "decoder": ("decoder", {**LITTLE, "cells": 10_000, "batch": 256, "space_option": DECODER}),
}


def main(folder: str, *names: str) -> None:
    for name in names or TRAININGS:
        space, given = TRAININGS[name]
        card = secateur.encode_pretrain(space, to=Path(folder) / name, **given).card
        settings = card["settings"]
        row = {"name": name, "learnt_from": card["trained_on"], "epochs": len(card["losses"]), "batch": settings["batch"]}
        row |= {key: settings.get(key, "") for key in ("layers", "cross_layers", "inner", "dependencies")}
        row |= {"first_loss": card["losses"][0], "loss": card["losses"][-1]}
        row |= {figure: card["figures"].get(figure, "") for figure in ("named", "commonest", "cells")}
        replace_rows(HERE / "pretraining.csv", [row], ("name",))


if __name__ == "__main__":
    main(*sys.argv[1:])
