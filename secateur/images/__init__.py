"""Networks for images, built from an architecture."""

from secateur.images.mobilenet import MobileNetwork, Stage, build

__all__ = ["MobileNetwork", "Stage", "build"]
