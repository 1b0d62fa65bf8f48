"""Random changes of images that leave their class alone: shifts (pad and crop) and mirror images."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from secateur.settings import Settings, option


@dataclass(frozen=True, kw_only=True)
class Augmentation(Settings):
    """A batch is padded with zeros (the training mean) by `pad` pixels and cropped back at random; `flip` mirrors half."""

    pad: int = option(0, "Pixels to pad with on each side before an image is cropped back to its size.", least=0, most=1024)
    flip: bool = option(False, "Mirror every second image, left to right, at random.")

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """The batch (n, channels, height, width), each image changed by itself. Draws from the generator (of the CPU) only."""
        count, _, height, width = images.shape
        if self.flip:
            turned = (torch.rand(count, generator=generator) < 0.5).to(images.device)
            images = torch.where(turned[:, None, None, None], images.flip(-1), images)
        if self.pad:
            moves = torch.randint(2 * self.pad + 1, (2, count), generator=generator).to(images.device)
            padded = F.pad(images, (self.pad,) * 4)
            rows = moves[0][:, None] + torch.arange(height, device=images.device)
            columns = moves[1][:, None] + torch.arange(width, device=images.device)
            examples = torch.arange(count, device=images.device)[:, None, None]
            # Indices apart from the slice: the channels come last, and go back to their place.
            images = padded[examples, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
        return images
