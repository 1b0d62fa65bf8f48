"""What the latency of a decoder is made of: per layer a + b·width + c·width² + d·heads + e·inner + f·width·inner, and for each
kind of embedding, with its output layer, g + h·width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.estimators.latency_model import PredictedLatency
from secateur.estimators.latency_parts import Kind, Parts
from secateur.rng import Generator
from secateur.search.layer_sums import Around, LayerSums
from secateur.spaces.decoder import Decoder


class DecoderParts(Parts):
    """Decoders of a space. A kind is the (embedding, factor) of the word vectors, a stratum is a width."""

    layers = ("layer", "width", "width_squared", "heads", "inner", "width_inner")
    around = ("outside", "outside_width")
    corrected = True

    def __init__(self, space: Decoder) -> None:
        self.space = space

    def of_layers(self, architecture: Architecture) -> Sequence[float]:
        return described(*sizes_of(architecture)[:4])

    def of_around(self, architecture: Architecture) -> Sequence[float]:
        return 1, sizes_of(architecture)[1]

    def size(self, architecture: Architecture) -> float:
        layers, width, _, inner = sizes_of(architecture)
        return width * (4 * layers * width + 2 * inner)

    def stratum(self, architecture: Architecture) -> str:
        return str(architecture["width"])

    def pool(self, count: int, rng: Generator) -> list[Architecture]:
        return self.space.sample_many(count, rng)

    def kind(self, architecture: Architecture) -> Kind:
        embedding: Any = architecture["embedding"]
        factor: Any = architecture["factor"]
        return embedding, factor

    def fault(self, architecture: Architecture, kinds: Sequence[Kind]) -> str | None:
        if architecture["backbone"] != self.space.backbone:
            return f"the latency model was fitted to `backbone` {self.space.backbone}, not {architecture['backbone']}."
        if self.kind(architecture) not in kinds:
            embedding, factor = self.kind(architecture)
            return (
                f"the latency model has not seen `embedding` {embedding} with `factor` {factor}: fit it to a space that has it."
            )
        return None


def sizes_of(architecture: Architecture) -> tuple[int, int, int, int]:
    """Layers, width, sum of heads and sum of inner widths."""
    choices: dict[str, Any] = dict(architecture.choices)
    return len(choices["heads"]), choices["width"], sum(choices["heads"]), sum(choices["inner"])


def described(layers: Any, width: int, heads: Any, inner: Any) -> tuple[Any, ...]:
    """What `DecoderParts.layers` names, of layers whose heads and inner widths come to these numbers, or arrays of them."""
    return layers, layers * width, layers * width * width, heads, inner, width * inner


class DecoderLatency(PredictedLatency, LayerSums):
    """The predicted latency of decoders, also as sums over layers."""

    added = (True,)

    def parts(self, backbone: str, width: int, heads: np.ndarray, inner: np.ndarray) -> np.ndarray:
        rows = np.stack(described(np.ones(len(heads)), width, heads, inner), axis=1)
        summed = np.asarray(rows @ [self.model.coefficients[name] for name in DecoderParts.layers])
        return summed[:, None] * (1 + self.model.correction(str(width)))

    def quantities(self, around: Around, parts: np.ndarray) -> dict[str, np.ndarray]:
        known, kind = self.model.parts, (around.embedding, around.factor)
        assert isinstance(known, DecoderParts)
        if around.backbone != known.space.backbone or kind not in self.model.kinds:
            return {"latency": np.full(len(parts), np.inf)}
        constant, slope = (self.model.coefficients[name] for name in known.names([kind])[len(known.layers) :])
        return {"latency": parts[:, 0] + constant + slope * around.width}
