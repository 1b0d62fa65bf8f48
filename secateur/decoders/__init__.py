"""Networks built from an Architecture."""

from __future__ import annotations

from secateur.decoders.building import Builder
from secateur.decoders.decoders import architecture_of, build, config_of, is_decoder, model_class
from secateur.spaces.decoder_sizes import Sizes

__all__ = ["Builder", "Sizes", "architecture_of", "build", "config_of", "is_decoder", "model_class"]
