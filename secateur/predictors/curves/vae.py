"""Curves compressed by a variational autoencoder (Kingma & Welling 2014). Imports torch on use."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Self

import numpy as np

from secateur.predictors.curves.compressors import Compressor, check_components
from secateur.rng import generator

#: Units of the two hidden layers next to the curve, and next to the code.
HIDDEN = (64, 32)
#: How often the curves are seen, in batches of so many, at this rate; what the divergence from the prior weighs.
EPOCHS, BATCH, RATE, WEIGHT = 400, 64, 3e-3, 1e-3


class Vae(Compressor):
    """Two layers to means and deviations of the code, two back. A code is the mean."""

    name = "vae"

    def __init__(self, network: Any, centre: np.ndarray, spread: np.ndarray) -> None:
        self.network, self.centre, self.spread = network, centre, spread

    @classmethod
    def fitted(cls, curves: np.ndarray, components: int, seed: int) -> Self:
        import torch

        from secateur.encodings.learned.one_thread import one_thread

        check_components(curves, components)
        centre, spread = curves.mean(axis=0), np.maximum(curves.std(axis=0), 1e-9)
        values = torch.as_tensor((curves - centre) / spread, dtype=torch.float32)
        rng = generator(seed, "vae")
        noise = torch.Generator().manual_seed(int(rng.integers(2**63)))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            network = _network(curves.shape[1], components)
        with one_thread():
            _train(network, values, noise)
        return cls(network.eval(), centre, spread)

    def compress(self, curves: np.ndarray) -> np.ndarray:
        return self._passed("encoder", (curves - self.centre) / self.spread)[:, : self.components]

    def expand(self, codes: np.ndarray) -> np.ndarray:
        return np.asarray(self._passed("decoder", codes) * self.spread + self.centre)

    @property
    def components(self) -> int:
        return int(self.network["decoder"][0].in_features)

    def _passed(self, half: str, values: np.ndarray) -> np.ndarray:
        import torch

        with torch.no_grad():
            found: np.ndarray = self.network[half](torch.as_tensor(values, dtype=torch.float32)).numpy().astype(np.float64)
        return found

    def arrays(self) -> Mapping[str, np.ndarray]:
        weights = {name: tensor.numpy() for name, tensor in self.network.state_dict().items()}
        return {"centre": self.centre, "spread": self.spread, **weights}

    @classmethod
    def of(cls, **arrays: np.ndarray) -> Self:
        import torch

        centre, spread = arrays.pop("centre"), arrays.pop("spread")
        network = _network(len(centre), arrays["decoder.0.weight"].shape[1])
        network.load_state_dict({name: torch.as_tensor(array) for name, array in arrays.items()})
        return cls(network.eval(), centre, spread)


def _train(network: Any, values: Any, noise: Any) -> None:
    """Maximise the lower bound, up to the weight of its second part."""
    import torch
    from torch.nn.functional import mse_loss

    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    batches = -(-len(values) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, EPOCHS * batches)
    for _ in range(EPOCHS):
        for places in torch.randperm(len(values), generator=noise).split(BATCH):
            part = values[places]
            means, logs = network["encoder"](part).chunk(2, dim=1)
            drawn = means + torch.exp(logs / 2) * torch.randn(means.shape, generator=noise)
            away = (means**2 + logs.exp() - 1 - logs).sum(dim=1).mean() / 2
            loss = mse_loss(network["decoder"](drawn), part) + WEIGHT * away
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()


def _network(steps: int, components: int) -> Any:
    from torch import nn

    outer, inner = HIDDEN
    halves = {"encoder": (steps, outer, inner, 2 * components), "decoder": (components, inner, outer, steps)}
    made = {}
    for half, widths in halves.items():
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.GELU()]
        made[half] = nn.Sequential(*layers[:-1])
    return nn.ModuleDict(made)
