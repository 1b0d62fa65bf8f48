"""Parameters and multiply-accumulates of networks for images, counted."""

from __future__ import annotations

from secateur.architecture import Architecture, digest
from secateur.estimators.cost import Counted
from secateur.spaces import mobilenet_sizes
from secateur.spaces.mobilenet_sizes import ImageSizes


class ImageCost(Counted):
    """`parameters` and `macs` (of one pass over `batch` images) of the space `mobilenet`."""

    yields = ("parameters", "macs")

    def __init__(self, sizes: ImageSizes, *, batch: int = 1) -> None:
        self.sizes, self.batch = sizes, batch

    @property
    def fingerprint(self) -> str:
        return digest("image cost", str(self.sizes.as_dict()), str(self.batch))

    def count(self, architecture: Architecture) -> dict[str, float]:
        counted = (
            mobilenet_sizes.parameters(architecture, self.sizes),
            mobilenet_sizes.macs(architecture, self.sizes, self.batch),
        )
        return dict(zip(self.yields, map(float, counted), strict=True))
