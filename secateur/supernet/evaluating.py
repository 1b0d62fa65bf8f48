"""How a network is run when only its outputs count."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from secateur.anatomy.inputs import no_cache

__all__ = ["evaluating", "no_cache"]


@contextlib.contextmanager
def evaluating(model: Any) -> Iterator[Any]:
    """The model in evaluation mode, without gradients; each module gets its own mode back."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.inference_mode():
            yield model
    finally:
        for module, mode in modes.items():
            module.training = mode
