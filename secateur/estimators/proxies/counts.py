"""Proxies that count: weights, their size, and multiply-accumulates. `parameters` and `macs` are of the whole network."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from secateur.estimators.proxies.base import proxy
from secateur.estimators.proxies.body import decoder_modules, input_lookup, output_embeddings
from secateur.estimators.proxies.probe import Probe, hooked


class FlopCount(TorchDispatchMode):
    """Adds up `flops`, two per multiply-accumulate, of the matrix products and convolutions that run, backward passes too.

    torch's own counter also follows modules, which fails where a forward pass is left early, as it is here.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.flops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None:
            self.flops += int(formula(*args, **kwargs, out_val=result))
        return result


@proxy(needs="nothing", weights=False)
def parameters(probe: Probe) -> float:
    """All parameters, shared ones once."""
    return float(sum(p.numel() for p in probe.network.parameters()))


@proxy(needs="nothing", weights=False)
def decoder_parameters(probe: Probe) -> float:
    """Parameters of the body: of a decoder its layers and final norm, without embeddings and softmax."""
    return float(sum(p.numel() for p in probe.body.values()))


@proxy(needs="nothing")
def l2_norm(probe: Probe) -> float:
    """Σ over the body's tensors W of ‖W‖₂."""
    return sum(float(p.detach().double().norm()) for p in probe.body.values())


@proxy(needs="shapes", weights=False)
def macs(probe: Probe) -> float:
    """Multiply-accumulates of one forward pass over the batch, all logits included."""
    with torch.no_grad(), FlopCount() as count:
        probe.run(probe.weights(), probe.inputs())
    return float(count.flops) / 2


@proxy(needs="shapes", weights=False)
def decoder_macs(probe: Probe) -> float:
    """Multiply-accumulates of the body in one forward pass over the batch, without embeddings and softmax."""
    inside = decoder_modules(probe.network)
    total = 0
    with torch.no_grad(), FlopCount() as count:
        started: list[int] = []

        def enter(_module: nn.Module, _args: Any) -> None:
            started.append(count.flops)

        def leave(_module: nn.Module, _args: Any, _output: Any) -> None:
            nonlocal total
            total += count.flops - started.pop()

        outside = [m for m in (input_lookup(probe.network), output_embeddings(probe.network)) if m is not None]
        handles = [module.register_forward_pre_hook(enter) for module in inside or outside]
        handles += [module.register_forward_hook(leave) for module in inside or outside]
        with hooked(handles):
            probe.body_output(probe.weights(), probe.inputs())
    return (total if inside else count.flops - total) / 2
