"""Low-rank adaptation (LoRA; Hu et al. 2022): matrices stay as they are, and what is added to them is trained.

A matrix W becomes W + s·B·A with few rows in A and columns in B. Gradients and the optimiser's states are those of A and B
only, so that a network can be trained that would not fit with those of all its weights. Afterwards the product is added to W:
the network has its own modules, names and sizes again.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from transformers.pytorch_utils import Conv1D

#: What the product is multiplied with, whatever the rank: as much as in most published trainings (alpha = 2 × rank).
SCALE = 2.0


def _add(layer: Any, own: Any, inputs: int, outputs: int, rank: int, generator: torch.Generator) -> None:
    """Give a new layer the weight, bias and sizes of its `own`, and two factors."""
    layer.__dict__.update({name: value for name, value in own.__dict__.items() if not name.startswith("_")})
    layer.weight, layer.bias = own.weight, own.bias
    layer.train(own.training)
    like: Any = {"device": own.weight.device, "dtype": torch.float32}
    drawn = torch.empty(rank, inputs).uniform_(-1, 1, generator=generator) / math.sqrt(inputs)
    layer.lora_a = nn.Parameter(drawn.to(**like))
    layer.lora_b = nn.Parameter(torch.zeros(outputs, rank, **like))  # so that the network is at first what it was


def _added(layer: Any, x: torch.Tensor) -> torch.Tensor:
    """What comes to the layer's own output."""
    return SCALE * functional.linear(functional.linear(x.to(layer.lora_a.dtype), layer.lora_a), layer.lora_b)


class LoraLinear(nn.Linear):
    """A Linear with an addition."""

    lora_a: nn.Parameter
    lora_b: nn.Parameter

    def __init__(self, own: nn.Linear, rank: int, generator: torch.Generator) -> None:
        nn.Module.__init__(self)
        _add(self, own, own.in_features, own.out_features, rank, generator)

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - as it is called in torch
        own = super().forward(input)
        return own + _added(self, input).to(own.dtype)

    @torch.no_grad()
    def merge(self) -> None:
        """Add the product to the weight."""
        self.weight.add_(SCALE * (self.lora_b @ self.lora_a).to(self.weight.dtype))


class LoraConv1D(Conv1D):
    """A Conv1D, as GPT-2 has them, with an addition. Its weight is stored (in, out)."""

    lora_a: nn.Parameter
    lora_b: nn.Parameter

    def __init__(self, own: Conv1D, rank: int, generator: torch.Generator) -> None:
        nn.Module.__init__(self)
        _add(self, own, own.nx, own.nf, rank, generator)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        own: torch.Tensor = super().forward(x)
        return own + _added(self, x).to(own.dtype)

    @torch.no_grad()
    def merge(self) -> None:
        """Add the product to the weight."""
        self.weight.add_(SCALE * (self.lora_b @ self.lora_a).T.to(self.weight.dtype))


@contextlib.contextmanager
def low_rank(model: Any, rank: int, seed: int) -> Iterator[None]:
    """Within the context the matrices of the model's body have additions of this rank, which are trained in their place; so are
    biases, norms and the head, and embeddings are not. Afterwards the additions are merged, and all is trained again.

    Rank 0: nothing is added, all is trained. Where what happens inside raises, nothing is merged.
    """
    if not rank:
        yield
        return
    generator = torch.Generator().manual_seed(seed)
    trained = {parameter: parameter.requires_grad for parameter in model.parameters()}
    places = [
        (module, name, child)
        for module in list(model.base_model.modules())
        for name, child in module.named_children()
        if type(child) in (nn.Linear, Conv1D)
    ]
    embedding = model.get_output_embeddings()
    frozen = {child.weight for _, _, child in places} | ({embedding.weight} if embedding is not None else set())
    frozen |= {m.weight for m in model.modules() if isinstance(m, nn.Embedding)}
    additions = []
    for module, name, child in places:
        addition = (LoraLinear if type(child) is nn.Linear else LoraConv1D)(child, rank, generator)
        setattr(module, name, addition)
        additions.append(addition)
    for parameter in trained:
        parameter.requires_grad_(parameter not in frozen)
    done = False
    try:
        yield
        done = True
    finally:
        for (module, name, child), addition in zip(places, additions, strict=True):
            if done:
                addition.merge()
            child.train(addition.training)
            setattr(module, name, child)
        for parameter, before in trained.items():
            parameter.requires_grad_(before)
