"""The gradients of an architecture's parameters on images that the weights are not trained on (Liu et al. 2019, section 2.3).

- first order: as if the weights did not depend on the architecture;
- second order: after one step of the weights, which does; the product of the Hessian with the gradient by finite differences.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from secateur.cells.supernet import CellSupernet

#: How far weights are moved for the finite difference: this, divided by the gradient's norm (Liu et al. 2019, footnote 2).
DIFFERENCE = 0.01

Batch = dict[str, Tensor]


def loss_of(network: nn.Module, batch: Batch) -> Tensor:
    """The mean cross-entropy of a batch."""
    return F.cross_entropy(network(batch["pixel_values"]), batch["labels"])


@contextlib.contextmanager
def statistics_kept(network: nn.Module) -> Iterator[None]:
    """Within the context, passes leave the statistics of normalisations as they are."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    kept = [(norm.momentum, norm.num_batches_tracked.clone()) for norm in norms if norm.num_batches_tracked is not None]
    for norm in norms:
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, (momentum, seen) in zip(norms, kept, strict=True):
            norm.momentum = momentum
            norm.num_batches_tracked = seen


def first_order(supernet: CellSupernet, validation: Batch) -> list[Tensor]:
    """The gradient of the validation loss for each architecture parameter."""
    with statistics_kept(supernet):
        return list(torch.autograd.grad(loss_of(supernet, validation), supernet.architecture_parameters()))


def second_order(
    supernet: CellSupernet, train: Batch, validation: Batch, rate: float, momentum: Sequence[Tensor | None], decay: float
) -> list[Tensor]:
    """The gradient of the validation loss after a step of the weights at this learning rate on the training batch.

    `momentum`: for each weight what the optimizer adds to its gradient; None: nothing. `decay`: its weight decay.
    """
    weights, parameters = supernet.weights(), supernet.architecture_parameters()
    before = [weight.detach().clone() for weight in weights]
    try:
        with statistics_kept(supernet):
            steps = torch.autograd.grad(loss_of(supernet, train), weights)
            with torch.no_grad():
                for weight, step, more in zip(weights, steps, momentum, strict=True):
                    weight.sub_(rate * (step + decay * weight + (0.0 if more is None else more)))
            ahead = torch.autograd.grad(loss_of(supernet, validation), [*parameters, *weights])
            direct, vector = ahead[: len(parameters)], ahead[len(parameters) :]
            norm = torch.stack([(part**2).sum() for part in vector]).sum().sqrt()
            far = DIFFERENCE / max(float(norm), 1e-12)
            sides = []
            for sign in (1.0, -1.0):
                with torch.no_grad():
                    for weight, start, part in zip(weights, before, vector, strict=True):
                        weight.copy_(start + sign * far * part)
                sides.append(torch.autograd.grad(loss_of(supernet, train), parameters))
    finally:
        with torch.no_grad():
            for weight, start in zip(weights, before, strict=True):
                weight.copy_(start)
    return [one - rate * (plus - minus) / (2 * far) for one, plus, minus in zip(direct, *sides, strict=True)]
