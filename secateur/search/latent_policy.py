"""A policy over the vectors of an encoding: an LSTM and a normal distribution (Yan 2022, chapter 3). Imported only on use: it
needs torch."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from secateur.rng import Generator


class LatentPolicy(nn.Module):
    """Says where to go next from the vectors (d,) of what was tried last: to a draw of a normal distribution, whose mean is the
    LSTM's and whose deviation is the same in all dimensions."""

    def __init__(self, dimensions: int, rng: Generator, width: int = 128, rate: float = 0.01, deviation: float = 1.0) -> None:
        super().__init__()
        self.deviation = deviation
        with torch.random.fork_rng(devices=[]):  # the first weights are drawn below: torch's generator is left as it was
            self.lstm = nn.LSTM(dimensions, width, batch_first=True)
            self.head = nn.Linear(width, dimensions)
        with torch.no_grad():
            for weights in self.parameters():
                weights.copy_(torch.from_numpy(rng.uniform(-0.1, 0.1, tuple(weights.shape))))
        self._optimiser = torch.optim.Adam(self.parameters(), lr=rate)

    def means(self, visited: np.ndarray) -> torch.Tensor:
        """Where to go (t, d) after each of the places visited (t, d)."""
        hidden, _ = self.lstm(torch.from_numpy(visited).float()[None])
        found: torch.Tensor = self.head(hidden)[0]
        return found

    def draw(self, n: int, visited: np.ndarray, rng: Generator) -> np.ndarray:
        """Points (n, d) to go to from the last of the places visited (t, d)."""
        with torch.no_grad():
            mean = self.means(visited)[-1].double().numpy()
        return rng.normal(mean, self.deviation, size=(n, len(mean)))

    def learn(self, visited: np.ndarray, advantages: np.ndarray) -> None:
        """One step that makes the ways between places visited (t + 1, d) likelier in proportion to their advantages (t,)."""
        there = torch.from_numpy(visited[1:]).float()
        logs = -((there - self.means(visited[:-1])) ** 2).sum(dim=1) / (2 * self.deviation**2)
        loss = -(torch.from_numpy(advantages).float() * logs).mean()
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
