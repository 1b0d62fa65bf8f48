"""The operations of DARTS (Liu et al. 2019) as modules: ReLU, convolution, batch normalisation, with no scale of its own.

As in its search, normalisation has no weights: how much an operation counts is for the architecture to say.
"""

from __future__ import annotations

import re

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from secateur.supernet.step import step


class Convolution(nn.Conv2d):
    """A convolution without bias. While `scores` are learnt, weights whose score is not above the threshold count as zero;
    afterwards those that are not `kept` do."""

    scores: nn.Parameter | None
    kept: Tensor | None

    def __init__(self, inputs: int, outputs: int, size: int, **given: int) -> None:
        super().__init__(inputs, outputs, size, bias=False, **given)  # type: ignore[arg-type]
        self.register_parameter("scores", None)
        self.register_buffer("kept", None)
        self.threshold = 0.0

    def effective(self) -> Tensor:
        """The weights that count."""
        if self.scores is not None:
            return self.weight * step(self.scores - self.threshold)
        return self.weight if self.kept is None else self.weight * self.kept

    def forward(self, states: Tensor) -> Tensor:
        found: Tensor = self._conv_forward(states, self.effective(), None)
        return found

    @property
    def counted(self) -> int:
        """How many weights there are that are not masked."""
        if self.scores is not None:
            return int((self.scores > self.threshold).sum())
        return self.weight.numel() if self.kept is None else int(self.kept.sum())


def normalisation(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, affine=False)


def pointwise(inputs: int, outputs: int) -> nn.Sequential:
    """What brings the channels of an earlier cell to those of this one."""
    return nn.Sequential(nn.ReLU(), Convolution(inputs, outputs, 1), normalisation(outputs))


class Halving(nn.Module):
    """Half the height and width by two convolutions of size 1, each on every second pixel, one of them shifted by one."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.even = Convolution(inputs, outputs // 2, 1, stride=2)
        self.odd = Convolution(inputs, outputs - outputs // 2, 1, stride=2)
        self.normalisation = normalisation(outputs)

    def forward(self, states: Tensor) -> Tensor:
        height, width = states.shape[-2:]
        states = F.pad(F.relu(states), (0, width % 2, 0, height % 2))
        found: Tensor = self.normalisation(torch.cat([self.even(states), self.odd(states[..., 1:, 1:])], dim=1))
        return found


def separable(channels: int, size: int, stride: int, dilation: int = 1) -> list[nn.Module]:
    """ReLU, a convolution for each channel, one of size 1 over all, normalisation."""
    padding = dilation * (size // 2)
    given = {"stride": stride, "padding": padding, "dilation": dilation, "groups": channels}
    deep = Convolution(channels, channels, size, **given)
    return [nn.ReLU(), deep, Convolution(channels, channels, 1), normalisation(channels)]


def operation(name: str, channels: int, stride: int) -> nn.Module:
    """The operation of this name, of `darts_cells.OPERATIONS`: as many channels out as in, and 1 / stride of the height."""
    if name == "skip_connect":
        return nn.Identity() if stride == 1 else Halving(channels, channels)
    found = re.fullmatch(r"(max_pool|avg_pool|sep_conv|dil_conv)_(\d)x\2", name)
    if found is None:
        raise ValueError(f"there is no operation `{name}`")
    kind, size = found[1], int(found[2])
    if kind == "max_pool":
        return nn.Sequential(nn.MaxPool2d(size, stride, size // 2), normalisation(channels))
    if kind == "avg_pool":
        pool = nn.AvgPool2d(size, stride, size // 2, count_include_pad=False)
        return nn.Sequential(pool, normalisation(channels))
    if kind == "dil_conv":
        return nn.Sequential(*separable(channels, size, stride, dilation=2))
    return nn.Sequential(*separable(channels, size, stride), *separable(channels, size, 1))
