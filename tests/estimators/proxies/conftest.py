"""Tiny networks and batches for the proxies."""

from __future__ import annotations

import pytest
import torch

from secateur.decoders import Sizes, build
from secateur.spaces.decoder import architecture

KINDS = ["gpt2", "transformer_xl", "gpt2-adaptive", "transformer_xl-adaptive"]


def decoder(kind: str, vocabulary: int = 23, *, layers: int = 2, width: int = 16, seed: int = 0):
    """A language model of 2 layers; `…-adaptive` with clusters in embedding and softmax."""
    backbone, _, adaptive = kind.partition("-")
    sizes = (16, 2) if adaptive else (0, 1)
    shape = architecture(backbone, width, [2] * layers, [32] * layers, *sizes)
    return build(shape, Sizes(vocabulary=vocabulary, cutoffs=(7, 13), positions=12), seed=seed)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def make():
    return decoder


@pytest.fixture
def text():
    """Four texts of six tokens, all ids below 20."""
    ids = torch.randint(0, 20, (4, 6), generator=torch.Generator().manual_seed(1))
    return {"input_ids": ids, "labels": ids}
