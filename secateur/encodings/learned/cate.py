"""CATE: an encoding learnt by naming masked operations of like architectures (Yan 2022, chapter 4). Imports torch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from secateur.encodings.learned.cate_network import CateNetwork
from secateur.encodings.learned.cate_settings import LIKE, CateSettings
from secateur.encodings.learned.cells import Cells
from secateur.encodings.learned.learner import Learner, Task, number
from secateur.encodings.learned.pairs import like_pairs
from secateur.encodings.learned.transformer import paths, with_self
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.base import Space

#: Of what is chosen to be masked, so much becomes the mask, and the rest another operation.
MASKED = 0.8
#: Pairs that are looked at at once, and how many of those held out are.
CHUNK, LOOKED_AT = 2048, 20_000


class Graphs(NamedTuple):
    """Tokens (n, nodes), and who attends to whom (n, nodes, nodes)."""

    tokens: Tensor
    seen: Tensor

    def of(self, places: Tensor) -> Graphs:
        """Those in some places (…)."""
        return Graphs(self.tokens[places].long(), self.seen[places])


class Cate(Learner[CateSettings, CateNetwork]):
    """The Transformers of the cells of one shape."""

    name = "cate"
    settings = CateSettings
    priced, sequences = True, True

    def _network(self) -> CateNetwork:
        return CateNetwork(self.shape, self.s)

    def _optimiser(self) -> torch.optim.Optimizer:
        normal = {f"{name}." for name, module in self.network.named_modules() if isinstance(module, torch.nn.LayerNorm)}
        named = list(self.network.named_parameters())
        kept = [tensor for name, tensor in named if name.rpartition(".")[0] + "." in normal]
        decayed = [tensor for name, tensor in named if name.rpartition(".")[0] + "." not in normal]
        groups = [{"params": decayed, "weight_decay": self.s.weight_decay}, {"params": kept, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=self.s.learning_rate, fused=True, capturable=self.on_gpu)

    def _read(self, edges: Tensor, operations: Tensor) -> Graphs:
        there = operations.bool().any(dim=2)
        tokens = torch.where(there, operations.argmax(dim=2), self.network.absent)
        ahead = edges.bool() if self.s.dependencies == "direct" else paths(edges)
        return Graphs(tokens.to(torch.int16), with_self(ahead.transpose(1, 2)))

    def _pairs(self, cells: Cells, *path: str) -> Tensor:
        if cells.costs is None:
            raise ConfigurationError("`cate` pairs architectures of like cost, and this space cannot say what its own cost.")
        delta = self.s.delta or LIKE * float(np.ptp(cells.costs))
        found = like_pairs(cells.costs, delta, self.s.pairs, generator(self.seed, "pairs", *path))
        return torch.as_tensor(found, device=self.device)

    def _task(self, cells: Cells) -> Task:
        graphs, pairs = self._read(*self._graphs(cells.vectors)), self._pairs(cells)
        known = self._inside(graphs.tokens)
        if not len(known):
            raise ConfigurationError("nothing can be learnt: no architecture has a node between the first and the last.")
        if not len(pairs):
            raise ConfigurationError("there are no two architectures that cost about the same. Use a larger `delta`.")

        def loss(part: Tensor, noise: torch.Generator) -> Tensor:
            logits, wanted = self._guessed(graphs.of(pairs[part]), known, noise)
            total: Tensor = cross_entropy(logits, wanted, reduction="sum")
            mean: Tensor = total / (wanted >= 0).sum().clamp(min=1)
            return mean

        return Task(len(pairs), loss, "pairs")

    def _inside(self, tokens: Tensor) -> Tensor:
        """The operations that nodes between the first and the last have."""
        found: Tensor = tokens[inner(tokens, self.network.absent)].unique()  # type: ignore[no-untyped-call]
        return found.long()

    def _guessed(self, two: Graphs, known: Tensor, noise: torch.Generator) -> tuple[Tensor, Tensor]:
        """Logits (b · 2 · nodes, operations) of pairs (b, 2, …) of which some operations were masked, and these operations,
        −100 elsewhere."""
        hidden = self._chosen(two.tokens, noise)
        draws = torch.rand(two.tokens.shape, generator=noise, device=self.device)
        others = known[torch.randint(len(known), two.tokens.shape, generator=noise, device=self.device)]
        told = torch.where(hidden, torch.where(draws < MASKED, self.network.masked, others), two.tokens)
        logits = self.network.predicted(told, two.seen)
        return logits.flatten(0, 2), torch.where(hidden, two.tokens, -100).flatten()

    def _chosen(self, tokens: Tensor, noise: torch.Generator) -> Tensor:
        """Which of the operations between the first and the last node of graphs (…, nodes) are masked: the same share of each
        graph's, but at least one."""
        between = inner(tokens, self.network.absent)
        most = (self.s.corruption * between.sum(dim=-1, keepdim=True)).round().clamp(min=1)
        draws = torch.rand(tokens.shape, generator=noise, device=self.device).masked_fill(~between, -1.0)
        return between & (draws.argsort(dim=-1, descending=True).argsort(dim=-1) < most)

    def _embedded(self, edges: Tensor, operations: Tensor) -> Tensor:
        graphs = self._read(edges, operations)
        return self.network.embed(graphs.tokens.long(), graphs.seen)

    def figures(self, train: Cells, held_out: Cells, space: Space) -> dict[str, float]:
        """How many masked operations of architectures that were held out are named, and how many would be by always naming the
        one that is most common."""
        graphs, pairs = self._read(*self._graphs(held_out.vectors)), self._pairs(held_out, "held out")
        if not len(pairs):
            return {}
        some = generator(self.seed, "some pairs").permutation(len(pairs))[:LOOKED_AT]
        pairs = pairs[torch.as_tensor(some, device=self.device)]
        known = self._inside(graphs.tokens)
        noise = torch.Generator(self.device).manual_seed(number(self.seed, "held out"))
        right, wanted_of = 0, torch.zeros(self.shape.operations, dtype=torch.long, device=self.device)
        with torch.no_grad():
            for part in pairs.split(CHUNK):
                logits, wanted = self._guessed(graphs.of(part), known, noise)
                hidden = wanted >= 0
                right += int((logits.argmax(dim=1) == wanted)[hidden].sum())
                wanted_of += wanted[hidden].bincount(minlength=self.shape.operations)
        total = max(1, int(wanted_of.sum()))
        return {"named": right / total, "commonest": int(wanted_of.max()) / total}


def inner(tokens: Tensor, absent: int) -> Tensor:
    """Which nodes of graphs (…, nodes) stand between the first and the last: not absent, and followed by one that is not."""
    there = tokens != absent
    found = torch.zeros_like(there)
    found[..., 1:-1] = there[..., 2:]
    return found
