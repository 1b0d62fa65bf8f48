"""Where the settings of a pruning run differ from the defaults: the paper's, and the demo's."""

from __future__ import annotations

from typing import Any

from secateur.tasks import PAPERS

#: Klein et al. (2024): section 3, appendix A. Only the meaning of zero differs, see docs/decisions.md.
KLEIN2024: dict[str, Any] = {
    "metric": PAPERS,
    "objectives": ["error", "parameters"],
    "searcher": "ehvi",
    "aimed": 0.0,
    "depths": False,
    "epochs": 5.0,
    "learning_rate": 2e-5,
    "batch_size": 4,
    "temperature": 10.0,
    "squared_temperature": True,
    "distillation": "authors",
    "weight_decay": 0.01,
    "max_grad_norm": 0.0,
    "learning_rate_warmup": 0.0,
    "group_by_length": False,
    "order": False,
    "polish": False,
}
#: Minutes on two CPU cores.
DEMO: dict[str, Any] = {"trials": 40, "epochs": 2.0, "polish_at": ["30%", "50%"], "polish_epochs": 1.0, "candidates": 2}
