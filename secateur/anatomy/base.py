"""Anatomy: where a model family keeps its layers, heads and units. All slicing is written once against this description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from secateur.spaces.pruning.plan import Plan, Shape

HEADS, UNITS = "heads", "units"


@dataclass(frozen=True)
class Cut:
    """A module that shrinks with the heads or units kept.

    `side` is `out` (rows of a Linear) or `in` (its columns). `blocks` counts equal parts that are fused in that side and shrink
    alike (3 for a fused query-key-value projection).
    """

    module: str
    side: str
    by: str
    blocks: int = 1


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

    def describe(self, plan: Plan, shape: Shape) -> dict[str, Any]:
        """The plan's sizes and this anatomy as plain data: what `carving` builds a network of these sizes from."""
        return {
            "layers": [{"index": p.index, "heads": p.heads.count, "units": p.units.count} for p in plan.layers],
            "full": {"heads": shape.heads, "units": shape.units},
            "stack": self.layers,
            "cuts": [[c.module, c.side, c.by] for c in self.cuts],
            "scaled": [list(s) for s in self.scaled],
            "without": {"heads": [list(s) for s in self.without_heads], "units": [list(s) for s in self.without_units]},
        }
