"""The supervised counterpart of arch2vec: its encoder, learnt from accuracies (Yan 2022, section 3.4). Imports torch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from secateur.encodings.learned.cells import Cells
from secateur.encodings.learned.learner import Learner, Task
from secateur.encodings.learned.supervised_network import Regressor
from secateur.encodings.learned.supervised_settings import SupervisedSettings
from secateur.errors import ConfigurationError
from secateur.spaces.base import Space


class Supervised(Learner[SupervisedSettings, Regressor]):
    """A regression of the cells of one shape; the vectors before its head are their embeddings."""

    name = "supervised"
    settings = SupervisedSettings

    def _network(self) -> Regressor:
        return Regressor(self.shape.operations, self.s)

    def _task(self, cells: Cells) -> Task:
        if cells.targets is None:
            raise ConfigurationError("`supervised` learns from cells with their accuracies, and these have none.")
        edges, operations = self._graphs(cells.vectors)
        targets = torch.as_tensor(cells.targets, dtype=torch.float32, device=self.device)
        self.network.standardise(targets)
        return Task(len(edges), lambda part, _: self.network.loss(edges[part].float(), operations[part].float(), targets[part]))

    def _embedded(self, edges: Tensor, operations: Tensor) -> Tensor:
        return self.network.embed(self.network.mean(self.network.values(edges, operations)), operations)

    def predicted(self, vectors: np.ndarray) -> np.ndarray:
        """The targets (n · cells,) of the cells of vectors (n, d), in the table's unit."""
        found = [np.zeros(0, dtype=np.float32)]
        with torch.no_grad():
            found += [self.network(edges, operations).cpu().numpy() for edges, operations in self._chunks(vectors)]
        return np.concatenate(found).astype(np.float64) * float(self.network.deviation) + float(self.network.centre)

    def figures(self, train: Cells, held_out: Cells, space: Space) -> dict[str, float]:
        """How well accuracies of cells that were held out are predicted: their ranks, where they differ, and the root of the
        mean squared error."""
        from scipy.stats import spearmanr

        assert held_out.targets is not None
        found, truth = self.predicted(held_out.vectors), held_out.targets
        ranks = {}
        if np.ptp(found) > 0 and np.ptp(truth) > 0:
            ranks["spearman"] = float(spearmanr(truth, found).statistic)
        return {**ranks, "rmse": float(np.sqrt(((truth - found) ** 2).mean()))}
