"""A training that has not ended, in a file: it goes on there as if it had not been cut off. Imports torch."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from secateur.errors import StudyError
from secateur.writing import whole


def keep(network: nn.Module, optimiser: torch.optim.Optimizer, state: Path, said: str, losses: list[float]) -> None:
    """Keep what is needed to go on after these epochs, with what was `said` of the training."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    for place, kept in optimiser.state_dict()["state"].items():
        tensors |= {f"adam.{place}.{name}": tensor for name, tensor in kept.items()}
    with whole(state) as draft:
        save_file(tensors, draft, metadata={"said": said, "losses": json.dumps(losses)})


def resumed(network: nn.Module, optimiser: torch.optim.Optimizer, state: Path, said: str) -> list[float]:
    """The losses of the epochs that were done, whose weights and optimiser are taken.

    Raises StudyError where the file is of another training, or damaged.
    """
    if not state.exists():
        return []
    device = str(next(network.parameters()).device)
    try:
        with safe_open(state, framework="pt") as file:
            told = file.metadata() or {}
        if told.get("said") != said:
            raise StudyError(
                f"`{state.parent}` holds the beginning of another pre-training. Give another folder, or remove it."
            )
        tensors = load_file(state, device=device)
    except (SafetensorError, OSError) as error:
        raise StudyError(f"`{state}` cannot be read ({error}). Remove it to begin anew.") from error
    kept: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("adam."):
            _, place, part = name.split(".")
            kept.setdefault(int(place), {})[part] = tensor
    network.load_state_dict(
        {name.removeprefix("network."): tensor for name, tensor in tensors.items() if name.startswith("network.")}
    )
    optimiser.load_state_dict({**optimiser.state_dict(), "state": kept})
    losses: list[float] = json.loads(told["losses"])
    return losses
