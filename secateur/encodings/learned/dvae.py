"""D-VAE: an encoding learnt by rebuilding cells node by node (Zhang et al. 2019). Imports torch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from secateur.encodings.learned.cells import Cells
from secateur.encodings.learned.dvae_network import DagAutoencoder
from secateur.encodings.learned.dvae_settings import DvaeSettings
from secateur.encodings.learned.figures import generated, rebuilt
from secateur.encodings.learned.learner import CHUNK, Learner, Task
from secateur.spaces.base import Space
from secateur.spaces.cells import CellSpace


class Dvae(Learner[DvaeSettings, DagAutoencoder]):
    """The variational autoencoder for directed acyclic graphs, of the cells of one shape."""

    name = "d-vae"
    settings = DvaeSettings

    def _network(self) -> DagAutoencoder:
        return DagAutoencoder(self.shape.nodes, self.shape.operations, self.s)

    def _task(self, cells: Cells) -> Task:
        edges, operations = self._graphs(cells.vectors)
        return Task(len(edges), lambda part, noise: self.network.loss(edges[part].float(), operations[part].float(), noise))

    def _embedded(self, edges: Tensor, operations: Tensor) -> Tensor:
        return self.network.scaled(self.network.encode(edges, operations)[0])

    def nodes(self, vectors: np.ndarray) -> np.ndarray:
        """The means (n · cells, 1, latent) of the cells of vectors (n, d): a cell has one, not one for each node."""
        found = [np.zeros((0, self.s.latent), dtype=np.float32)]
        with torch.no_grad():
            found += [self.network.encode(edges, operations)[0].cpu().numpy() for edges, operations in self._chunks(vectors)]
        return np.concatenate(found)[:, None]

    def decode(self, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The graphs of latent vectors (n, 1, latent) by the likeliest of each decision: edges (n, nodes, nodes) that go
        forward, and the place (n, nodes) of each node's operation, −1 where there is no node."""
        edges, operations = [], []
        with torch.no_grad():
            for part in torch.as_tensor(latent[:, 0], dtype=torch.float32).split(CHUNK):
                written = self.network.writer.write(part.to(self.device))
                edges.append(written[0].cpu().numpy())
                operations.append(written[1].cpu().numpy())
        return np.concatenate(edges), np.concatenate(operations)

    def figures(self, train: Cells, held_out: Cells, space: Space) -> dict[str, float]:
        """How well cells that were held out are rebuilt, and what random numbers become."""
        assert isinstance(space, CellSpace)
        return {**rebuilt(self, held_out.vectors), **generated(self, train.vectors, space, self.seed)}
