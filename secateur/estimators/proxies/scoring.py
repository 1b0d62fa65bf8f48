"""The table of low-cost proxies, and how one is computed or its cost measured."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence

import torch
from torch import nn

from secateur.errors import ConfigurationError, UnknownNameError
from secateur.estimators.proxies import activations, counts, fisher, gradients, jacobian, synflow
from secateur.estimators.proxies.base import Cost, Proxy
from secateur.estimators.proxies.probe import Batch, Loss, Probe, untouched

#: Name → proxy. Partial training is not among them: it needs a text and a way to train (`partial.py`).
PROXIES: dict[str, Proxy] = {
    proxy.name: proxy
    for proxy in (
        Proxy("grad_norm", gradients.grad_norm, "Σ‖∂L/∂W‖ over the body's tensors"),
        Proxy("snip", gradients.snip, "Σ|w · ∂L/∂w|"),
        Proxy("grasp", gradients.grasp, "−Σ w · (Hessian × gradient)"),
        Proxy("fisher", fisher.fisher, "Σ over channels of the squared sum of activation × gradient"),
        Proxy("synflow", synflow.synflow, "Σ|w · ∂R/∂w|, R the flow of ones through |w|", needs="shapes", double=True),
        Proxy("jacob_cov", jacobian.jacob_cov, "how little the examples' Jacobians correlate"),
        Proxy("relu_log_det", activations.relu_log_det, "log determinant of the similarity of activation codes, by example"),
        Proxy("naswot", activations.naswot, "the same, by context (the tokens up to one position)"),
        Proxy("l2_norm", counts.l2_norm, "Σ‖W‖ over the body's tensors", needs="nothing"),
        Proxy("parameters", counts.parameters, "all parameters", needs="nothing", weights=False),
        Proxy("decoder_parameters", counts.decoder_parameters, "parameters of the body", needs="nothing", weights=False),
        Proxy("macs", counts.macs, "multiply-accumulates of a forward pass", needs="shapes", weights=False),
        Proxy("decoder_macs", counts.decoder_macs, "those of the body alone", needs="shapes", weights=False),
    )
}


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


def cost(
    name: str,
    network: nn.Module,
    batch: Batch | Sequence[Batch] | None = None,
    *,
    seed: int = 0,
    loss: Loss | None = None,
    double: bool | None = None,
) -> Cost:
    """What a score takes, measured. Seconds are those of a run of its own: counting operations slows it down."""
    device = next((p.device for p in network.parameters()), torch.device("cpu"))
    started = time.perf_counter()
    score(name, network, batch, seed=seed, loss=loss, double=double)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    seconds = time.perf_counter() - started
    with counts.FlopCount() as count:
        score(name, network, batch, seed=seed, loss=loss, double=double)
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
