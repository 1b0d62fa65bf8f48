"""A policy over sequences of choices: an LSTM, as Zoph & Le (2017) have it. Imported only on use: it needs torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from secateur.rng import Generator


class Policy(nn.Module):
    """Makes one choice after the other; each is told to the LSTM before the next. `counts`: how many values each choice has."""

    def __init__(self, counts: Sequence[int], rng: Generator, width: int = 64, rate: float = 0.003) -> None:
        super().__init__()
        #: The values of all choices stand in one row: those of choice i begin at its place here.
        self._begin = np.concatenate([[0], np.cumsum(counts)])
        with torch.random.fork_rng(devices=[]):  # the first weights are drawn below: torch's generator is left as it was
            self.lstm = nn.LSTM(width, width, batch_first=True)
            self.told = nn.Embedding(1 + sum(counts), width)  # the last is told before the first choice
            self.head = nn.Linear(width, sum(counts))
        with torch.no_grad():
            for weights in self.parameters():
                weights.copy_(torch.from_numpy(rng.uniform(-0.1, 0.1, tuple(weights.shape))))
        others = torch.full((len(counts), sum(counts)), -torch.inf)
        for step, count in enumerate(counts):
            others[step, self._begin[step] : self._begin[step] + count] = 0.0
        self._others = others
        self._optimiser = torch.optim.Adam(self.parameters(), lr=rate)

    def draw(self, n: int, temperature: float, rng: Generator) -> np.ndarray:
        """Sequences (n, d) of places. The higher the temperature, the more of chance is in them."""
        found = np.zeros((n, len(self._others)), dtype=np.int64)
        with torch.no_grad():
            state, last = None, torch.full((n, 1), int(self._begin[-1]))
            for step in range(found.shape[1]):
                hidden, state = self.lstm(self.told(last), state)
                low, high = self._begin[step : step + 2]
                logits = nn.functional.linear(hidden[:, 0], self.head.weight[low:high], self.head.bias[low:high])
                shares = torch.softmax(logits / temperature, dim=1).double().cumsum(dim=1).numpy()
                found[:, step] = (shares < rng.random((n, 1)) * shares[:, -1:]).sum(axis=1)
                last = torch.from_numpy(low + found[:, step : step + 1])
        return found

    def log_shares(self, sequences: np.ndarray) -> torch.Tensor:
        """The logarithms (n, d, values) of the chance of each value, given the choices (n, d) before it."""
        told = torch.from_numpy(np.maximum(sequences, 0) + self._begin[:-1])
        first = torch.full((len(told), 1), int(self._begin[-1]))
        hidden, _ = self.lstm(self.told(torch.cat([first, told[:, :-1]], dim=1)))
        return torch.log_softmax(self.head(hidden) + self._others, dim=2)

    def learn(self, sequences: np.ndarray, advantages: np.ndarray, entropy: float) -> None:
        """One step that makes sequences (n, d) likelier in proportion to their advantages (n,), and keeps the policy open in
        proportion to `entropy`. A choice of −1 has no effect on what was tried: nothing is learnt of it."""
        logs = self.log_shares(sequences)
        places = torch.from_numpy(np.maximum(sequences, 0) + self._begin[:-1])
        chosen = logs.gather(2, places[..., None])[..., 0] * torch.from_numpy(sequences >= 0)
        openness = -(logs.exp() * logs.clamp(min=-1e9)).sum(dim=(1, 2)).mean()
        loss = -(torch.from_numpy(advantages).float() * chosen.sum(dim=1)).mean() - entropy * openness
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
