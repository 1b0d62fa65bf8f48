"""Parameters and multiply-accumulate operations of sub-networks, by arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from secateur.anatomy.base import Anatomy
from secateur.spaces.pruning.plan import Plan, Shape
from secateur.supernet.ghosts import cut_tensors, weight_dim


@dataclass(frozen=True)
class LayerCounts:
    """What a layer costs: always, once it has any heads (or units), and for each head (or unit)."""

    always: int
    with_heads: int
    per_head: int
    with_units: int
    per_unit: int
    macs_per_head: int  # per token, in the projections
    macs_per_unit: int
    macs_once_per_head: int  # per pass, whatever the number of tokens
    attention_width: int  # elements of one head's queries: the products of queries, keys and values cost 2 × length² × this

    def parameters(self, heads: int, units: int) -> int:
        with_heads = self.with_heads + heads * self.per_head if heads else 0
        with_units = self.with_units + units * self.per_unit if units else 0
        return self.always + with_heads + with_units

    def macs(self, heads: int, units: int, batch: int, length: int) -> int:
        tokens = batch * length
        products = 2 * tokens * length * self.attention_width * heads
        once = heads * self.macs_once_per_head
        return tokens * (heads * self.macs_per_head + units * self.macs_per_unit) + products + once


def count_layer(layer: nn.Module, anatomy: Anatomy, shape: Shape, config: Any) -> LayerCounts:
    """The counts of one unpruned layer of a model of this configuration. Frozen parameters do not count as parameters."""
    full = {"heads": shape.heads, "units": shape.units}
    whole = {"heads": 0, "units": 0}
    fixed = {"heads": 0, "units": 0}
    macs = {"heads": 0, "units": 0}
    shrinking: set[int] = set()
    for cut in anatomy.cuts_of(layer):
        module = layer.get_submodule(cut.module)
        macs[cut.by] += module.weight.numel() * cut.reads_tokens  # type: ignore[operator]
        for _, tensor, _ in cut_tensors(module, cut):
            shrinking.add(id(tensor))
            whole[cut.by] += tensor.numel() * tensor.requires_grad
    always = 0
    for name, parameter in layer.named_parameters():
        if id(parameter) in shrinking or not parameter.requires_grad:
            continue
        for by, replaced in (("heads", anatomy.without_heads), ("units", anatomy.without_units)):
            if any(name.startswith(path + ".") for path, _ in replaced):
                fixed[by] += parameter.numel()
                break
        else:
            always += parameter.numel()
    output = layer.get_submodule(anatomy.output("heads").module)
    attention_width = int(output.weight.shape[weight_dim(output, "in")]) // full["heads"]  # type: ignore[index]
    once, per_token = anatomy.position_macs(config, attention_width) if anatomy.position_macs else (0, 0)
    return LayerCounts(
        always=always,
        with_heads=fixed["heads"],
        per_head=whole["heads"] // full["heads"],
        with_units=fixed["units"],
        per_unit=whole["units"] // full["units"],
        macs_per_head=macs["heads"] // full["heads"] + per_token,
        macs_per_unit=macs["units"] // full["units"],
        macs_once_per_head=once,
        attention_width=attention_width,
    )


def body(counts: Sequence[LayerCounts], plan: Plan) -> int:
    """Parameters of the plan's layers."""
    return sum(counts[p.index].parameters(p.heads.count, p.units.count) for p in plan.layers)


def body_macs(counts: Sequence[LayerCounts], plan: Plan, batch: int, length: int) -> int:
    """Multiply-accumulate operations of the plan's layers."""
    return sum(counts[p.index].macs(p.heads.count, p.units.count, batch, length) for p in plan.layers)
