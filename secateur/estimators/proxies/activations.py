"""Proxies from binary codes: which units of the feed-forward layers are on (Mellor et al. 2021, NAS without training).

A unit is on where its pre-activation is positive. That is ReLU's own switch, and GELU's and SiLU's to a good approximation.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from secateur.errors import ConfigurationError, EvaluationFailure
from secateur.estimators.proxies.base import check_finite, proxy
from secateur.estimators.proxies.probe import Probe, hooked

#: Activations as functions. Sigmoid and tanh switch nothing off.
FUNCTIONS = {
    *(F.relu, F.relu_, torch.relu, torch.relu_, Tensor.relu, Tensor.relu_, F.relu6, F.leaky_relu, F.leaky_relu_),
    *(F.gelu, F.silu, F.mish, F.elu, F.elu_, F.selu, F.selu_, F.celu, F.celu_, F.hardswish),
}
#: And as modules of torch. Those of transformers are recognised by their module.
_MODULES = (nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.GELU, nn.SiLU, nn.Mish, nn.ELU, nn.SELU, nn.CELU, nn.Hardswish)

#: Contexts that `naswot` compares: the paper's mini-batch. More than units would make the kernel singular.
CONTEXTS = 128


def is_activation(module: nn.Module) -> bool:
    """Whether a module is an activation of the ReLU kind: torch's, or one that transformers defines."""
    if type(module).__module__ == "transformers.activations":
        return type(module).__name__ not in ("LinearActivation", "LaplaceActivation")
    return isinstance(module, _MODULES)


@proxy()
def relu_log_det(probe: Probe) -> float:
    """log |K|, with K_ij = N_A − d_H(c_i, c_j) for the codes c of the batch's N examples.

    N_A: units (and, for texts or images, positions) of all layers; d_H: the Hamming distance. With codes in {0, 1} that is
    K = c cᵀ + (1 − c)(1 − c)ᵀ. A whole text is one example, as in Javaheripi et al. 2022. No loss is used, and nothing of the
    embeddings or the softmax.
    """
    return _log_det(torch.cat([code.flatten(1) for code in _codes(probe)], dim=1), "examples")


@proxy()
def naswot(probe: Probe) -> float:
    """log |K| as `relu_log_det`, with every context as an example: the tokens up to one position.

    That is what a language model gets as an input: a code then is the feed-forward units at one position. Of contexts that
    end in the same token the first counts: without training, attention adds too little for their codes to differ, and a
    determinant of two equal codes is zero. Of more than 128, as many are drawn by the seed. For networks without positions,
    images included, it is `relu_log_det`.
    """
    codes = _codes(probe)
    if any(code.ndim == 3 for code in codes):
        if {code.shape[:2] for code in codes} != {codes[0].shape[:2]}:
            raise EvaluationFailure("`naswot` needs the same positions in all layers, and this network's differ.")
        texts, positions = _distinct_contexts(probe, codes[0].shape[1])
        generator = torch.Generator().manual_seed(probe.seed)
        drawn = torch.randperm(len(texts), generator=generator)[:CONTEXTS].sort().values
        rows = torch.cat([code[texts[drawn], positions[drawn]] for code in codes], dim=1)
        return _log_det(rows, "contexts")
    return relu_log_det(probe)


def _distinct_contexts(probe: Probe, length: int) -> tuple[Tensor, Tensor]:
    """Texts and positions of the contexts, padding left out; those of a language model that end alike once."""
    ids, mask = probe.batch.get("input_ids"), probe.batch.get("attention_mask")
    places: dict[tuple[int, ...], tuple[int, int]] = {}
    for text in range(probe.examples):
        for position in range(length):
            if mask is None or mask[text, position]:
                last = (int(ids[text, position]),) if ids is not None and probe.is_language_model else (text, position)
                places.setdefault(last, (text, position))
    texts, positions = zip(*places.values(), strict=True) if places else ((), ())
    return torch.tensor(texts, dtype=torch.long), torch.tensor(positions, dtype=torch.long)


def _log_det(codes: Tensor, what: str) -> float:
    """log |K| of codes (n, units) of zeros and ones."""
    number, units = codes.shape
    if number < 2:
        raise ConfigurationError(f"codes are compared with one another: the batch needs at least 2 {what}, got {number}.")
    codes = codes.double()  # counts up to 2⁵³ are exact
    kernel = codes @ codes.T + (1 - codes) @ (1 - codes).T
    eigenvalues = torch.linalg.eigvalsh(kernel)
    # In floating point a determinant of zero comes out as something tiny: a kernel without full rank is told by its rank.
    equal = bool((kernel.triu(1) == units).any())
    if equal or eigenvalues[0] <= eigenvalues[-1] * number * torch.finfo(torch.float64).eps:
        why = "two of them have the same code" if equal else f"{units} units do not tell them apart"
        raise EvaluationFailure(f"the kernel of {number} {what} is singular: {why}.")
    return float(eigenvalues.log().sum())


def _codes(probe: Probe) -> list[Tensor]:
    """The codes, as booleans, of every activation in the order in which they ran: each (N, units) or (N, positions, units)."""
    with torch.no_grad(), _pre_activations(probe.network) as found:
        probe.body_output({name: t.detach() for name, t in probe.weights().items()}, probe.inputs())
    if not found:
        raise EvaluationFailure("the network has no ReLU-like activation whose units could be on or off.")
    for number, value in enumerate(found):
        check_finite(value, f"the input of activation {number}")
    return [value > 0 for value in found]


@contextlib.contextmanager
def _pre_activations(network: nn.Module) -> Iterator[list[Tensor]]:
    """Fills the list with the inputs of all activations that run, modules or functions."""
    found: list[Tensor] = []
    watch = _Calls(found)

    def enter(_module: nn.Module, args: tuple[Any, ...]) -> None:
        watch.inside += 1
        found.append(args[0].detach().clone())  # it may work in place

    def leave(*_: Any) -> None:
        watch.inside -= 1

    activations = [module for module in network.modules() if is_activation(module)]
    handles = [module.register_forward_pre_hook(enter) for module in activations]
    handles += [module.register_forward_hook(leave, always_call=True) for module in activations]
    with hooked(handles), watch:
        yield found


class _Calls(TorchFunctionMode):
    """Records the input of activation functions that are called outside activation modules."""

    def __init__(self, found: list[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found = found
        self.inside = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in FUNCTIONS and not self.inside:
            value = args[0] if args else kwargs["input"]
            self.found.append(value.detach().clone())
        return func(*args, **kwargs)
