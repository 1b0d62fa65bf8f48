"""The peak memory of thousands of decoders a minute: put together from the profiles of their layers, equal to a full pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from torch import nn

from secateur.architecture import Architecture
from secateur.devices.inputs import dummy_inputs
from secateur.devices.memory import Memory
from secateur.devices.profile import LayerBytes, OutsideBytes, layer_profile
from secateur.devices.setup import Setup
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build
from secateur.estimators.memory import MemoryEstimator, evaluation_of
from secateur.search.layer_sums import Around, LayerSums
from secateur.spaces.decoder import architecture as decoder

#: (backbone, width, heads, inner width) of a layer.
Layer = tuple[str, int, int, int]
#: (backbone, width, embedding, factor) of what is around the layers.
Outside = tuple[str, int, int, int]

#: Layers per profiled network: enough to share its other parts, few enough to stay small.
_AT_ONCE = 64


class PredictedMemory(Estimator, LayerSums):
    """Bytes at the peak of one forward pass on a CPU (`memory`) of architectures of the space `decoder`.

    `meta` builds networks on the meta device (`Builder.meta`). Each kind of layer, and each embedding with its output layer, is
    followed once; a network's peak is the largest of its parts', each on top of what the parts before it keep. The first
    `checks` networks of each backbone are also followed whole: should one differ, all further ones of that backbone are.
    """

    yields = ("memory",)
    cost: ClassVar[int] = 0

    def __init__(self, meta: Build, setup: Setup, *, identity: str = "", checks: int = 2) -> None:
        self.setup = replace(setup, device="cpu", kind="language_modelling")
        self._full_pass = MemoryEstimator(meta, self.setup, identity=identity)
        self.meta, self.checks = meta, checks
        self._layers: dict[Layer, LayerBytes] = {}
        self._outsides: dict[Outside, OutsideBytes] = {}
        self._checked: dict[str, int] = {}
        self._uneven: set[str] = set()
        #: Bytes of the scores of every word, which are there in the end.
        self._output = 0

    @property
    def fingerprint(self) -> str:
        # The numbers are those of the full pass, whichever way they were found.
        return self._full_pass.fingerprint

    @property
    def composed(self) -> bool:
        """Whether every backbone's networks could so far be put together."""
        return not self._uneven

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        self._profile(architectures)
        return [self._evaluate(architecture) for architecture in architectures]

    def _evaluate(self, architecture: Architecture) -> Evaluation:
        backbone = str(architecture["backbone"])
        if backbone in self._uneven:
            return self._full_pass.evaluate([architecture])[0]
        found = self._compose(architecture)
        if self._checked.get(backbone, 0) < self.checks:
            self._checked[backbone] = self._checked.get(backbone, 0) + 1
            followed = self._full_pass.evaluate([architecture])[0]
            if followed.values != found.values:
                self._uneven.add(backbone)
                return followed
        return found

    def _compose(self, architecture: Architecture) -> Evaluation:
        outside = self._outsides[_outside(architecture)]
        peak, now, weights, last = outside.before, outside.entry, outside.weights, outside.entry
        for kind in _layers(architecture):
            layer = self._layers[kind]
            peak, last = max(peak, now + layer.peak), now
            now += layer.kept
            weights += layer.weights
        return evaluation_of(Memory(weights, max(peak, last + outside.after)))

    # As sums over layers: bytes of weights and of what layers keep, and the highest peak of a layer, or the bytes of the output
    # where they are more: no peak is lower. Where layers keep states, the highest peak is taken to come last.

    added = (True, True, False)

    def parts(self, backbone: str, width: int, heads: np.ndarray, inner: np.ndarray) -> np.ndarray:
        for some in set(heads.tolist()):
            self._profile_between((backbone, width, some), sorted(set(inner[heads == some].tolist())))
        found = [self._layers[backbone, width, h, i] for h, i in zip(heads.tolist(), inner.tolist(), strict=True)]
        return np.array([(layer.weights, layer.kept, max(layer.peak, self._output)) for layer in found], dtype=np.float64)

    def _profile_between(self, kind: tuple[str, int, int], inner: list[int]) -> None:
        """Profile layers of rising inner widths. Their bytes are the largest of some lines over the inner width, so convex: if
        the middle lies on the line between the ends, all between them do, and need not be followed."""
        ends = [inner[0], inner[len(inner) // 2], inner[-1]]
        self._profile_layers(*kind[:2], [(*kind, i) for i in dict.fromkeys(ends) if (*kind, i) not in self._layers])
        layers = [self._layers[(*kind, i)] for i in ends]
        low, middle, high = (np.array([max(x.peak, self._output), x.kept, x.weights]) for x in layers)
        if np.array_equal((high - low) * (ends[1] - ends[0]), (middle - low) * (ends[2] - ends[0])):
            for i in inner[1:-1]:
                between = low + (high - low) * (i - ends[0]) // (ends[2] - ends[0])
                self._layers.setdefault((*kind, i), LayerBytes(*between.tolist()))
        elif len(inner) > 3:
            half = len(inner) // 2
            self._profile_between(kind, inner[: half + 1])
            self._profile_between(kind, inner[half:])

    def quantities(self, around: Around, parts: np.ndarray) -> dict[str, np.ndarray]:
        place = (around.backbone, around.width, around.embedding, around.factor)
        if place not in self._outsides:
            known = next(kind for kind in self._layers if kind[:2] == place[:2])
            self._profile_outside(place, known)
        outside, (weights, kept, peak) = self._outsides[place], parts.T
        last = outside.entry + kept * (around.layers - 1) / around.layers
        highest = np.maximum(outside.before, last + np.maximum(peak, outside.after))
        return {"memory": outside.weights + weights + highest}

    def _profile(self, architectures: Iterable[Architecture]) -> None:
        """Follow what has not been followed before."""
        missing: dict[tuple[str, int], list[Layer]] = {}
        outsides: dict[Outside, Layer] = {}
        for architecture in architectures:
            if architecture["backbone"] in self._uneven:
                continue
            kinds = _layers(architecture)
            outsides.setdefault(_outside(architecture), kinds[0])
            for kind in dict.fromkeys(kinds):
                found = missing.setdefault(kind[:2], [])
                if kind not in self._layers and kind not in found:
                    found.append(kind)
        for (backbone, width), kinds in missing.items():
            self._profile_layers(backbone, width, kinds)
        for outside, kind in outsides.items():
            if outside not in self._outsides:
                self._profile_outside(outside, kind)

    def _profile_layers(self, backbone: str, width: int, kinds: Sequence[Layer]) -> None:
        for start in range(0, len(kinds), _AT_ONCE):
            some = kinds[start : start + _AT_ONCE]
            # One more at each end: the first layer of a network may differ from the others, and the last keeps nothing.
            row = [some[0], *some, some[-1]]
            network = decoder(backbone, width, [kind[2] for kind in row], [kind[3] for kind in row])
            self._layers.update(zip(some, self._follow(network)[1][1:-1], strict=True))

    def _profile_outside(self, outside: Outside, kind: Layer) -> None:
        """Follow what is around the layers, with two of a kind."""
        backbone, width, embedding, factor = outside
        network = decoder(backbone, width, [kind[2]] * 2, [kind[3]] * 2, embedding, factor)
        self._outsides[outside] = self._follow(network)[0]

    def _follow(self, architecture: Architecture) -> tuple[OutsideBytes, list[LayerBytes]]:
        network: Any = self.meta(architecture).eval()
        self._output = self.setup.batch * self.setup.length * network.config.vocab_size * 4
        layers: list[nn.Module] = network.decoder_modules()[: len(_layers(architecture))]
        return layer_profile(network, dummy_inputs(network, self.setup.batch, self.setup.length, self.setup.kind), layers)


def _layers(architecture: Architecture) -> list[Layer]:
    choices: dict[str, Any] = dict(architecture.choices)
    backbone, width = choices["backbone"], choices["width"]
    return [(backbone, width, h, i) for h, i in zip(choices["heads"], choices["inner"], strict=True)]


def _outside(architecture: Architecture) -> Outside:
    choices: dict[str, Any] = dict(architecture.choices)
    return choices["backbone"], choices["width"], choices["embedding"], choices["factor"]
