"""Networks built from an Architecture."""

from __future__ import annotations

from secateur.models.building import Builder
from secateur.models.decoders import architecture_of, build, config_of, is_decoder, model_class

__all__ = ["Builder", "architecture_of", "build", "config_of", "is_decoder", "model_class"]
