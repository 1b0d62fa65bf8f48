"""The trainable parameters of NAS-Bench-101's networks (Ying et al. 2019, section 2)."""

from __future__ import annotations

from secateur.spaces.cells.structures import Cell, bit, targets

#: 3 × 3 convolution, 1 × 1 convolution, 3 × 3 max pooling: the sides of the kernels that are trained.
KERNELS = (3, 1, 0)
STACKS = 3
CELLS_PER_STACK = 3
STEM = 128
CLASSES = 10


def parameters(cell: Cell) -> int:
    """A stem, three stacks of three cells, each stack twice as wide, and a classifier.

    Convolutions have no biases and are followed by batch normalisation; what comes from the input is projected to the width of
    the node that takes it.
    """
    total = _convolution(3, 3, STEM)
    incoming = STEM
    for stack in range(STACKS):
        for _ in range(CELLS_PER_STACK):
            total += _of_cell(cell, incoming, STEM << stack)
            incoming = STEM << stack
    return total + incoming * CLASSES + CLASSES


def _of_cell(cell: Cell, incoming: int, outgoing: int) -> int:
    width = widths(cell, outgoing)
    total = 0
    for node in range(1, cell.nodes):
        if cell.bits >> bit(0, node) & 1:
            total += _convolution(1, incoming, width[node])
        if node < cell.nodes - 1 and KERNELS[cell.labels[node - 1]]:
            total += _convolution(KERNELS[cell.labels[node - 1]], width[node], width[node])
    return total


def widths(cell: Cell, outgoing: int) -> list[int]:
    """The channels of each node but the input.

    The output's are shared out over the nodes that it joins, the first of them taking what is left over; every other node is as
    wide as the widest that it feeds.
    """
    last = cell.nodes - 1
    ahead = targets(cell.nodes, cell.bits)
    out = [0] * last + [outgoing]
    joined = [node for node in range(1, last) if ahead[node] >> last & 1]
    for place, node in enumerate(joined):
        out[node] = outgoing // len(joined) + (place < outgoing % len(joined))
    for node in range(last - 1, 0, -1):
        if not out[node]:
            out[node] = max(out[target] for target in range(node + 1, last) if ahead[node] >> target & 1)
    return out


def _convolution(kernel: int, incoming: int, outgoing: int) -> int:
    """With the scales and shifts of its normalisation."""
    return kernel * kernel * incoming * outgoing + 2 * outgoing
