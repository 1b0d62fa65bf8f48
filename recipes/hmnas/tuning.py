"""How masks are learnt on a Transformer: settings tried on a part of STS-B, with MiniLM.

    python recipes/hmnas/tuning.py MINILM GLUE_FOLDER runs/masks      # tuning.csv: validation data, one seed, nothing polished

Each run is one of `secateur.prune` on one thread, all of its stages counted. A run that has its rows is not run again, and one
that was stopped goes on; `cpu_seconds` are then those since.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import is_known, replace_rows  # noqa: E402

TUNING = HERE / "tuning.csv"
LEVELS = ("10%", "20%", "30%", "50%")
#: Scaled down to one core: examples of each split, and tokens of each.
COMMON: dict[str, Any] = {
    "max_train": 800,
    "max_validation": 300,
    "max_test": 800,
    "max_length": 64,
    "polish_at": list(LEVELS),
    "polish": False,
    "measure": False,
    "progress": False,
}
#: What differs from the defaults, so that runs take about as long.
SETTINGS: dict[str, dict[str, Any]] = {
    "learned-masks": {"epochs": 6.0, "mask_epochs": 12.0, "order_learning_rate": 1e-4},
    "weight-sharing": {
        "epochs": 8.0,
        "learning_rate": 2e-4,
        "order_epochs": 6.0,
        "order_learning_rate": 1e-4,
        "trials": 40,
    },
}
#: What is tried: changes of the settings above.
TRIED: dict[str, tuple[str, dict[str, Any]]] = {
    "schedule, 0.02": ("learned-masks", {"mask_learning_rate": 0.02}),
    "lagrangian, 0.02": ("learned-masks", {"mask_budget": "lagrangian", "mask_learning_rate": 0.02}),
    "schedule, 0.005": ("learned-masks", {"mask_learning_rate": 0.005}),
    "schedule, 0.001": ("learned-masks", {"mask_learning_rate": 0.001}),
    "schedule, masks as they begin": ("learned-masks", {"mask_learning_rate": 1e-9}),
    "lagrangian, 0.005": ("learned-masks", {"mask_budget": "lagrangian", "mask_learning_rate": 0.005}),
    "six epochs first, 1e-4": ("weight-sharing", {"learning_rate": 1e-4}),
    "six epochs first, 2e-4": ("weight-sharing", {"learning_rate": 2e-4}),
    "six epochs first, 4e-4": ("weight-sharing", {"learning_rate": 4e-4}),
    "six epochs first, 2e-4, medium": ("weight-sharing", {"space": "medium"}),
    "six epochs first, 2e-4, kd, 10 epochs": ("weight-sharing", {"strategy": "kd", "epochs": 10.0}),
    "three epochs first, 2e-4, 9 epochs": ("weight-sharing", {"order_epochs": 3.0, "epochs": 9.0}),
}


def rows(model: Path, data: Path, folder: Path, about: dict[str, Any], settings: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for the unpruned network and one for each level: the best that was found there."""
    import secateur
    from secateur.errors import BoundError
    from secateur.verbs.resume import resume

    began = time.process_time()
    if folder.exists():
        run = resume(folder, progress=False)
    else:
        given = COMMON | settings | {"method": about["method"], "seed": about["seed"]}
        run = secateur.prune(model, data / about["task"], to=folder, **given)
    spent = round(time.process_time() - began, 1)
    whole = run.unpruned["body_parameters"]
    found = [about | {"level": "unpruned", "share": 1.0, "searched": "", "validation": 1 - run.unpruned["error"]}]
    found[0] |= {"test": 1 - run.unpruned_test["error"], "cpu_seconds": spent}
    for level in LEVELS:
        bound = {"body_parameters": float(level[:-1]) / 100 * whole}
        try:
            searched, best = run.searched.best(under=bound), run.front.best(under=bound)
        except BoundError:
            continue
        row = {"level": level, "share": round(best.values["body_parameters"] / whole, 4)}
        row |= {"searched": 1 - searched.values["error"], "validation": 1 - best.values["error"]}
        test = 1 - best.test["error"] if best.test else ""
        found.append(about | row | {"test": test, "cpu_seconds": spent})
    return [{name: round(v, 4) if isinstance(v, float) else v for name, v in row.items()} for row in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path, help="a folder of GLUE tasks")
    parser.add_argument("runs", type=Path)
    args = parser.parse_args()

    import torch

    torch.set_num_threads(1)
    for name, (method, changes) in TRIED.items():
        about = {"setting": name, "method": method, "task": "stsb", "seed": 100}
        if not is_known(TUNING, setting=name):
            folder = args.runs / "-".join(str(value).replace(", ", "-").replace(" ", "-") for value in about.values())
            replace_rows(TUNING, rows(args.model, args.data, folder, about, SETTINGS[method] | changes), ("setting",))
            print(folder, flush=True)


if __name__ == "__main__":
    main()
