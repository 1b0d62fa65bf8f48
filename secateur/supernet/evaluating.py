"""How a network is run when only its outputs count."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from secateur.anatomy.inputs import no_cache

__all__ = ["evaluating", "in_evaluation_mode", "no_cache"]


@contextlib.contextmanager
def in_evaluation_mode(model: Any) -> Iterator[Any]:
    """The model in evaluation mode; each module gets its own mode back."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield model
    finally:
        for module, mode in modes.items():
            module.training = mode


@contextlib.contextmanager
def evaluating(model: Any) -> Iterator[Any]:
    """The model in evaluation mode, without gradients; each module gets its own mode back."""
    with in_evaluation_mode(model), torch.inference_mode():
        yield model
