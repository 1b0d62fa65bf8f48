"""arch2vec: an encoding learnt without accuracies, by rebuilding cells (Yan 2022, chapter 3). Imports torch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from secateur.encodings.learned.arch2vec_settings import Arch2vecSettings
from secateur.encodings.learned.autoencoder import Autoencoder
from secateur.encodings.learned.cells import Cells
from secateur.encodings.learned.figures import generated, rebuilt
from secateur.encodings.learned.learner import CHUNK, Learner, Task
from secateur.rng import generator
from secateur.spaces.base import Space
from secateur.spaces.cells import CellSpace


class Arch2vec(Learner[Arch2vecSettings, Autoencoder]):
    """The variational graph autoencoder of the cells of one shape."""

    name = "arch2vec"
    settings = Arch2vecSettings

    def _network(self) -> Autoencoder:
        return Autoencoder(self.shape.operations, self.s)

    def _task(self, cells: Cells) -> Task:
        edges, operations = self._graphs(cells.vectors)
        return Task(len(edges), lambda part, noise: self.network.loss(edges[part].float(), operations[part].float(), noise))

    def _begin(self, epoch: int) -> None:
        self.network.train(not (self.s.settled and epoch))

    def _order(self, epoch: int, examples: int) -> np.ndarray:
        return generator(self.seed, "batches", epoch if self.s.shuffle else 0).permutation(examples)

    def _embedded(self, edges: Tensor, operations: Tensor) -> Tensor:
        return self.network.embed(self.network.encode(edges, operations)[0], operations)

    def nodes(self, vectors: np.ndarray) -> np.ndarray:
        """The means (n · cells, nodes, latent) of the nodes of vectors (n, d)."""
        found = [np.zeros((0, self.shape.nodes, self.s.latent), dtype=np.float32)]
        with torch.no_grad():
            for edges, operations in self._chunks(vectors):
                found.append(self.network.encode(edges, operations)[0].cpu().numpy())
        return np.concatenate(found)

    def decode(self, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The likeliest graphs of latent nodes (n, nodes, latent): edges (n, nodes, nodes) that go forward, of 0 and 1, and the
        place (n, nodes) of each node's operation."""
        edges, operations = [], []
        with torch.no_grad():
            for part in torch.as_tensor(latent, dtype=torch.float32).split(CHUNK):
                edge_logits, operation_logits = self.network.decode(part.to(self.device))
                edges.append((edge_logits > 0).triu(1).cpu().numpy())
                operations.append(operation_logits.argmax(dim=2).cpu().numpy())
        return np.concatenate(edges), np.concatenate(operations)

    def figures(self, train: Cells, held_out: Cells, space: Space) -> dict[str, float]:
        """How well cells that were held out are rebuilt, and what random numbers become."""
        assert isinstance(space, CellSpace)
        return {**rebuilt(self, held_out.vectors), **generated(self, train.vectors, space, self.seed)}
