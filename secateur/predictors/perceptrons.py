"""Small fully connected networks, several trained at once. In numpy: at these sizes torch would spend its time on overhead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from secateur.rng import Generator

Activation = Literal["relu", "tanh"]
Loss = Literal["squared", "absolute"]
#: Adam's, as published.
MOMENTS, TINY = (0.9, 0.999), 1e-8
#: Inputs that pass through the networks at once.
CHUNK = 4096


@dataclass(frozen=True)
class Perceptrons:
    """Networks of one shape side by side: weights (members, in, out) and biases (members, 1, out), a pair per layer."""

    layers: Sequence[tuple[np.ndarray, np.ndarray]]
    activation: Activation

    def hidden(self, inputs: np.ndarray) -> np.ndarray:
        """The last hidden layer (members, k, width) of inputs (k, d)."""
        starts = range(0, max(len(inputs), 1), CHUNK)
        return np.concatenate([self._passed(inputs[start : start + CHUNK])[-1] for start in starts], axis=1)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """The outputs (members, k, m) for inputs (k, d)."""
        weights, biases = self.layers[-1]
        return np.asarray(self.hidden(inputs) @ weights + biases)

    def member(self, place: int) -> Perceptrons:
        """One of them alone."""
        return Perceptrons([(weights[place][None], biases[place][None]) for weights, biases in self.layers], self.activation)

    def _passed(self, inputs: np.ndarray) -> list[np.ndarray]:
        """The inputs, the same for every member, and each hidden layer."""
        values = [inputs[None]]
        for weights, biases in self.layers[:-1]:
            raw = values[-1] @ weights + biases
            values.append(np.tanh(raw) if self.activation == "tanh" else np.maximum(raw, 0.0))
        return values

    def gradients(
        self, inputs: np.ndarray, targets: np.ndarray, shares: np.ndarray, loss: Loss
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of the sum of `shares` ((members,) n, m) · error² or |error|, for each layer's weights and biases."""
        values = self._passed(inputs)
        errors = values[-1] @ self.layers[-1][0] + self.layers[-1][1] - targets
        back = shares * (2 * errors if loss == "squared" else np.sign(errors))
        found = []
        for (weights, _), before in zip(reversed(self.layers), reversed(values), strict=True):
            found.append((before.transpose(0, 2, 1) @ back, back.sum(axis=1, keepdims=True)))
            if len(found) < len(values):
                back = back @ weights.transpose(0, 2, 1)
                back *= 1 - before**2 if self.activation == "tanh" else before > 0
        return found[::-1]


def trained(
    inputs: np.ndarray,
    targets: np.ndarray,
    rng: Generator,
    *,
    hidden: Sequence[int],
    members: int = 1,
    activation: Activation = "relu",
    loss: Loss = "squared",
    shares: np.ndarray | None = None,
    steps: int = 200,
    rate: float = 0.01,
    decay: float = 0.0,
) -> Perceptrons:
    """Networks fitted to `targets` (n, m) at `inputs` (n, d) with Adam on all of them at once; the rate falls to 0.

    `shares` (n, m), or (members, n, m), are the errors' parts in the loss, by default equal ones. `decay` draws weights
    towards 0 in every step, as in AdamW. The members differ in their first weights.
    """
    widths = [inputs.shape[1], *hidden, targets.shape[1]]
    shapes = [shape for a, b in pairwise(widths) for shape in ((members, a, b), (members, 1, b))]
    flat = np.zeros(sum(map(np.prod, shapes)))  # all weights in one array: a step of Adam is a few operations
    parts = np.split(flat, np.cumsum([np.prod(shape) for shape in shapes])[:-1])
    views = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    gain = 2.0 if activation == "relu" else 1.0
    for weights in views[::2]:
        weights[:] = rng.standard_normal(weights.shape) * np.sqrt(gain / weights.shape[1])
    networks = Perceptrons(list(zip(views[::2], views[1::2], strict=True)), activation)
    shares = np.full(targets.shape, 1 / targets.size) if shares is None else shares
    first, second = np.zeros_like(flat), np.zeros_like(flat)
    for step in range(1, steps + 1):
        pairs = networks.gradients(inputs, targets, shares, loss)
        gradient = np.concatenate([a.ravel() for pair in pairs for a in pair])
        now = rate * 0.5 * (1 + np.cos(np.pi * step / (steps + 1)))
        first += (1 - MOMENTS[0]) * (gradient - first)
        second += (1 - MOMENTS[1]) * (gradient**2 - second)
        flat *= 1 - now * decay
        flat -= now * (first / (1 - MOMENTS[0] ** step)) / (np.sqrt(second / (1 - MOMENTS[1] ** step)) + TINY)
    return networks
