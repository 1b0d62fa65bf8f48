"""arch2vec: an encoding learnt without accuracies, by rebuilding cells (Yan 2022, chapter 3). Imports torch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from secateur.encodings.graph import Shape
from secateur.encodings.learned.autoencoder import Autoencoder
from secateur.encodings.learned.figures import generated, rebuilt
from secateur.encodings.learned.settings import Arch2vecSettings
from secateur.errors import ConfigurationError, StudyError
from secateur.rng import generator
from secateur.spaces.cells import CellSpace
from secateur.writing import whole

#: Graphs that pass through the network at once.
CHUNK = 4096


class Arch2vec:
    """The autoencoder of the cells of one shape. Architectures come and go as the vectors of `GraphEncoding`."""

    name = "arch2vec"
    settings = Arch2vecSettings

    def __init__(self, shape: Shape, settings: Arch2vecSettings, seed: int = 0, device: str | torch.device = "cpu") -> None:
        self.shape, self.s, self.seed, self.device = shape, settings.check(), seed, torch.device(device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_number(seed, "weights"))
            self.network = Autoencoder(shape.operations, settings)
        self.network.to(self.device).eval()

    # Training.

    def train(self, vectors: np.ndarray, state: Path, said: str, advance: Callable[..., None] | None = None) -> list[float]:
        """Train on vectors (n, d), whose embeddings lie in 0…1 then, and return the loss of each epoch.

        After each, what is needed to go on is kept in the file `state`, with what was `said` of the training: one that was cut
        off goes on there, and ends as if it had not been.

        Raises ConfigurationError where there are too few cells or the loss is no longer a number, StudyError where the file is
        of another training.
        """
        edges, operations = self._graphs(vectors)
        s, n = self.network.s, len(edges)
        if n < s.batch:
            raise ConfigurationError(f"`batch` is {s.batch}, and there are only {n} cells to train on. Use a smaller one.")
        optimiser = torch.optim.Adam(self.network.parameters(), lr=s.learning_rate, fused=True)
        losses = self._resumed(optimiser, state, said)
        with _one_thread():
            for epoch in range(len(losses), s.epochs):
                losses.append(self._epoch(epoch, edges, operations, optimiser, advance))
                self._keep(optimiser, state, said, losses)
        self.network.eval()
        self.network.scale(torch.as_tensor(self.embed(vectors), dtype=torch.float32, device=self.device).reshape(-1, s.latent))
        return losses

    def _epoch(
        self,
        epoch: int,
        edges: Tensor,
        operations: Tensor,
        optimiser: torch.optim.Optimizer,
        advance: Callable[..., None] | None,
    ) -> float:
        """The mean loss of an epoch. Its batches and noise depend on the seed and its number alone."""
        s, n = self.network.s, len(edges)
        steps = -(-n // s.batch)
        self.network.train(not (s.settled and epoch))
        noise = torch.Generator(self.device).manual_seed(_number(self.seed, "noise", epoch))
        order = generator(self.seed, "batches", epoch if s.shuffle else 0).permutation(n)
        total = torch.zeros((), device=self.device)
        for step, part in enumerate(torch.as_tensor(order, device=self.device).split(s.batch), 1):
            loss = self.network.loss(edges[part].float(), operations[part].float(), noise)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            if s.clip is not None:
                torch.nn.utils.clip_grad_norm_(self.network.parameters(), s.clip)
            optimiser.step()
            total += loss.detach() * len(part)
            if advance is not None and (step % 100 == 0 or step == steps):
                advance(epoch * steps + step, s.epochs * steps, loss.item())
        mean = float(total) / n
        if not np.isfinite(mean):
            raise ConfigurationError(
                f"training diverged in epoch {epoch + 1}: the loss is no longer a number. Use a lower `learning_rate`."
            )
        return mean

    def _keep(self, optimiser: torch.optim.Optimizer, state: Path, said: str, losses: list[float]) -> None:
        tensors = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        for place, kept in optimiser.state_dict()["state"].items():
            tensors |= {f"adam.{place}.{name}": tensor for name, tensor in kept.items()}
        with whole(state) as draft:
            save_file(tensors, draft, metadata={"said": said, "losses": json.dumps(losses)})

    def _resumed(self, optimiser: torch.optim.Optimizer, state: Path, said: str) -> list[float]:
        """The losses of the epochs that were done, whose weights and optimiser are taken."""
        if not state.exists():
            return []
        try:
            with safe_open(state, framework="pt") as file:
                told = file.metadata() or {}
            if told.get("said") != said:
                raise StudyError(
                    f"`{state.parent}` holds the beginning of another pre-training. Give another folder, or remove it."
                )
            tensors = load_file(state, device=str(self.device))
        except (SafetensorError, OSError) as error:
            raise StudyError(f"`{state}` cannot be read ({error}). Remove it to begin anew.") from error
        kept: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            if name.startswith("adam."):
                _, place, part = name.split(".")
                kept.setdefault(int(place), {})[part] = tensor
        own = {name.removeprefix("network."): tensor for name, tensor in tensors.items() if name.startswith("network.")}
        self.network.load_state_dict(own)
        optimiser.load_state_dict({**optimiser.state_dict(), "state": kept})
        losses: list[float] = json.loads(told["losses"])
        return losses

    # Use.

    def nodes(self, vectors: np.ndarray) -> np.ndarray:
        """The means (n · cells, nodes, latent) of the nodes of vectors (n, d)."""
        found = [np.zeros((0, self.shape.nodes, self.network.s.latent), dtype=np.float32)]
        with torch.no_grad():
            for edges, operations in self._chunks(vectors):
                found.append(self.network.encode(edges, operations)[0].cpu().numpy())
        return np.concatenate(found)

    def embed(self, vectors: np.ndarray) -> np.ndarray:
        """The embeddings (n, cells · latent) of vectors (n, d), float64, cell by cell."""
        found = [np.zeros((0, self.network.s.latent), dtype=np.float32)]
        with torch.no_grad():
            for edges, operations in self._chunks(vectors):
                means = self.network.encode(edges, operations)[0]
                found.append(self.network.embed(means, operations).cpu().numpy())
        return np.concatenate(found).reshape(len(vectors), self.dimensions).astype(np.float64)

    @property
    def dimensions(self) -> int:
        return self.shape.cells * self.network.s.latent

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

    def _graphs(self, vectors: np.ndarray) -> tuple[Tensor, Tensor]:
        """Edges and operations of all cells, a byte each, on the device."""
        edges, operations = self.shape.matrices(vectors)
        return tuple(torch.as_tensor(part.astype(np.uint8), device=self.device) for part in (edges, operations))  # type: ignore[return-value]

    def _chunks(self, vectors: np.ndarray) -> Iterator[tuple[Tensor, Tensor]]:
        edges, operations = self.shape.matrices(vectors)
        for start in range(0, len(edges), CHUNK):
            parts = (part[start : start + CHUNK] for part in (edges, operations))
            e, o = (torch.as_tensor(part, dtype=torch.float32, device=self.device) for part in parts)
            yield e, o

    def figures(self, train: np.ndarray, held_out: np.ndarray, space: CellSpace) -> dict[str, float]:
        """How well cells that were held out are rebuilt, and what random numbers become."""
        return {**rebuilt(self, held_out), **generated(self, train, space, self.seed)}

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


@contextmanager
def _one_thread() -> Iterator[None]:
    """Matrices of a batch are too small to be shared between threads, and so the weights do not depend on the cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _number(seed: int, *path: Any) -> int:
    """A seed for torch, of one purpose."""
    return int(generator(seed, *path).integers(2**63))
