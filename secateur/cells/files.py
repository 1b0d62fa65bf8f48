"""A network of cells as a folder: weights as safetensors, its cells and sizes as JSON, a drawing. Reloads bit by bit."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from secateur.architecture import Architecture
from secateur.cells.network import CellNetwork, Sizes
from secateur.errors import ModelError, one_line
from secateur.spaces.cells.darts import Darts
from secateur.spaces.cells.drawing import drawn
from secateur.spaces.cells.weighted import edges_of, graphs, weighted
from secateur.writing import open_weights, whole, write_whole

CELLS, WEIGHTS, DRAWING = "cells.json", "model.safetensors", "cells.svg"


def save_state(module: nn.Module, path: Path) -> None:
    """All of a module's tensors, whole or not at all."""
    with whole(path) as draft:
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in module.state_dict().items()}, draft)
    open_weights(path.parent)


def load_state(module: nn.Module, path: Path) -> None:
    """Fill a module, in place. Raises ModelError where the file is damaged or of another network."""
    try:
        module.load_state_dict(load_file(path))
    except Exception as error:
        raise ModelError(f"`{path}` cannot be loaded: {one_line(error)}.") from error


def save_network(network: CellNetwork, folder: Path, **facts: Any) -> Path:
    """Write a network into a folder. `facts` (plain JSON) are kept with it. The weights come last: with them it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    counted, stored = network.count()
    masked = sorted(name for name, module in network.stack.convolutions().items() if module.kept is not None)
    said = {
        "architecture": network.architecture.as_dict(),
        "sizes": asdict(network.sizes),
        "parameters": counted,
        "stored_parameters": stored,
        "masked": masked,
        **facts,
    }
    write_whole(json.dumps(said, indent=1) + "\n", folder / CELLS)
    write_whole(drawn(graphs(network.architecture)), folder / DRAWING)
    save_state(network, folder / WEIGHTS)
    return folder


def facts_of(folder: Path) -> dict[str, Any]:
    """What is kept with a network. Raises ModelError where the folder holds none."""
    try:
        found = json.loads((folder / CELLS).read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("it is no object")
    except (OSError, ValueError) as error:
        raise ModelError(f"`{folder}` holds no network of cells: {one_line(error)}.") from error
    return found


def load_network(folder: str | Path) -> CellNetwork:
    """The network in a folder, in evaluation mode. Raises ModelError where there is none or it is damaged."""
    folder = Path(folder)
    found = facts_of(folder)
    try:
        architecture = made(found["architecture"])
        network = CellNetwork(architecture, Sizes(**found["sizes"]))
        convolutions = network.stack.convolutions()
        for name in found["masked"]:
            convolutions[name].kept = torch.ones_like(convolutions[name].weight, dtype=torch.bool)
    except Exception as error:
        raise ModelError(f"`{folder / CELLS}` is damaged: {one_line(error)}.") from error
    load_state(network, folder / WEIGHTS)
    return network.eval()


def made(said: dict[str, Any]) -> Architecture:
    """An architecture as it was saved. Raises ConfigurationError, KeyError or TypeError where it cannot be."""
    architecture = Architecture.from_dict(said)
    cells = edges_of(architecture)
    if architecture.space == Darts.name:
        return Darts(nodes=max(edge.target for edge in cells["normal"]) - 1).make(dict(architecture.choices))
    return weighted(cells)
