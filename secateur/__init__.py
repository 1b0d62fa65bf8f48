"""Secateur: the Transformer architectures that trade quality against cost best, as checkpoints that load.

import secateur

run = secateur.prune("bert-base-cased", data="glue/rte")  # from a pre-trained Transformer
half = run.front.best(under={"body_parameters": "50%"})
half.save("rte-half")

run = secateur.design()  # from nothing, for this machine
run.front.best(under={"latency": "200ms"}).train("my-text", to="my-model")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from secateur.catalogue import CATALOGUE

if TYPE_CHECKING:
    from secateur.checkpoints import load as load
    from secateur.objectives import Objective as Objective
    from secateur.runs.cells.run import CellsRun as CellsRun
    from secateur.runs.design.run import DesignRun as DesignRun
    from secateur.runs.folder import open_run as open_run
    from secateur.runs.prune.run import PruneRun as PruneRun
    from secateur.study import Front as Front
    from secateur.supernet import Supernet as Supernet

__version__ = "0.1.0"

#: Loaded on first use: `import secateur` imports no torch.
_LAZY = {
    "CellsRun": "secateur.runs.cells.run",
    "DesignRun": "secateur.runs.design.run",
    "Front": "secateur.study",
    "Objective": "secateur.objectives",
    "PruneRun": "secateur.runs.prune.run",
    "Supernet": "secateur.supernet",
    "load": "secateur.checkpoints",
    "open_run": "secateur.runs.folder",
    **{
        entry.where.partition(":")[2]: entry.where.partition(":")[0]
        for entry in CATALOGUE["verb"].values()
        if "cli" not in entry.serves
    },
}

__all__ = ["__version__", *_LAZY]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'secateur' has no attribute '{name}'")
    return getattr(import_module(_LAZY[name]), name)
