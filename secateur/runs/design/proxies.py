"""Proxies of quality that need a network: built with random weights, scored on made-up texts."""

from __future__ import annotations

from collections.abc import Sequence

from secateur.estimators.base import Estimator
from secateur.objectives import serving
from secateur.spaces.decoder_sizes import Sizes

#: Texts that a proxy sees, of the length that latency is measured with.
TEXTS = 4


def proxy_estimators(wanted: Sequence[str], sizes: Sizes, length: int, seed: int) -> list[Estimator]:
    """An estimator for each proxy wanted that cannot be counted. The texts are random tokens, the same for every network."""
    names = [name for name in serving("design", "max") if name in wanted and name != "decoder_parameters"]
    if not names:
        return []
    import torch

    from secateur.decoders import build
    from secateur.estimators.proxies import ProxyEstimator

    tokens = torch.randint(sizes.vocabulary, (TEXTS, length), generator=torch.Generator().manual_seed(seed))
    batch, identity = {"input_ids": tokens, "labels": tokens}, str(sorted(sizes.as_dict().items()))
    return [ProxyEstimator(lambda a: build(a, sizes, seed=seed), batch, name, seed=seed, identity=identity) for name in names]
