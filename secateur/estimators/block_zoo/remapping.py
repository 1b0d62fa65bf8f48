"""Parameter remapping: a smaller block takes over the parameters of a larger one, layer by layer and channel by channel
(Lee et al. 2022, equations 1 and 2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from secateur.errors import ConfigurationError
from secateur.images.mobilenet import InvertedResidual, Stage

#: Which channels a smaller layer takes: the first ones, as in the paper, or those that matter most.
ORDERS = ("first", "importance")


@torch.no_grad()
def remap(source: Stage, target: Stage, order: str = "first") -> None:
    """Give `target` the parameters and statistics of `source`: of its first layers, and of each layer's first channels.

    With the order `importance` those of the channels inside a layer whose outgoing weights are largest, as Cai et al. (2020)
    order them: by the sum of the absolute weights of the projection that follows. Chosen channels keep their order.

    Raises ConfigurationError where the target is larger, or where the order is unknown.
    """
    if order not in ORDERS:
        raise ConfigurationError(f"`order` must be {' or '.join(ORDERS)}, got `{order}`.")
    if len(target) > len(source):
        raise ConfigurationError(f"a block of {len(target)} layers cannot be cut out of one of {len(source)}.")
    for small, large in zip(target, source, strict=False):
        assert isinstance(small, InvertedResidual)
        assert isinstance(large, InvertedResidual)
        _remap_layer(large, small, order)


def _remap_layer(large: InvertedResidual, small: InvertedResidual, order: str) -> None:
    inner = _chosen(large.project.weight, small.project.in_channels, order)
    _copy(small.expand.weight, large.expand.weight[inner])
    _copy_norm(small.expand_norm, large.expand_norm, inner)
    _copy(small.depthwise.weight, large.depthwise.weight[inner])
    _copy_norm(small.depthwise_norm, large.depthwise_norm, inner)
    if small.squeeze is not None and large.squeeze is not None:
        squeezed = _chosen(large.squeeze.expand.weight, small.squeeze.reduce.out_channels, order)
        for part in (small.squeeze.reduce.bias, small.squeeze.expand.bias):
            assert part is not None
        _copy(small.squeeze.reduce.weight, large.squeeze.reduce.weight[squeezed][:, inner])
        _copy(small.squeeze.reduce.bias, large.squeeze.reduce.bias[squeezed])  # type: ignore[arg-type, index]
        _copy(small.squeeze.expand.weight, large.squeeze.expand.weight[inner][:, squeezed])
        _copy(small.squeeze.expand.bias, large.squeeze.expand.bias[inner])  # type: ignore[arg-type, index]
    _copy(small.project.weight, large.project.weight[:, inner])
    _copy_norm(small.project_norm, large.project_norm, torch.arange(large.project.out_channels))


def _chosen(following: Tensor, count: int, order: str) -> Tensor:
    """Which of the channels that the weights `following` (out, channels, 1, 1) take in are kept."""
    there = following.shape[1]
    if count > there:
        raise ConfigurationError(f"a layer of {count} channels cannot be cut out of one of {there}.")
    if order == "first":
        return torch.arange(count)
    sums = following.abs().sum(dim=(0, 2, 3))
    return sums.argsort(descending=True, stable=True)[:count].sort().values


def _copy(target: Tensor, source: Tensor) -> None:
    target.copy_(source)


def _copy_norm(target: nn.BatchNorm2d, source: nn.BatchNorm2d, channels: Tensor) -> None:
    _copy(target.weight, source.weight[channels])
    _copy(target.bias, source.bias[channels])
    for name in ("running_mean", "running_var"):
        _copy(getattr(target, name), getattr(source, name)[channels])
    assert target.num_batches_tracked is not None
    assert source.num_batches_tracked is not None
    _copy(target.num_batches_tracked, source.num_batches_tracked)
