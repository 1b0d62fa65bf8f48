"""What all learners of encodings do alike: train with batches, keep what a training needs to go on, embed cells, save and load.
Imports torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from secateur.encodings.graph import Shape
from secateur.encodings.learned.cells import Cells
from secateur.encodings.learned.network import Embedder
from secateur.encodings.learned.one_thread import one_thread
from secateur.encodings.learned.settings import LearnerSettings
from secateur.encodings.learned.state import keep, resumed
from secateur.encodings.learned.steps import Steps
from secateur.errors import ConfigurationError, StudyError
from secateur.rng import generator
from secateur.spaces.base import Space
from secateur.writing import whole

#: Graphs that pass through a network at once.
CHUNK = 4096

S = TypeVar("S", bound=LearnerSettings)
N = TypeVar("N", bound=Embedder)


class Task(NamedTuple):
    """What a learner is trained on: so many `examples`, and the loss of some of them, by their places, with noise."""

    examples: int
    loss: Callable[[Tensor, torch.Generator], Tensor]
    named: str = "cells"


class Learner(ABC, Generic[S, N]):
    """A network that learns vectors of the cells of one shape. Cells come and go as the vectors of `GraphEncoding`."""

    name: ClassVar[str]
    settings: ClassVar[type[LearnerSettings]]
    #: Whether it is trained on cells with their costs.
    priced: ClassVar[bool] = False
    #: Whether it also learns of spaces without cells, whose architectures are rows of choices.
    sequences: ClassVar[bool] = False

    def __init__(self, shape: Shape, settings: S, seed: int = 0, device: str | torch.device = "cpu") -> None:
        self.shape, self.s, self.seed, self.device = shape, settings.check().resolved(), seed, torch.device(device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(number(seed, "weights"))
            self.network = self._network()
        self.network.to(self.device).eval()

    # What is a learner's own.

    @abstractmethod
    def _network(self) -> N:
        """The network with its first weights."""

    @abstractmethod
    def _task(self, cells: Cells) -> Task:
        """What it is trained on. Raises ConfigurationError where the cells do not do for it."""

    @abstractmethod
    def _embedded(self, edges: Tensor, operations: Tensor) -> Tensor:
        """The embeddings (n, dimensions) of graphs: edges (n, nodes, nodes), operations (n, nodes, operations)."""

    @abstractmethod
    def figures(self, train: Cells, held_out: Cells, space: Space) -> dict[str, float]:
        """How well it does on cells that were held out."""

    def _optimiser(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.network.parameters(), lr=self.s.learning_rate, fused=True, capturable=self.on_gpu)

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    def _begin(self, epoch: int) -> None:
        """Make the network ready for an epoch."""
        self.network.train()

    def _order(self, epoch: int, examples: int) -> np.ndarray:
        """The places of all examples in the order of an epoch."""
        return generator(self.seed, "batches", epoch).permutation(examples)

    # Training.

    def train(self, cells: Cells, state: Path, said: str, advance: Callable[..., None] | None = None) -> list[float]:
        """Train on cells, whose embeddings lie in 0…1 then, and return the loss of each epoch.

        After each, what is needed to go on is kept in the file `state`, with what was `said` of the training: one that was cut
        off goes on there, and ends as if it had not been.

        Raises ConfigurationError where there are too few cells or the loss is no longer a number, StudyError where the file is
        of another training.
        """
        task, optimiser = self._task(cells), self._optimiser()
        if task.examples < self.s.batch:
            raise ConfigurationError(
                f"`batch` is {self.s.batch}, and there are only {task.examples} {task.named} to train on. Use a smaller one."
            )
        losses = resumed(self.network, optimiser, state, said)
        steps = Steps(self.network, optimiser, task.loss, self.s.clip)
        with one_thread():
            for epoch in range(len(losses), self.s.epochs):
                losses.append(self._epoch(epoch, task.examples, steps, advance))
                keep(self.network, optimiser, state, said, losses)
        self.network.eval()
        found = torch.as_tensor(self.embed(cells.vectors), dtype=torch.float32, device=self.device)
        self.network.scale(found.reshape(-1, self.network.dimensions))
        return losses

    def _epoch(self, epoch: int, examples: int, steps: Steps, advance: Callable[..., None] | None) -> float:
        """The mean loss of an epoch. Its batches and noise depend on the seed and its number alone."""
        batches = -(-examples // self.s.batch)
        self._begin(epoch)
        steps.noise.manual_seed(number(self.seed, "noise", epoch))
        order = torch.as_tensor(self._order(epoch, examples), device=self.device)
        total = torch.zeros((), device=self.device)
        for batch, part in enumerate(order.split(self.s.batch), 1):
            loss = steps.take(part)
            total += loss * len(part)
            if advance is not None and (batch % 100 == 0 or batch == batches):
                advance(epoch * batches + batch, self.s.epochs * batches, loss.item())
        mean = float(total) / examples
        if not np.isfinite(mean):
            raise ConfigurationError(
                f"training diverged in epoch {epoch + 1}: the loss is no longer a number. Use a lower `learning_rate`."
            )
        return mean

    # Use.

    def embed(self, vectors: np.ndarray) -> np.ndarray:
        """The embeddings (n, cells · dimensions) of vectors (n, d), float64, cell by cell."""
        found = [np.zeros((0, self.network.dimensions), dtype=np.float32)]
        with torch.no_grad():
            found += [self._embedded(edges, operations).cpu().numpy() for edges, operations in self._chunks(vectors)]
        return np.concatenate(found).reshape(len(vectors), self.dimensions).astype(np.float64)

    @property
    def dimensions(self) -> int:
        """The length of an architecture's embedding: those of its cells side by side."""
        return self.shape.cells * self.network.dimensions

    def _graphs(self, vectors: np.ndarray) -> tuple[Tensor, Tensor]:
        """Edges and operations of all cells, a byte each, on the device."""
        edges, operations = self.shape.matrices(vectors)
        return tuple(torch.as_tensor(part.astype(np.uint8), device=self.device) for part in (edges, operations))  # type: ignore[return-value]

    def _chunks(self, vectors: np.ndarray) -> Iterator[tuple[Tensor, Tensor]]:
        """Edges and operations of some cells at a time, as numbers."""
        edges, operations = self.shape.matrices(vectors)
        for start in range(0, len(edges), CHUNK):
            parts = (part[start : start + CHUNK] for part in (edges, operations))
            e, o = (torch.as_tensor(part, dtype=torch.float32, device=self.device) for part in parts)
            yield e, o

    # The trained network in a file.

    def save(self, path: Path) -> None:
        with whole(path) as draft:
            save_file(self.network.state_dict(), draft)

    def load(self, path: Path) -> None:
        """Raises StudyError where the file does not hold such a network."""
        try:
            self.network.load_state_dict(load_file(path, device=str(self.device)))
        except (SafetensorError, OSError, RuntimeError) as error:
            raise StudyError(
                f"`{path}` does not hold the network that its card describes: {str(error).splitlines()[0]}"
            ) from error


def number(seed: int, *path: Any) -> int:
    """A seed for torch, of one purpose."""
    return int(generator(seed, *path).integers(2**63))
