"""A Transformer encoder for small graphs: who attends to whom is given. Imports torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import relu, scaled_dot_product_attention


class Block(nn.Module):
    """Attention and a feed-forward part, each on what is normalised, and added to it.

    The products of queries and keys are divided by the root of the width, not of a head's, as the text has it (Yan 2022,
    equation 4.3).
    """

    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads, self.scale = heads, width**-0.5
        self.before_attention, self.before_units = nn.LayerNorm(width), nn.LayerNorm(width)
        self.projected = nn.Linear(width, 3 * width)
        self.joined = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, values: Tensor, seen: Tensor) -> Tensor:
        """Values (b, n, width); `seen` (b, 1, n, n) is true (or 0) where the node of a row attends to that of a column, and
        false (or −∞) elsewhere."""
        b, n, width = values.shape
        parts = self.projected(self.before_attention(values)).reshape(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        queries, keys, taken = parts.unbind(0)
        taken = scaled_dot_product_attention(queries, keys, taken, attn_mask=seen, scale=self.scale)
        values = values + self.joined(taken.transpose(1, 2).reshape(b, n, width))
        out: Tensor = values + self.down(relu(self.up(self.before_units(values))))
        return out


#: Rows and columns that a kernel of attention works on at once on a GPU, however few there are.
TILE = 64


class Stack(nn.Module):
    """Blocks one after the other, and a normalisation at the end."""

    def __init__(self, layers: int, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, heads, inner) for _ in range(layers))
        self.after = nn.LayerNorm(width)

    def forward(self, values: Tensor, seen: Tensor, count: int | None = None) -> Tensor:
        """Values (b, n, width), `seen` (b, n, n); every node sees itself at least.

        `count` graphs are read as one, to the same end: by default as many as fill a tile on a GPU.
        """
        b, n, width = values.shape
        if count is None:
            count = together(b, n) if values.is_cuda else 1
        values, seen = values.reshape(b // count, count * n, width), apart(seen, count)
        hidden = torch.zeros(seen.shape, dtype=values.dtype, device=seen.device).masked_fill_(~seen, -torch.inf)[:, None]
        for block in self.blocks:
            values = block(values, hidden)
        out: Tensor = self.after(values)
        return out.reshape(b, n, width)


def together(b: int, n: int) -> int:
    """How many of b graphs with n nodes are read as one graph, so that they fill a tile: a divisor of b."""
    return next(count for count in range(max(1, TILE // n), 0, -1) if b % count == 0)


def apart(seen: Tensor, count: int) -> Tensor:
    """Who attends to whom (b / count, count · n, count · n) where `count` of the graphs in `seen` (b, n, n) are read as one:
    nobody to nodes of another."""
    b, n, _ = seen.shape
    own = torch.eye(count, dtype=torch.bool, device=seen.device)[:, None, :, None]
    return (seen.reshape(b // count, count, n, 1, n) & own).reshape(b // count, count * n, count * n)


def paths(edges: Tensor) -> Tensor:
    """Whether a path leads from the node of a row to that of a column, (b, n, n), given the edges: Floyd's algorithm."""
    found = edges.bool().clone()
    for node in range(found.shape[1]):
        found |= found[:, :, node, None] & found[:, node, None, :]
    return found


def with_self(seen: Tensor) -> Tensor:
    """Who attends to whom (b, n, n), with every node attending to itself."""
    return seen | torch.eye(seen.shape[1], dtype=torch.bool, device=seen.device)
