"""Networks of the space `mobilenet`: a stem, stages of inverted residual layers, and a head (Howard et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from secateur.architecture import Architecture
from secateur.spaces.mobilenet_sizes import ImageSizes, Layer


class Squeeze(nn.Module):
    """Squeeze and excitation (Hu et al. 2018): each channel is weighed by what the means of all channels say."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.reduce = nn.Conv2d(channels, squeezed, 1)
        self.activation = nn.ReLU()
        self.expand = nn.Conv2d(squeezed, channels, 1)

    def forward(self, images: Tensor) -> Tensor:
        means = images.mean(dim=(2, 3), keepdim=True)
        told: Tensor = self.expand(self.activation(self.reduce(means)))
        # The hard sigmoid, spelt out: torch's own cannot be differentiated twice, as GraSP does.
        return images * (told / 6 + 0.5).clamp(0, 1)


class InvertedResidual(nn.Module):
    """A layer: widen (1 × 1), filter each channel (3 × 3), weigh channels where it squeezes, and narrow (1 × 1)."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        inner = layer.inner
        self.expand = nn.Conv2d(layer.narrow, inner, 1, bias=False)
        self.expand_norm = nn.BatchNorm2d(inner)
        self.depthwise = nn.Conv2d(inner, inner, 3, layer.stride, 1, groups=inner, bias=False)
        self.depthwise_norm = nn.BatchNorm2d(inner)
        self.squeeze = Squeeze(inner, layer.squeezed) if layer.squeezed else None
        self.project = nn.Conv2d(inner, layer.wide, 1, bias=False)
        self.project_norm = nn.BatchNorm2d(layer.wide)
        self.first, self.second = _activation(layer.swish), _activation(layer.swish)
        self.residual = layer.stride == 1 and layer.narrow == layer.wide

    def forward(self, images: Tensor) -> Tensor:
        found: Tensor = self.first(self.expand_norm(self.expand(images)))
        found = self.second(self.depthwise_norm(self.depthwise(found)))
        if self.squeeze is not None:
            found = self.squeeze(found)
        found = self.project_norm(self.project(found))
        return found + images if self.residual else found


def _activation(swish: bool) -> nn.Module:
    return nn.Hardswish() if swish else nn.ReLU()


class Stage(nn.Sequential):
    """The layers of one stage, of which the first may change size and channels. It is the block of a block zoo."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        super().__init__(*(InvertedResidual(layer) for layer in layers))


class MobileNetwork(nn.Module):
    """`stem`, `stages` and `head`. Takes `pixel_values` (n, channels, height, width), gives logits (n, classes)."""

    def __init__(self, architecture: Architecture, sizes: ImageSizes) -> None:
        super().__init__()
        self.architecture, self.sizes = architecture, sizes
        stem, head = sizes.stem, sizes.head
        self.stem = nn.Sequential(
            nn.Conv2d(sizes.image[0], stem, 3, sizes.stem_stride, 1, bias=False), nn.BatchNorm2d(stem), nn.Hardswish()
        )
        self.stages = nn.ModuleList(Stage(layers) for layers in sizes.stages(architecture))
        self.head = nn.Sequential(
            nn.Conv2d(sizes.widths[-1], head, 1, bias=False),
            nn.BatchNorm2d(head),
            nn.Hardswish(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(head, sizes.classes),
        )

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the images that it takes."""
        channels, height, width = self.sizes.image
        return channels, height, width

    def forward(self, pixel_values: Tensor) -> Tensor:
        found = self.stem(pixel_values)
        for stage in self.stages:
            found = stage(found)
        logits: Tensor = self.head(found)
        return logits

    def features(self, pixel_values: Tensor) -> list[Tensor]:
        """What each stage gets, and last what the head gets."""
        found = [self.stem(pixel_values)]
        for stage in self.stages:
            found.append(stage(found[-1]))
        return found


def build(architecture: Architecture, sizes: ImageSizes, *, seed: int = 0) -> MobileNetwork:
    """A network with random weights on the CPU, in evaluation mode; equal seeds give equal weights.

    Convolutions are normal with variance 2 / (outputs × kernel), the classifier with deviation 0.01, as in the authors' code
    of MobileNetV2 and V3. The global random state is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        network = MobileNetwork(architecture, sizes)
        initialise(network)
    return network.eval()


def initialise(network: nn.Module) -> None:
    """Fresh weights, drawn from torch's generator."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, 0.01)
            nn.init.zeros_(module.bias)


__all__ = ["InvertedResidual", "MobileNetwork", "Squeeze", "Stage", "build", "initialise"]
