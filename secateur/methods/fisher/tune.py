"""Stage 4: what is kept of each layer is scaled to stand in for what is pruned (Kwon et al. 2022, section 4.3).

Layer by layer, first its heads and then its units: the factors for which the pruned network's hidden states, residual included,
are nearest to the unpruned network's on some examples, by linear least squares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from secateur.anatomy.base import HEADS, UNITS, has_module
from secateur.methods.fisher.fold import fold
from secateur.spaces.pruning.plan import Plan
from secateur.supernet import Supernet
from secateur.supernet.evaluating import in_evaluation_mode
from secateur.supernet.ghosts import weight_dim
from secateur.supernet.recording import LayerCalls, recorded

#: What is added to the squared error is this times the squared distance of the factors from 1.
DAMPING = 1.0
#: A factor beyond this, or below its negative, is none to be trusted: that layer and all later ones stay as they are.
LARGEST = 10.0

Factors = dict[tuple[int, str], np.ndarray]


def tuned(supernet: Supernet, plan: Plan, batches: Iterable[Mapping[str, torch.Tensor]]) -> tuple[Any, Factors]:
    """The extracted sub-network with tuned weights, in evaluation mode, and the factors that are folded into them: (k,) for
    the k kept heads or units of a layer, by the layer's index in the unpruned network and `heads` or `units`."""
    anatomy = supernet.anatomy
    network = supernet.extract(plan).eval()
    stack = network.base_model.get_submodule(anatomy.layers)
    small = dict(zip((p.index for p in anatomy.stack(plan)), stack, strict=True))
    sizes = {p.index: {HEADS: p.heads.count, UNITS: p.units.count} for p in anatomy.stack(plan)}
    factors: Factors = {}
    with in_evaluation_mode(supernet.model), torch.no_grad():
        passes = [_before_layers(supernet, batch) for batch in batches]
        for index, layer in enumerate(supernet.layers):
            aims: dict[str, list[torch.Tensor]] = {HEADS: [], UNITS: []}
            for one in passes:
                seen, one.whole = _watched(supernet, layer, one, index, one.whole, (HEADS, UNITS))
                for by, aim in aims.items():
                    aim.append(seen[by].sums)
            if index not in small:
                continue
            for by in (by for by, count in sizes[index].items() if count):
                projection = small[index].get_submodule(anatomy.output(by).module)
                found = least_squares(
                    projection, sizes[index][by], _errors(supernet, small[index], index, by, passes, aims[by])
                )
                if not (np.abs(found) <= LARGEST).all():
                    return network, factors
                factors[index, by] = found
                fold(projection, found)
            for one in passes:
                one.pruned = one.calls.run(small[index], index, one.pruned)
    return network, factors


def least_squares(projection: nn.Module, count: int, errors: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> np.ndarray:
    """The factors (count,) on parts of a projection's input that best make up for an error of its output.

    `errors` are pairs of inputs (n, width) and of what lacks in the output (n, model's width). With A the output of each part
    as a column, the factors are 1 + r, where r minimises ‖A r − e‖² + DAMPING ‖r‖². AᵀA is a product of two Gram matrices,
    element by element: that of the inputs and that of the weights.
    """
    weight: Any = projection.weight
    columns = (weight if weight_dim(projection, "in") == 0 else weight.T).cpu().double()  # (width, model's width)
    gram = torch.zeros(len(columns), len(columns), dtype=torch.float64)
    right = torch.zeros(len(columns), dtype=torch.float64)
    for inputs, lacking in errors:
        gram += (inputs.T @ inputs).cpu().double()
        right += ((lacking @ columns.T.to(lacking)) * inputs).sum(0).cpu().double()
    normal = (gram * (columns @ columns.T)).view(count, -1, count, len(columns) // count).sum((1, 3)).numpy()
    moved: np.ndarray = np.linalg.solve(normal + DAMPING * np.eye(count), right.view(count, -1).sum(1).numpy())
    return 1 + moved


@dataclass
class _Pass:
    """One batch on its way through both networks: its states before a layer, and what else each layer is called with."""

    whole: torch.Tensor
    pruned: torch.Tensor
    calls: LayerCalls


def _before_layers(supernet: Supernet, batch: Mapping[str, torch.Tensor]) -> _Pass:
    """A batch before the first layer, where both networks are the same."""
    states, calls = recorded(supernet, batch)
    return _Pass(states[0], states[0], calls)


def _errors(
    supernet: Supernet, layer: nn.Module, index: int, by: str, passes: list[_Pass], aims: list[torch.Tensor]
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """What the pruned layer's projection reads, and what lacks in its output, batch by batch."""
    for one, aim in zip(passes, aims, strict=True):
        seen = _watched(supernet, layer, one, index, one.pruned, (by,))[0][by]
        yield seen.inputs, aim - seen.sums


class _Watch:
    """Of the tokens that are no padding, what a sub-layer's last projection reads, and what it writes with the residual."""

    def __init__(self, tokens: torch.Tensor, residual: Any = None) -> None:
        self.tokens = tokens.flatten()
        self.residual = residual
        self.inputs: Any = None
        self.sums: Any = None

    def begins(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.residual is None:
            self.residual = args[0] if args else kwargs["hidden_states"]

    def adds(self, module: nn.Module, args: tuple[Any, ...], output: torch.Tensor) -> None:
        self.residual = self.residual + output

    def ends(self, module: nn.Module, args: tuple[Any, ...], output: torch.Tensor) -> None:
        # OPT's feed-forward reads (rows × T, width)
        sums = output if self.residual is None else self.residual.reshape(output.shape) + output
        self.inputs, self.sums = args[0].flatten(0, -2)[self.tokens], sums.flatten(0, -2)[self.tokens]


def _watched(
    supernet: Supernet, layer: nn.Module, one: _Pass, index: int, states: torch.Tensor, sub_layers: tuple[str, ...]
) -> tuple[dict[str, _Watch], torch.Tensor]:
    """What is seen in sub-layers of a layer, and the layer's output."""
    anatomy = supernet.anatomy
    parallel = anatomy.is_parallel(supernet.model.config)
    watches: dict[str, _Watch] = {}
    handles = []
    try:
        for by in sub_layers:
            # The residual of attention is what the layer reads. A norm between projection and residual leaves none to speak of.
            reads_input = (by == HEADS or parallel) and not anatomy.sandwiched
            watch = watches[by] = _Watch(one.calls.tokens, states if reads_input else None)
            attention = anatomy.output(HEADS).module
            if by == UNITS and parallel and has_module(layer, attention):  # both are added to one residual, attention first
                handles.append(layer.get_submodule(attention).register_forward_hook(watch.adds))
            elif by == UNITS and not anatomy.sandwiched:
                # Without these modules the sub-layer would hand on the residual: so the first of them to run is given it.
                for path, _ in anatomy.without_units:
                    handles.append(layer.get_submodule(path).register_forward_pre_hook(watch.begins, with_kwargs=True))
            handles.append(layer.get_submodule(anatomy.output(by).module).register_forward_hook(watch.ends))
        return watches, one.calls.run(layer, index, states)
    finally:
        for handle in handles:
            handle.remove()
