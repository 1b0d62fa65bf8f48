"""How a network is run when only its outputs count."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import torch


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


def no_cache(model: Any) -> dict[str, bool]:
    """Arguments that keep a decoder from storing keys and values for texts that will not go on; none for other models."""
    return {"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {}
