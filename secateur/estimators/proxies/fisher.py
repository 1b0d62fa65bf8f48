"""Fisher: what the loss would lose, to second order, without each channel (Theis et al. 2018)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from secateur.errors import EvaluationFailure
from secateur.estimators.proxies.base import check_finite, proxy
from secateur.estimators.proxies.probe import Probe, hooked


@proxy()
def fisher(probe: Probe) -> float:
    """Σ over channels k of Δ_k = 1/(2N) Σ_n (Σ over positions of a_nk · ∂L_n/∂a_nk)².

    a: outputs of the body's linear and convolutional layers; positions: pixels or tokens; L_n: the loss of example n.
    The projection to a vocabulary is no part of the body, so its channels (one per word) are not summed over.
    zero-cost NAS takes the gradient of the mean loss instead of L_n, which divides the score by N².

    Examples run one by one, so that each has its own loss (texts may have different numbers of labels). Where batch norms tie
    them together, all run at once and N · mean loss stands for the sum of the L_n.
    """
    number = probe.examples
    if probe.has_batch_norm:
        return _sum_of_squares(probe, scale=number) / (2 * number)
    total = 0.0
    for n in range(number):
        one = replace(probe, batch={name: value[n : n + 1] for name, value in probe.batch.items()})
        total += _sum_of_squares(one, scale=1)
    return total / (2 * number)


def _sum_of_squares(probe: Probe, scale: int) -> float:
    """Σ over examples and channels of (Σ over positions of a · ∂(scale · L)/∂a)²."""
    with _layer_outputs(probe) as outputs:
        loss = probe.loss(probe.weights())
    if not outputs:
        raise EvaluationFailure("`fisher` needs linear or convolutional layers, and the network's body has none.")
    gradients = torch.autograd.grad(scale * loss, [output for _, output, _ in outputs], allow_unused=True)
    total = 0.0
    for (name, output, channel), gradient in zip(outputs, gradients, strict=True):
        if gradient is None:
            continue
        check_finite(gradient, f"the gradient by the output of `{name}`")
        products = (output.detach().double() * gradient.double()).movedim(channel, -1)
        # One example: all other dimensions are positions, whatever their order. Several: the first is the example.
        rows = products.reshape(probe.examples, -1, products.shape[-1])
        total += float(rows.sum(1).square().sum())
    return total


@contextlib.contextmanager
def _layer_outputs(probe: Probe) -> Iterator[list[tuple[str, Tensor, int]]]:
    """Fills the list with name, output and channel dimension of every linear or convolutional layer of the body that runs."""
    from transformers.pytorch_utils import Conv1D

    found: list[tuple[str, Tensor, int]] = []
    inside = {id(parameter) for parameter in probe.body.values()}

    def record(name: str, channel: int) -> Any:
        def hook(_module: nn.Module, _args: Any, output: Tensor) -> Tensor:
            if output.requires_grad:
                found.append((name, output, channel))
            return output.clone()  # an activation in place must not change what was recorded

        return hook

    handles = []
    for name, module in probe.network.named_modules():
        kinds = nn.Linear | Conv1D | _ConvNd
        if isinstance(module, kinds) and id(module.weight) in inside:
            # A convolution's channels come before its pixels, a linear layer's come last.
            channel = -1 - len(module.kernel_size) if isinstance(module, _ConvNd) else -1
            handles.append(module.register_forward_hook(record(name, channel)))
    with hooked(handles):
        yield found
