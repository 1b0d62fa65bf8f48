"""Anatomy: where a model family keeps its layers, heads and units. All slicing is written once against this description."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from secateur.spaces.pruning.plan import Kept, LayerPlan, Plan, Shape

HEADS, UNITS = "heads", "units"


@dataclass(frozen=True)
class Cut:
    """A module that shrinks with the heads or units kept.

    `side` is `out` (rows of a Linear) or `in` (its columns). `blocks` counts equal parts that are fused in that side and shrink
    alike (3 for a fused query-key-value projection). An `optional` module is one that not every model of the family has.
    Where `reads_tokens` is False it reads what is the same for all texts, and `position_macs` counts its operations.
    """

    module: str
    side: str
    by: str
    blocks: int = 1
    optional: bool = False
    reads_tokens: bool = True


@dataclass(frozen=True)
class HeadBias:
    """A bias on attention scores that all layers share: a table outside of them with a column for each head.

    Each layer reads the columns of the heads that it keeps; the table stays whole. So that a column belongs to the same place
    in every layer, heads are ordered alike in all of them.
    """

    #: The table, seen from the base model: an Embedding.
    table: str
    #: The module of a layer that is called with the bias (batch, heads, …), and the argument's name.
    module: str
    argument: str


@dataclass(frozen=True)
class Anatomy:
    """One model family. Paths are dotted: `layers` from the base model, all others from a layer."""

    #: transformers' `model_type`.
    family: str
    #: The list of layers.
    layers: str
    cuts: tuple[Cut, ...]
    #: Attributes that shrink in proportion: (module, attribute, heads or units).
    scaled: tuple[tuple[str, str, str], ...]
    #: What stands in for a removed attention: (module, class in `carving`). Covers its normalisation too.
    without_heads: tuple[tuple[str, str], ...]
    #: The same for a removed feed-forward.
    without_units: tuple[tuple[str, str], ...]
    #: The configuration's fields: number of units, and number of head groups where queries share keys and values.
    units_field: str = "intermediate_size"
    groups_field: str | None = None
    #: Whether the configuration alone can say a network with fewer heads of equal size: such results are plain checkpoints.
    plain: bool = False
    #: Whether each token sees only those before it: what language modelling needs.
    decoder: bool = False
    #: Whether the model reads images instead of tokens.
    images: bool = False
    #: Whether attention and feed-forward read the same states, side by side; or the configuration's field that says so.
    parallel: bool | str = False
    #: Whether a sub-layer's output is normalised once more before it is added to the residual.
    sandwiched: bool = False
    #: A module that runs after the first layer, on (the first layer's input, its output, …), seen from the base model; a model
    #: may lack it. Where the first layer is gone, an empty one keeps its place.
    after_first: str | None = None
    #: Whether transformers cannot build a model without layers: a network that has none then has an empty one.
    never_empty: bool = False
    #: Modules that the first layer alone lacks, each with one of the same form that it has.
    first_lacks: tuple[tuple[str, str], ...] = ()
    head_bias: HeadBias | None = None
    #: (configuration, a head's width) → multiply-accumulate operations of one head beside its projections and the products of
    #: queries, keys and values: per pass, and per token.
    position_macs: Callable[[Any, int], tuple[int, int]] | None = None

    def shape(self, config: Any) -> Shape:
        """What there is to prune. Where queries share key/value heads, a group of them is one head."""
        heads = getattr(config, self.groups_field) if self.groups_field else config.num_attention_heads
        units = getattr(config, self.units_field)
        if units is None:  # GPT-2's n_inner
            units = 4 * config.hidden_size
        return Shape(config.num_hidden_layers, heads, units)

    def output(self, by: str) -> Cut:
        """The projection back to the model's width: where importance scores are read."""
        return next(c for c in self.cuts if c.by == by and c.side == "in")

    def cuts_of(self, layer: Any) -> Iterator[Cut]:
        """The cuts that apply to a layer: an optional module may be missing."""
        for cut in self.cuts:
            if not cut.optional or has_module(layer, cut.module):
                yield cut

    def is_parallel(self, config: Any) -> bool:
        return bool(getattr(config, self.parallel)) if isinstance(self.parallel, str) else self.parallel

    def stack(self, plan: Plan) -> tuple[LayerPlan, ...]:
        """The layers that a network of this plan has: the plan's, after an empty one where the first must keep its place."""
        first = plan.layers[0].index if plan.layers else None
        if (self.after_first and first != 0) or (self.never_empty and first is None):
            return (LayerPlan(0, Kept.first(0), Kept.first(0)), *plan.layers)
        return plan.layers

    def describe(self, plan: Plan, shape: Shape) -> dict[str, Any]:
        """The plan's sizes and this anatomy as plain data: what `carving` builds a network of these sizes from."""
        layers: list[dict[str, Any]] = [
            {"index": p.index, "heads": p.heads.count, "units": p.units.count} for p in self.stack(plan)
        ]
        described: dict[str, Any] = {
            "layers": layers,
            "full": {"heads": shape.heads, "units": shape.units},
            "stack": self.layers,
            "cuts": [[c.module, c.side, c.by] for c in self.cuts],
            "scaled": [list(s) for s in self.scaled],
            "without": {"heads": [list(s) for s in self.without_heads], "units": [list(s) for s in self.without_units]},
        }
        if self.first_lacks:
            described["first_lacks"] = [list(pair) for pair in self.first_lacks]
        if self.head_bias:
            described["head_bias"] = [self.head_bias.module, self.head_bias.argument]
            for sizes, kept in zip(layers, self.stack(plan), strict=True):
                sizes["kept"] = kept.heads.indices().tolist()
        return described


def has_module(layer: Any, path: str) -> bool:
    """Whether a layer has a module at this dotted path."""
    try:
        layer.get_submodule(path)
    except AttributeError:
        return False
    return True
