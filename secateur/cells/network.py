"""A network of stacked cells: a stem, cells of two roles, and a classifier on the mean over all pixels (Liu et al. 2019)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from secateur.architecture import Architecture
from secateur.cells.operations import Convolution, Halving, operation, pointwise
from secateur.spaces.cells.weighted import Edges, edges_of

#: How many times the channels of the cells the stem has.
STEM = 3


@dataclass(frozen=True)
class Sizes:
    """What a network has beside its cells: how many of them, their channels at first, the channels of an image, the classes."""

    cells: int
    channels: int
    colours: int
    classes: int

    @property
    def reductions(self) -> tuple[int, ...]:
        """Which cells halve the size and double the channels: those at a third and at two thirds."""
        return tuple(sorted({self.cells // 3, 2 * self.cells // 3}))


class Cell(nn.Module):
    """One cell. `inputs`: the channels of the two cells before; `halved`: whether the nearer one is half as large."""

    def __init__(self, edges: Edges, inputs: tuple[int, int], channels: int, stride: int, halved: bool) -> None:
        super().__init__()
        self.edges, self.channels = edges, channels
        self.nodes = sorted({edge.target for edge in edges})
        used = {edge.source for edge in edges}
        self.before = nn.ModuleDict()
        if 0 in used:
            self.before["0"] = (Halving if halved else pointwise)(inputs[0], channels)
        if 1 in used:
            self.before["1"] = pointwise(inputs[1], channels)
        self.operations = nn.ModuleDict(
            {
                named(edge.place): nn.ModuleDict(
                    {name: operation(name, channels, stride if edge.source < 2 else 1) for name, _ in edge.operations}
                )
                for edge in edges
            }
        )

    @property
    def outputs(self) -> int:
        """The channels of what it gives: those of its nodes, one after the other."""
        return len(self.nodes) * self.channels

    def forward(self, earlier: Tensor, nearer: Tensor, mixing: Sequence[Tensor]) -> Tensor:
        """(n, channels, height, width) of the two cells before; `mixing` (operations,) says for each edge what counts."""
        states = {int(place): module((earlier, nearer)[int(place)]) for place, module in self.before.items()}
        for node in self.nodes:
            parts = [
                weight * module(states[edge.source])
                for edge, weights in zip(self.edges, mixing, strict=True)
                if edge.target == node
                for weight, module in zip(weights, self._operations(edge.place), strict=True)
            ]
            states[node] = functools.reduce(torch.add, parts)
        return torch.cat([states[node] for node in self.nodes], dim=1)

    def _operations(self, place: tuple[int, int]) -> Any:
        found: Any = self.operations[named(place)]
        return found.values()


def named(place: tuple[int, int]) -> str:
    """An edge's name in a network's state."""
    return f"{place[0]}-{place[1]}"


class Stack(nn.Module):
    """Stem, cells and classifier, for whatever says how much each operation counts. Weights are drawn from `seed`."""

    def __init__(self, cells: Mapping[str, Edges], sizes: Sizes, seed: int) -> None:
        super().__init__()
        self.sizes = sizes
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            width = STEM * sizes.channels
            self.stem = nn.Sequential(nn.Conv2d(sizes.colours, width, 3, padding=1, bias=False), nn.BatchNorm2d(width))
            self.roles: list[str] = []
            self.cells = nn.ModuleList()
            inputs, channels, halved = (width, width), sizes.channels, False
            for place in range(sizes.cells):
                reduces = place in sizes.reductions
                channels *= 2 if reduces else 1
                role = "reduction" if reduces else "normal"
                cell = Cell(cells[role], inputs, channels, 2 if reduces else 1, halved)
                self.roles.append(role)
                self.cells.append(cell)
                inputs, halved = (inputs[1], cell.outputs), reduces
            self.classifier = nn.Linear(inputs[1], sizes.classes)

    def forward(self, images: Tensor, mixing: Mapping[str, Sequence[Tensor]]) -> Tensor:
        """Logits (n, classes) of images (n, colours, height, width)."""
        earlier = nearer = self.stem(images)
        for role, cell in zip(self.roles, self.cells, strict=True):
            earlier, nearer = nearer, cell(earlier, nearer, mixing[role])
        found: Tensor = self.classifier(nearer.mean(dim=(2, 3)))
        return found

    def convolutions(self) -> dict[str, Convolution]:
        """The convolutions of the cells, by name."""
        return {name: module for name, module in self.named_modules() if isinstance(module, Convolution)}

    def count(self) -> tuple[int, int]:
        """How many weights there are that are not masked, and how many are stored."""
        stored = sum(p.numel() for name, p in self.named_parameters() if not name.endswith(".scores"))
        masked = sum(c.weight.numel() - c.counted for c in self.convolutions().values())
        return stored - masked, stored


class CellNetwork(nn.Module):
    """The network of an architecture of `darts` or of weighted cells. What its cells mix is fixed."""

    mixing_normal: Tensor
    mixing_reduction: Tensor

    def __init__(self, architecture: Architecture, sizes: Sizes, seed: int = 0) -> None:
        super().__init__()
        self.architecture, self.sizes = architecture, sizes
        cells = edges_of(architecture)
        self.stack = Stack(cells, sizes, seed)
        self._counts = {role: [len(edge.operations) for edge in edges] for role, edges in cells.items()}
        for role, edges in cells.items():
            weights = [edge.weight * weight for edge in edges for _, weight in edge.operations]
            self.register_buffer(f"mixing_{role}", torch.tensor(weights))

    def forward(self, pixel_values: Tensor) -> Tensor:
        """Logits (n, classes) of images (n, colours, height, width)."""
        mixing = {role: getattr(self, f"mixing_{role}").split(counts) for role, counts in self._counts.items()}
        found: Tensor = self.stack(pixel_values, mixing)
        return found

    def count(self) -> tuple[int, int]:
        """How many weights there are that are not masked, and how many are stored."""
        return self.stack.count()
