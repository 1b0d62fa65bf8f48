"""Blocks: a kept layer, and the part of the network that it stands for.

In the paper a block with fewer layers than the reference block learns to give the reference block's output. So does a layer
here: it reads what the teacher's layer in its place reads, and is to write what the next kept layer will read. It then stands
for itself and for the dropped layers behind it; the first kept layer also for those before it, since nothing else reads the
embeddings, and the last for all up to the network's end, since the head reads its output.
"""

from __future__ import annotations

from dataclasses import dataclass

from secateur.architecture import digest
from secateur.spaces.pruning.plan import LayerPlan, Plan, Shape


@dataclass(frozen=True)
class Block:
    """A layer with some of its heads and units that stands for the layers `start` … `end` − 1 of the whole network."""

    layer: LayerPlan
    start: int
    end: int

    @property
    def key(self) -> str:
        """Equal blocks of equal networks have equal keys, whatever sub-network they are a part of."""
        return digest(Plan((self.layer,)).key, f"{self.start}…{self.end}")

    def is_whole(self, shape: Shape) -> bool:
        """Whether it is the teacher's own layer."""
        alone = (self.start, self.end) == (self.layer.index, self.layer.index + 1)
        return alone and (self.layer.heads.count, self.layer.units.count) == (shape.heads, shape.units)


def blocks_of(plan: Plan, layers: int) -> list[Block]:
    """The blocks of a sub-network, in order: together they stand for all `layers` of the whole one, each for at least one."""
    kept = plan.layers
    starts = [0, *(layer.index for layer in kept[1:]), layers]
    return [Block(layer, start, end) for layer, start, end in zip(kept, starts, starts[1:], strict=False)]
