"""The weights of trials that have their own: a folder for each architecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors.torch import load_model, save_model

from secateur.training.checkpoints import loading
from secateur.writing import whole

#: The file in the folder of an architecture.
WEIGHTS = "weights.safetensors"


def save_weights(network: Any, folder: Path) -> None:
    """Write the weights, whole or not at all."""
    with whole(folder / WEIGHTS) as draft:
        save_model(network, str(draft))


def with_weights(network: Any, folder: Path) -> Any:
    """A network of the right sizes with the weights in a folder, in eval mode. Raises StudyError where they are damaged."""
    with loading(str(folder)):
        load_model(network, folder / WEIGHTS, device=str(next(network.parameters()).device))
    return network.eval()
