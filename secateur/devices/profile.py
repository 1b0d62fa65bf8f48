"""What each layer of a network adds to its peak memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from secateur.devices.memory import PassStorages, weight_bytes


@dataclass(frozen=True)
class LayerBytes:
    """`peak`: the most a layer has alive beyond what there was when it began. `kept`: what is there beyond that when the next
    one begins (states that are returned). `weights`: its parameters and buffers."""

    peak: int
    kept: int
    weights: int


@dataclass(frozen=True)
class OutsideBytes:
    """The parts before and after the layers: `before` the peak until the first layer begins, `entry` what is alive then,
    `after` the peak once the last layer is done, beyond what there was when that layer began. `weights`: theirs."""

    before: int
    entry: int
    after: int
    weights: int


def layer_profile(
    model: nn.Module, inputs: Mapping[str, Tensor], layers: Sequence[nn.Module]
) -> tuple[OutsideBytes, list[LayerBytes]]:
    """Follow one forward pass of `model` (in eval mode, on a CPU or the meta device), split at its `layers`, in their order.

    No KV cache is kept. The last layer's `kept` is left 0: no next layer begins.
    """
    live = PassStorages(model, inputs)
    entries: list[int] = []
    peaks: list[int] = []
    before: list[int] = []

    def begins(*_: Any) -> None:
        if not entries:
            before.append(live.peak)
        entries.append(live.now)
        live.peak = live.now

    def ends(*_: Any) -> None:
        peaks.append(live.peak - entries[-1])
        live.peak = live.now

    handles = [layer.register_forward_pre_hook(begins) for layer in layers]
    handles += [layer.register_forward_hook(ends) for layer in layers]
    try:
        live.follow()
    finally:
        for handle in handles:
            handle.remove()
    weights = [weight_bytes(layer) for layer in layers]
    kept = [later - sooner for sooner, later in pairwise(entries)] + [0]
    outside = OutsideBytes(before[0], entries[0], live.peak - entries[-1], weight_bytes(model) - sum(weights))
    return outside, [LayerBytes(*found) for found in zip(peaks, kept, weights, strict=True)]
