"""SynFlow: how much of an all-ones input flows through a network of absolute weights (Tanaka et al. 2020)."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from secateur.errors import EvaluationFailure
from secateur.estimators.proxies.activations import FUNCTIONS, is_activation
from secateur.estimators.proxies.base import proxy
from secateur.estimators.proxies.probe import Probe, hooked

_NORMS = {
    F.layer_norm,
    F.batch_norm,
    F.group_norm,
    F.instance_norm,
    F.rms_norm,
    torch.layer_norm,
    torch.batch_norm,
    torch.group_norm,
}
_SOFTMAXES = {F.softmax, torch.softmax, Tensor.softmax}
_BOUNDED = {torch.tanh, Tensor.tanh, F.tanh}


@proxy(needs="shapes", double=True)
def synflow(probe: Probe) -> float:
    """Σ |w · ∂R/∂w|, with R = Σ outputs of the network whose weights are |w| and whose input is ones.

    R is the sum over all paths of the product of their weights: for a chain of linear layers 1ᵀ |W_L| … |W_1| 1, and each
    layer's share of the score is then R. To keep that meaning in networks that are no chain of linear layers and ReLUs:

    - Norms (layer, batch, group, RMS) are the identity: they would divide the flow by its own size, so that R would not depend
      on the weights at all. Their gains and shifts count nothing.
    - Activations are the identity, which ReLU is on positive numbers and what GELU and its kin tend to.
    - Attention mixes positions evenly. The ones make all positions equal, and the mean of equal values is the same with
      any weights that sum to one, so softmax would change neither R nor its gradient by the values' path (and leaves query and
      key no influence on R); but its scores overflow.
    - Biases are zero: a path's product has none.
    - A language model's ones stand in for what its first layer gets, the embedded tokens and positions, and R sums the last
      hidden states before the softmax. As all positions are equal, one is enough. Elsewhere R sums the logits.

    Computed in float64: R grows as the product of the widths, beyond 10³⁸ for 16 layers of ordinary size.
    """
    weights = _absolute(probe)
    with probe.entering(torch.ones_like, zero_others=True) as changed, _norms_are_identity(probe.network), _Linearised():
        output = probe.body_output(weights, changed(_one_example(probe)))
    flow = output.double().sum()
    if not torch.isfinite(flow):
        raise EvaluationFailure(f"the flow through the network is {flow.item()}: it overflowed.")
    gradients = probe.gradients(flow, {name: weights[name] for name in probe.body})
    return sum(float((weights[name].detach().double() * g.double()).abs().sum()) for name, g in gradients.items())


def _absolute(probe: Probe) -> dict[str, Tensor]:
    """The weights, made positive; biases zero."""
    weights = {}
    parameters = dict(probe.network.named_parameters())
    for name, tensor in probe.weights().items():
        if name not in parameters or not tensor.is_floating_point():
            weights[name] = tensor
            continue
        value = tensor.detach()
        value = torch.zeros_like(value) if "bias" in name.rsplit(".", 1)[-1] else value.abs()
        weights[name] = value.requires_grad_(tensor.requires_grad)
    return weights


def _one_example(probe: Probe) -> dict[str, Tensor]:
    """The first example of the batch; its first token alone where the network is a language model."""
    inputs = probe.inputs()
    if probe.is_language_model and "input_ids" in inputs:
        return {"input_ids": inputs["input_ids"][:1, :1]}
    return {name: value[:1] for name, value in inputs.items()}


def _norms_are_identity(network: nn.Module) -> AbstractContextManager[None]:
    """Within: norms and activations that are modules of their own pass their input on, however they compute."""
    passed = [m for m in network.modules() if is_norm(m) or is_activation(m) or isinstance(m, nn.Tanh)]
    return hooked(module.register_forward_hook(lambda _module, args, _output: args[0]) for module in passed)


def is_norm(module: nn.Module) -> bool:
    """Whether a module normalises: a leaf whose class is called …Norm or …Norm2d (families have RMS norms of their own)."""
    return re.search(r"Norm(\dd)?$", type(module).__name__) is not None and not any(True for _ in module.children())


class _Linearised(TorchFunctionMode):
    """Calls of norms and activations give their input back; softmax and attention weigh all positions alike."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _NORMS or func in FUNCTIONS or func in _BOUNDED:
            return args[0] if args else kwargs["input"]
        if func in _SOFTMAXES:
            scores: Tensor = args[0] if args else kwargs["input"]
            dim = kwargs["dim"] if "dim" in kwargs else args[1]
            return torch.full_like(scores, 1 / scores.shape[dim], dtype=kwargs.get("dtype") or scores.dtype)
        if func is F.scaled_dot_product_attention:
            query = args[0] if args else kwargs["query"]
            value: Tensor = args[2] if len(args) > 2 else kwargs["value"]
            mean = value.mean(dim=-2, keepdim=True)
            if kwargs.get("enable_gqa"):
                mean = mean.repeat_interleave(query.shape[-3] // value.shape[-3], dim=-3)
            return mean.expand(*mean.shape[:-2], query.shape[-2], mean.shape[-1])
        return func(*args, **kwargs)
