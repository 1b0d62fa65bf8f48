"""From a super-network to the network of one architecture, with the super-network's weights: physically smaller."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from secateur.architecture import Architecture
from secateur.cells.network import STEM, Cell, CellNetwork, named
from secateur.cells.operations import Convolution
from secateur.cells.supernet import CellSupernet
from secateur.errors import ConfigurationError
from secateur.spaces.cells.darts import ROLES, Darts
from secateur.spaces.cells.weighted import Edge, weighted

#: The ways to derive an architecture: by the masks that were learnt, or by DARTS' rule.
DERIVATIONS = MASKS, TOP_TWO = "masks", "top-2"


def whole(supernet: CellSupernet) -> Architecture:
    """The super-network itself as an architecture: all edges and operations, as they count now."""
    return _architecture(supernet, masked=False)


def by_masks(supernet: CellSupernet) -> Architecture:
    """What the masks leave. Raises ConfigurationError where they leave nothing of a cell."""
    try:
        return _architecture(supernet, masked=True)
    except ConfigurationError as error:
        raise ConfigurationError(f"the masks took too much: {error} Give a lower `mask_rate` or `threshold`.") from error


@torch.no_grad()
def _architecture(supernet: CellSupernet, masked: bool) -> Architecture:
    cells = {}
    for role in ROLES:
        edges, operations = (part.tolist() for part in supernet.shares(role))
        on_edges, on_operations = [1.0] * len(edges), [[1.0] * len(supernet.operations)] * len(edges)
        if masked:
            on_edges, on_operations = (part.tolist() for part in supernet.on(role))
        cells[role] = [
            Edge(source, target, edges[place], _those_on(supernet.operations, operations[place], on_operations[place]))
            for place, (source, target) in enumerate(supernet.places)
            if on_edges[place]
        ]
    return weighted(cells)


def _those_on(names: tuple[str, ...], shares: list[float], on: list[float]) -> tuple[tuple[str, float], ...]:
    return tuple((name, share) for name, share, is_on in zip(names, shares, on, strict=True) if is_on)


@torch.no_grad()
def by_top_two(supernet: CellSupernet) -> Architecture:
    """DARTS' rule: of each edge the operation that counts most, and of each node the two edges whose operation counts most.

    What an operation counts is, with weights of edges, the product of both.
    """
    chosen = {}
    for role in ROLES:
        edges, operations = supernet.shares(role)
        most, which = (edges[:, None] * operations).max(dim=1)
        rows = []
        for node in range(supernet.nodes):
            into = [place for place, (_, target) in enumerate(supernet.places) if target == 2 + node]
            best = sorted(sorted(into, key=lambda place: -float(most[place]))[:2])
            rows += [(supernet.operations[int(which[place])], supernet.places[place][0]) for place in best]
        chosen[role] = tuple(rows)
    return Darts(nodes=supernet.nodes, operations=supernet.operations).make(chosen)


@torch.no_grad()
def extract(supernet: CellSupernet, architecture: Architecture) -> CellNetwork:
    """The network of an architecture with the super-network's weights, and nothing else of it. Masked weights are zero.

    Where the architecture mixes as the super-network does, masks included, it computes the same.
    """
    network = CellNetwork(architecture, supernet.sizes)
    network.to(supernet.stack.classifier.weight.device)
    network.stack.stem.load_state_dict(supernet.stack.stem.state_dict())
    stem = STEM * supernet.sizes.channels
    columns: list[Tensor] = [torch.arange(stem), torch.arange(stem)]  # of what the cells before give, what is still there
    for cell, source in zip(network.stack.cells, supernet.stack.cells, strict=True):
        assert isinstance(cell, Cell)
        assert isinstance(source, Cell)
        for place, module in cell.before.items():
            _copy(source.before[place], module, columns[int(place)])
        for edge in cell.edges:
            for name, _ in edge.operations:
                every: nn.ModuleDict = source.operations[named(edge.place)]  # type: ignore[assignment]
                some: nn.ModuleDict = cell.operations[named(edge.place)]  # type: ignore[assignment]
                _copy(every[name], some[name])
        kept = [torch.arange(cell.channels) + (node - 2) * cell.channels for node in cell.nodes]
        columns = [columns[1], torch.cat(kept)]
    last = network.stack.classifier
    last.weight.copy_(supernet.stack.classifier.weight[:, columns[1].to(last.weight.device)])
    last.bias.copy_(supernet.stack.classifier.bias)
    return network


def _pairs(source: nn.Module, target: nn.Module) -> Iterator[tuple[nn.Module, nn.Module]]:
    return zip(source.modules(), target.modules(), strict=True)


def _copy(source: nn.Module, target: nn.Module, columns: Tensor | None = None) -> None:
    """Weights, masks and statistics; of a module that reads an earlier cell, for those of its `columns` that are there."""
    for one, other in _pairs(source, target):
        if isinstance(one, Convolution) and isinstance(other, Convolution):
            rows = slice(None) if columns is None else columns.to(one.weight.device)
            other.weight.copy_(one.effective()[:, rows])
            if one.scores is not None:
                other.kept = (one.scores > one.threshold)[:, rows].clone()
        elif isinstance(one, nn.BatchNorm2d):
            other.load_state_dict(one.state_dict())
