"""How a low-cost proxy is computed, and its cost measured."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from secateur.errors import ConfigurationError, UnknownNameError
from secateur.estimators.proxies import activations, counts, fisher, gradients, jacobian, synflow  # noqa: F401 - they register
from secateur.estimators.proxies.base import PROXIES, Cost, Proxy
from secateur.estimators.proxies.probe import Batch, Loss, Probe, untouched


def score(
    name: str,
    network: nn.Module,
    batch: Batch | Sequence[Batch] | None = None,
    *,
    seed: int = 0,
    loss: Loss | None = None,
    double: bool | None = None,
) -> float:
    """The score of `network`, always finite; the network is as it was afterwards.

    `batch`: arguments of `forward` by name and, where the proxy needs data, `labels`; the mean score of several batches where
    there are several. `loss(output, labels)`: for networks that return no `loss` of their own. `double`: compute in float64
    (None: where the proxy overflows in float32). `seed`: of what the proxy draws.

    Raises:
        EvaluationFailure: with the reason, where there is no score: weights, loss or score are not finite.
        ConfigurationError: for a batch that the proxy cannot use. UnknownNameError: for a name that is no proxy's.
    """
    proxy = proxy_of(name)
    batches = _batches(proxy, batch)
    if proxy.weights and any(p.is_meta for p in network.parameters()):
        raise ConfigurationError(f"`{name}` needs a network with weights, got one on the meta device. Build it on a real one.")
    precise = proxy.double if double is None else double
    scores = []
    for one in batches:
        with untouched(network, seed):
            scores.append(proxy(Probe(network, one, seed, loss, precise)))
    return statistics.fmean(scores)


def cost(name: str, network: nn.Module, batch: Batch | Sequence[Batch] | None = None, **options: Any) -> Cost:
    """What a score takes, measured. Seconds are those of a run of its own: counting operations slows it down."""
    device = next((p.device for p in network.parameters()), torch.device("cpu"))
    started = time.perf_counter()
    score(name, network, batch, **options)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    seconds = time.perf_counter() - started
    with counts.FlopCount() as count:
        score(name, network, batch, **options)
    return Cost(count.flops, seconds)


def proxy_of(name: str) -> Proxy:
    """The proxy of a name, or an error that offers the nearest."""
    if name not in PROXIES:
        raise UnknownNameError("proxy", name, PROXIES)
    return PROXIES[name]


def _batches(proxy: Proxy, batch: Batch | Sequence[Batch] | None) -> list[Batch]:
    """The batches to score on: one is enough where the data do not matter."""
    if proxy.needs == "nothing":
        return [{}]
    batches = [] if batch is None else [batch] if isinstance(batch, Mapping) else list(batch)
    if not batches or any(not one or not len(next(iter(one.values()))) for one in batches):
        raise ConfigurationError(f"`batch` must hold at least one example for the proxy `{proxy.name}`, got none.")
    return batches[:1] if proxy.needs == "shapes" else batches
