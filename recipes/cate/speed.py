"""What a step of pre-training takes, on NAS-Bench-101.

    python recipes/cate/speed.py cuda    # → speed.csv; cpu: on one core

On a GPU steps are recorded and replayed; `plain` are those that are not.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import replace_rows  # noqa: E402

from secateur.encodings.learned import steps  # noqa: E402
from secateur.encodings.learned.arch2vec import Arch2vec  # noqa: E402
from secateur.encodings.learned.arch2vec_settings import Arch2vecSettings  # noqa: E402
from secateur.encodings.learned.cate import Cate  # noqa: E402
from secateur.encodings.learned.cate_settings import CateSettings  # noqa: E402
from secateur.encodings.sequence import as_graphs  # noqa: E402
from secateur.runs.encode.material import cells_of  # noqa: E402
from secateur.spaces.cells import NasBench101  # noqa: E402

#: Name → learner and settings.
ASKED: dict[str, tuple[Any, Any]] = {
    "cate 12 + 24": (Cate, CateSettings()),
    "cate 3 + 6": (Cate, CateSettings(layers=3, cross_layers=6)),
    "arch2vec": (Arch2vec, Arch2vecSettings()),
    "arch2vec, batch 256": (Arch2vec, Arch2vecSettings(batch=256)),
}


def timed(model: Any, cells: Any, count: int) -> float:
    """Seconds of a step."""
    task, optimiser = model._task(cells), model._optimiser()
    model.network.train()
    taken = steps.Steps(model.network, optimiser, task.loss, None)
    wait = torch.cuda.synchronize if model.device.type == "cuda" else lambda: None
    for number in range(6 + count):
        if number == 6:  # by then a step was recorded
            wait()
            began = time.perf_counter()
        taken.take(torch.randint(task.examples, (model.s.batch,), device=model.device))
    wait()
    return (time.perf_counter() - began) / count


def main(device: str) -> None:
    torch.set_num_threads(1)
    space = NasBench101()
    cells = cells_of(space, 4096, 0, priced=True)
    rows = []
    for way, before in (("recorded", steps.BEFORE), ("plain", 10**9))[device == "cpu" :]:
        steps.BEFORE = before
        for name, (kind, settings) in ASKED.items():
            seconds = timed(kind(as_graphs(space).shape, settings, 0, device), cells, 5 if device == "cpu" else 60)
            rows.append({"what": name, "batch": settings.batch, "device": device, "steps": way, "seconds": seconds})
    replace_rows(HERE / "speed.csv", rows, ("device", "steps", "what"))


if __name__ == "__main__":
    main(*sys.argv[1:])
