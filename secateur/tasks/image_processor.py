"""How images become what a network reads: of its size and colours, normalised. What a tokenizer is to texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import DataError
from secateur.writing import write_whole

if TYPE_CHECKING:
    import torch

    from secateur.tasks.image_data import ImageData

#: The file that says how images are prepared, beside a checkpoint; transformers' `AutoImageProcessor` reads it, too.
FILE = "preprocessor_config.json"
#: What a byte is multiplied by, where nothing else is said.
FACTOR = 1 / 255
#: Mean and deviation where a file normalises and says none, as in transformers.
_USUAL = 0.5
#: PIL's number of bilinear resizing.
_BILINEAR = 2


@dataclass(frozen=True)
class ImageProcessor:
    """Brings images to `size` (height, width) and `channels`; what the layers compute for each has `length` states.

    Bytes are multiplied by `factor`, and floating point is taken for shares of 255. Then `mean` is subtracted and the rest
    divided by `deviation`, a number per channel; where none are said, they are the training images' own: `fitted`.
    """

    size: tuple[int, int]
    channels: int
    length: int
    mean: tuple[float, ...] | None = None
    deviation: tuple[float, ...] | None = None
    factor: float = FACTOR

    @classmethod
    def said(cls, size: tuple[int, int], channels: int, length: int, settings: Mapping[str, Any] | None) -> ImageProcessor:
        """As the settings of a `FILE` say, in the form of `ViTImageProcessor`. Raises ValueError where they cannot be meant."""
        if settings is None:
            return cls(size, channels, length)
        factor = _number(settings, "rescale_factor", FACTOR) if settings.get("do_rescale", True) else 1.0
        if not settings.get("do_normalize", True):
            return cls(size, channels, length, (0.0,) * channels, (1.0,) * channels, factor)
        mean, deviation = (_numbers(settings, name, channels) for name in ("image_mean", "image_std"))
        if min(deviation) <= 0:
            raise ValueError(f"`image_std` in {FILE} must be above 0, got {min(deviation):g}")
        return cls(size, channels, length, mean, deviation, factor)

    def coloured(self, pixels: NDArray[Any]) -> NDArray[Any]:
        """Images (n, channels, height, width) with the network's channels: grey is repeated. Raises DataError for colours where
        the network reads grey."""
        if pixels.shape[1] == self.channels:
            return pixels
        if pixels.shape[1] != 1:
            raise DataError(
                f"the images have {pixels.shape[1]} channels, and the model reads {self.channels}: convert the images first."
            )
        return np.broadcast_to(pixels, (len(pixels), self.channels, *pixels.shape[2:]))

    def fitted(self, data: ImageData) -> ImageProcessor:
        """With mean and deviation: those of the training images, where none are said."""
        if self.mean is not None:
            return self
        mean, deviation = (values.tolist() * (self.channels // len(values)) for values in (data.mean, data.deviation))
        return replace(self, mean=tuple(mean), deviation=tuple(deviation))

    def __call__(self, pixels: NDArray[Any]) -> torch.Tensor:
        """Images (n, channels, height, width) of bytes or floating point, normalised."""
        import torch

        found = torch.from_numpy(np.ascontiguousarray(pixels))
        found = found.float() * self.factor if found.dtype == torch.uint8 else found * (255 * self.factor)
        mean, deviation = (torch.tensor(values)[:, None, None] for values in (self.mean, self.deviation))
        return (found - mean) / deviation

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the `FILE` with which transformers prepares images as here."""
        height, width = self.size
        said = {
            "image_processor_type": "ViTImageProcessor",
            "do_convert_rgb": True if self.channels == 3 else None,
            "do_resize": True,
            "size": {"height": height, "width": width},
            "resample": _BILINEAR,
            "do_rescale": True,
            "rescale_factor": self.factor,
            "do_normalize": True,
            "image_mean": self.mean,
            "image_std": self.deviation,
        }
        write_whole(json.dumps(said, indent=2) + "\n", Path(folder) / FILE)


def _number(settings: Mapping[str, Any], name: str, usual: float) -> float:
    value = settings.get(name, usual)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError(f"`{name}` in {FILE} must be a number above 0, got {value!r}")
    return float(value)


def _numbers(settings: Mapping[str, Any], name: str, channels: int) -> tuple[float, ...]:
    """A number for each channel; a single one holds for all."""
    value = settings.get(name, _USUAL)
    several = value if isinstance(value, list) else [value]
    several = several * channels if len(several) == 1 else several
    if len(several) != channels or not all(isinstance(v, int | float) and np.isfinite(v) for v in several):
        raise ValueError(
            f"`{name}` in {FILE} must have a number for each of the model's channels ({channels}), got {value!r}. Edit the file"
        )
    return tuple(map(float, several))
