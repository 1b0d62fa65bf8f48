"""The super-network of all cells: every edge, every operation, mixed by two softmaxes (Yan 2022, equations 2.1 and 2.2).

Its masks (equation 2.4) are multiplied with what comes out of the softmaxes: multiplied with what goes in, as the text has it,
a zero would leave an operation its share.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from secateur.cells.network import Sizes, Stack
from secateur.errors import ConfigurationError
from secateur.spaces.cells.darts import ROLES
from secateur.spaces.cells.darts_cells import OPERATIONS
from secateur.spaces.cells.weighted import Edge, places
from secateur.supernet.step import step

#: How architecture parameters begin: random, at this scale.
SCALE = 1e-3
#: Which weights an architecture has: of operations and edges, or of operations alone.
ENCODINGS = MULTI, SINGLE = "multi-level", "single-level"


class CellSupernet(nn.Module):
    """All cells of so many `nodes` in one network.

    `alphas` (edges, operations) and `betas` (edges,) are the architecture's parameters, by role; with the encoding
    `single-level` there are no betas, and all edges count 1, as in DARTS. `operation_scores` and `edge_scores` are the masks'
    while there are such.
    """

    def __init__(
        self, sizes: Sizes, nodes: int = 4, encoding: str = MULTI, operations: Sequence[str] = OPERATIONS, seed: int = 0
    ) -> None:
        super().__init__()
        self.sizes, self.nodes, self.encoding, self.operations = sizes, nodes, encoding, tuple(operations)
        self.places = places(nodes)
        every = tuple(Edge(s, t, 1.0, tuple((name, 1.0) for name in self.operations)) for s, t in self.places)
        self.stack = Stack(dict.fromkeys(ROLES, every), sizes, seed)
        drawn = torch.Generator().manual_seed(seed)
        count = len(self.places)
        self.alphas, self.betas = nn.ParameterDict(), nn.ParameterDict()
        for role in ROLES:
            self.alphas[role] = nn.Parameter(SCALE * torch.randn(count, len(self.operations), generator=drawn))
            if encoding == MULTI:
                self.betas[role] = nn.Parameter(SCALE * torch.randn(count, generator=drawn))
        self.operation_scores, self.edge_scores = nn.ParameterDict(), nn.ParameterDict()
        self.threshold = 0.0

    def architecture_parameters(self) -> list[nn.Parameter]:
        return [*self.alphas.values(), *self.betas.values()]

    def weights(self) -> list[nn.Parameter]:
        """The network's weights: all that is neither the architecture's nor a mask's."""
        return [p for name, p in self.stack.named_parameters() if not name.endswith(".scores")]

    def masks(self) -> list[nn.Parameter]:
        """The scores of weights."""
        return [c.scores for c in self.stack.convolutions().values() if c.scores is not None]

    def add_masks(self, begin: float, threshold: float) -> None:
        """Give every edge, operation and weight of the cells a score to be learnt, `begin`; what is not above the threshold is
        masked."""
        if not begin > threshold:
            raise ConfigurationError(f"masks begin at {begin:g}: `threshold` must be below that, got {threshold:g}.")
        self.threshold = threshold
        device = self.stack.classifier.weight.device
        for role in ROLES:
            self.operation_scores[role] = nn.Parameter(torch.full(self.alphas[role].shape, begin, device=device))
            self.edge_scores[role] = nn.Parameter(torch.full((len(self.places),), begin, device=device))
        for convolution in self.stack.convolutions().values():
            convolution.scores = nn.Parameter(torch.full_like(convolution.weight, begin))
            convolution.threshold = threshold

    def shares(self, role: str) -> tuple[Tensor, Tensor]:
        """How much each edge (edges,) counts among those into its node, and each operation (edges, operations) on its edge."""
        alphas = self.alphas[role].softmax(dim=1)
        if self.encoding == SINGLE:
            return torch.ones_like(alphas[:, 0]), alphas
        into = [target - 2 for _, target in self.places]
        split = [part.softmax(dim=0) for part in self.betas[role].split([into.count(n) for n in range(self.nodes)])]
        return torch.cat(split), alphas

    def on(self, role: str) -> tuple[Tensor, Tensor]:
        """1 for each edge (edges,) and operation (edges, operations) that is not masked, else 0, with gradients to the scores.
        An edge from a node without an input is off."""
        edges = step(self.edge_scores[role] - self.threshold)
        operations = step(self.operation_scores[role] - self.threshold)
        there, carried = {0, 1}, []
        works = (edges.detach() > 0) & (operations.detach() > 0).any(dim=1)
        for (source, target), work in zip(self.places, works.tolist(), strict=True):
            carried.append(float(source in there))
            if work and source in there:
                there.add(target)
        return edges * torch.tensor(carried, device=edges.device), operations

    def mixing(self) -> dict[str, Tensor]:
        """How much each operation (edges, operations) counts for its node, by role."""
        found = {}
        for role in ROLES:
            edges, operations = self.shares(role)
            if role in self.edge_scores:
                on_edges, on_operations = self.on(role)
                edges, operations = edges * on_edges, operations * on_operations
            found[role] = edges[:, None] * operations
        return found

    def forward(self, pixel_values: Tensor) -> Tensor:
        """Logits (n, classes) of images (n, colours, height, width)."""
        found: Tensor = self.stack(pixel_values, {role: list(rows) for role, rows in self.mixing().items()})
        return found
