"""Images as tensors in memory: the splits of a task, their batches, and their fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from secateur.architecture import digest
from secateur.tasks.examples import SPLITS
from secateur.tasks.task import Task

#: Numbers that statistics take in at once: 8 bytes each.
_AT_ONCE = 2**23
#: Changes a batch (n, channels, height, width) of normalised images at random.
Augment = Callable[[Tensor, torch.Generator], Tensor]


@dataclass(frozen=True, eq=False)
class Images:
    """One split: `pixels` (n, channels, height, width) of uint8 or float32, as they were read, and `labels` (n,) of int64."""

    pixels: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: slice | Tensor) -> Images:
        """The images of these rows."""
        return Images(self.pixels[rows], self.labels[rows])

    def to(self, device: torch.device | str) -> Images:
        return Images(self.pixels.to(device), self.labels.to(device))

    def scaled(self, rows: Tensor | slice = slice(None)) -> Tensor:
        """Pixels as float32; bytes become shares of 255."""
        found = self.pixels[rows]
        return found.float().div_(255) if found.dtype == torch.uint8 else found

    @property
    def fingerprint(self) -> str:
        """A digest of all that is in them."""
        parts = [
            f"{t.dtype} {tuple(t.shape)}".encode() + t.cpu().contiguous().numpy().tobytes() for t in (self.pixels, self.labels)
        ]
        return digest(*parts)


@dataclass(frozen=True, eq=False)
class ImageData:
    """A task with its images. The test set is for the report only.

    Batches are normalised: the training set's mean is 0 and its standard deviation 1 in each channel. `mean` and `deviation`
    (channels,) are those statistics.
    """

    task: Task
    train: Images
    validation: Images
    test: Images
    label_names: tuple[str, ...]

    @cached_property
    def _statistics(self) -> tuple[Tensor, Tensor]:
        return statistics(self.train)

    @property
    def mean(self) -> Tensor:
        return self._statistics[0]

    @property
    def deviation(self) -> Tensor:
        return self._statistics[1]

    @cached_property
    def fingerprint(self) -> str:
        settings = f"{self.task.name} {self.task.kind} {self.task.metrics} {self.task.main} {self.label_names}"
        return digest(settings, *(self.split(name).fingerprint for name in SPLITS))

    @property
    def num_labels(self) -> int:
        return len(self.label_names)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image."""
        channels, height, width = self.train.pixels.shape[1:]
        return channels, height, width

    def split(self, name: str) -> Images:
        if name not in SPLITS:
            raise ValueError(f"`split` must be one of {', '.join(SPLITS)}, got `{name}`.")
        images: Images = getattr(self, name)
        return images

    def to(self, device: torch.device | str) -> ImageData:
        """The same data on a device."""
        return replace(self, train=self.train.to(device), validation=self.validation.to(device), test=self.test.to(device))

    def normalised(self, images: Images, rows: Tensor | slice = slice(None)) -> Tensor:
        """These images (n, channels, height, width) as a network gets them."""
        found = images.scaled(rows)
        mean, deviation = self.mean.to(found.device), self.deviation.to(found.device)
        return (found - mean[:, None, None]) / deviation[:, None, None]

    def batches(
        self,
        split: str | Images,
        batch_size: int,
        *,
        generator: torch.Generator | None = None,
        augment: Augment | None = None,
        whole: bool = False,
    ) -> Iterator[dict[str, Tensor]]:
        """Every image once: `pixel_values` (n, channels, height, width) and `labels` (n,).

        In order without a `generator` (of the CPU), else shuffled by it, and each batch changed by `augment`. `whole` leaves
        out a last batch that is smaller than the others, unless it is the only one.
        """
        images = self.split(split) if isinstance(split, str) else split
        device = images.labels.device
        count = len(images)
        order = torch.arange(count) if generator is None else torch.randperm(count, generator=generator)
        order = order.to(device)
        for start in range(0, count, batch_size):
            rows = order[start : start + batch_size]
            if whole and start and len(rows) < batch_size:
                return
            pixels = self.normalised(images, rows)
            if augment is not None and generator is not None:
                pixels = augment(pixels, generator)
            yield {"pixel_values": pixels, "labels": images.labels[rows]}


def statistics(images: Images) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation (channels,) of the images, in float64 until the end; a constant channel has deviation 1."""
    channels = images.pixels.shape[1]
    count, total, squares = 0, torch.zeros(channels, dtype=torch.float64), torch.zeros(channels, dtype=torch.float64)
    step = max(1, _AT_ONCE // images.pixels[0].numel())
    for start in range(0, len(images), step):
        part = images.scaled(slice(start, start + step)).double().cpu()
        count += part.numel() // channels
        total += part.sum(dim=(0, 2, 3))
        squares += part.square().sum(dim=(0, 2, 3))
    mean = total / count
    deviation = (squares / count - mean.square()).clamp(min=0).sqrt()
    deviation[deviation < 1e-6] = 1.0
    return mean.float(), deviation.float()
