"""What a network of the space `mobilenet` has beside its architecture, and what it costs, counted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.settings import Settings, option
from secateur.spaces.mobilenet import expansions_of

#: MobileNetV3-Large as Cai et al. (2020) search it: widths of the stem and of the five stages, which of these squeeze and
#: excite, and which have the hard swish for an activation.
WIDTHS, STEM, HEAD = (24, 40, 80, 112, 160), 16, 960
SQUEEZE, SWISH = (False, True, False, True, True), (False, False, True, True, True)
#: The share of a layer's inner channels that squeeze and excitation leaves.
SQUEEZED = 4


class Layer(NamedTuple):
    """One inverted residual layer: channels in, inside and out, the stride, the channels of its squeeze (0: none), and the
    height and width of its input."""

    narrow: int
    inner: int
    wide: int
    stride: int
    squeezed: int
    swish: bool
    height: int
    width: int


@dataclass(frozen=True, kw_only=True)
class ImageSizes(Settings):
    """What all networks of a search share. Raises ConfigurationError for sizes that no network can have.

    The paper names neither widths nor strides. The defaults are Cai et al.'s (2020) for the widths; strides are for small
    images: the stem keeps their size.
    """

    image: tuple[int, ...] = option(about="Channels, height and width of the images.", least=1, most=10_000)
    classes: int = option(about="Number of classes.", least=2, most=1_000_000)
    widths: tuple[int, ...] = option(WIDTHS, "Channels of each stage.", least=1, most=100_000)
    strides: tuple[int, ...] = option((1, 2, 2, 1, 2), "Stride of each stage's first layer.", least=1, most=8)
    stem: int = option(STEM, "Channels of the first convolution.", least=1, most=100_000)
    stem_stride: int = option(1, "Stride of the first convolution.", least=1, most=8)
    head: int = option(HEAD, "Channels of the last convolution.", least=1, most=100_000)
    squeeze: tuple[bool, ...] = option(SQUEEZE, "Which stages have squeeze and excitation.")
    swish: tuple[bool, ...] = option(SWISH, "Which stages have the hard swish for an activation; the others have ReLU.")

    def __post_init__(self) -> None:
        self.check()

    def contradictions(self) -> list[str]:
        found = [] if len(self.image) == 3 else [f"`image` must be channels, height and width, got {list(self.image)}."]
        stages = len(self.widths)
        for name in ("strides", "squeeze", "swish"):
            given = getattr(self, name)
            if len(given) != stages:
                found.append(f"`{name}` must have one value for each of the {stages} `widths`, got {len(given)}.")
        return found

    @classmethod
    def scaled(cls, image: tuple[int, ...], classes: int, factor: float, **more: object) -> ImageSizes:
        """The default widths times a factor, as whole numbers of at least 4."""
        if not 0 < factor <= 100:
            raise ConfigurationError(f"`factor` must be above 0 and at most 100, got {factor:g}.")
        widths = tuple(_times(w, factor) for w in WIDTHS)
        given = {"widths": widths, "stem": _times(STEM, factor), "head": _times(HEAD, factor), **more}
        return cls(image=tuple(image), classes=classes, **given)  # type: ignore[arg-type]

    @property
    def stem_size(self) -> tuple[int, int]:
        """Height and width behind the stem."""
        return math.ceil(self.image[1] / self.stem_stride), math.ceil(self.image[2] / self.stem_stride)

    def entering(self, stage: int) -> tuple[int, int, int]:
        """Channels, height and width of what a stage gets; of what the head gets, for the number behind the last."""
        height, width = self.stem_size
        for stride in self.strides[:stage]:
            height, width = math.ceil(height / stride), math.ceil(width / stride)
        return (self.stem, *self.widths)[stage], height, width

    def layers(self, stage: int, expansions: tuple[int, ...]) -> list[Layer]:
        """The layers of a stage. The first one widens by its expansion what the stage before gave."""
        found = []
        narrow, height, width = self.entering(stage)
        for place, expansion in enumerate(expansions):
            inner, stride = narrow * expansion, 1 if place else self.strides[stage]
            squeezed = max(inner // SQUEEZED, 1) if self.squeeze[stage] else 0
            found.append(Layer(narrow, inner, self.widths[stage], stride, squeezed, self.swish[stage], height, width))
            narrow, height, width = self.widths[stage], math.ceil(height / stride), math.ceil(width / stride)
        return found

    def stages(self, architecture: Architecture) -> list[list[Layer]]:
        """The layers of an architecture by stage. Raises ConfigurationError for another number of stages."""
        expansions = expansions_of(architecture)
        if len(expansions) != len(self.widths):
            raise ConfigurationError(f"`widths` are of {len(self.widths)} stages, but the architecture has {len(expansions)}.")
        return [self.layers(stage, chosen) for stage, chosen in enumerate(expansions)]


def _times(width: int, factor: float) -> int:
    return max(4, round(width * factor))


def parameters(architecture: Architecture, sizes: ImageSizes) -> int:
    """All trainable parameters. Convolutions have no bias where a norm follows, and a norm has two numbers per channel."""
    total = sizes.image[0] * sizes.stem * 9 + 2 * sizes.stem
    total += sizes.widths[-1] * sizes.head + 2 * sizes.head + (sizes.head + 1) * sizes.classes
    return total + sum(_layer_parameters(layer) for layer in _all(architecture, sizes))


def macs(architecture: Architecture, sizes: ImageSizes, batch: int = 1) -> int:
    """Multiply-accumulates of convolutions and of the classifier in one forward pass over `batch` images."""
    height, width = sizes.stem_size
    total = sizes.image[0] * sizes.stem * 9 * height * width
    channels, height, width = sizes.entering(len(sizes.widths))
    total += channels * sizes.head * height * width + sizes.head * sizes.classes
    return batch * (total + sum(_layer_macs(layer) for layer in _all(architecture, sizes)))


def _all(architecture: Architecture, sizes: ImageSizes) -> Iterator[Layer]:
    return (layer for stage in sizes.stages(architecture) for layer in stage)


def _layer_parameters(layer: Layer) -> int:
    squeeze = 2 * layer.inner * layer.squeezed + layer.squeezed + layer.inner if layer.squeezed else 0
    return layer.inner * (layer.narrow + 9 + layer.wide) + 2 * (2 * layer.inner + layer.wide) + squeeze


def _layer_macs(layer: Layer) -> int:
    before = layer.height * layer.width
    after = math.ceil(layer.height / layer.stride) * math.ceil(layer.width / layer.stride)
    return layer.inner * (layer.narrow * before + (9 + layer.wide) * after) + 2 * layer.inner * layer.squeezed
