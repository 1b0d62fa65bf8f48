"""Secateur: the sub-networks of a Transformer that trade quality against cost best, as checkpoints that load.

import secateur

run = secateur.prune("bert-base-cased", data="glue/rte")
half = run.front.best(under={"body_parameters": "50%"})
half.save("rte-half")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secateur.export import load as load
    from secateur.objectives import Objective as Objective
    from secateur.study import Front as Front
    from secateur.supernet import Supernet as Supernet
    from secateur.verbs.demo import demo as demo
    from secateur.verbs.measure import measure as measure
    from secateur.verbs.prune import prune as prune
    from secateur.verbs.resume import resume as resume
    from secateur.verbs.run import Run as Run

__version__ = "0.1.0"

#: Loaded on first use: `import secateur` imports no torch.
_LAZY = {
    "Front": "secateur.study",
    "Objective": "secateur.objectives",
    "Run": "secateur.verbs.run",
    "Supernet": "secateur.supernet",
    "demo": "secateur.verbs.demo",
    "load": "secateur.export",
    "measure": "secateur.verbs.measure",
    "prune": "secateur.verbs.prune",
    "resume": "secateur.verbs.resume",
}

__all__ = ["Front", "Objective", "Run", "Supernet", "__version__", "demo", "load", "measure", "prune", "resume"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'secateur' has no attribute '{name}'")
    return getattr(import_module(_LAZY[name]), name)
