"""The baselines of a design run: a published decoder with 1 to 16 of its layers."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from secateur.architecture import Architecture
from secateur.spaces.decoder import Decoder
from secateur.spaces.layer_scaling import AUTHORS, base_of

#: The layers of the baselines that the front is compared with.
LAYERS = range(1, 17)


class Baseline(NamedTuple):
    """One baseline: what to call it and the family that it is of."""

    name: str
    family: str
    layers: int
    architecture: Architecture
    #: Whether its embedding is one of the space's, so that the decoder alone is compared.
    alike: bool


def layer_scaled(backbone: str, space: Decoder) -> list[Baseline]:
    """With the smallest embedding of the space, so that the decoder alone is compared; as published; and as the authors of
    LiteTransformerSearch have it."""
    published, theirs = base_of(backbone), AUTHORS[backbone]
    embedding = min(space.allowed.embedding, key=lambda e: e or published.width)
    alike = base_of(backbone, embedding=embedding, factor=space.allowed.factor[-1])
    alike = replace(alike, name=f"{published.name} with embedding {embedding or 'plain'}")
    bases = [alike, published, theirs] if alike.with_layers(1) != published.with_layers(1) else [published, theirs]
    return [Baseline(base.title(n), base.name, n, base.with_layers(n), base is alike) for base in bases for n in LAYERS]
