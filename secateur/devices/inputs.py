"""Made-up inputs of a given size, for measuring. Their values do not change what a pass costs."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from secateur.anatomy.inputs import CHOICES, image_size, longest_text, reads_images
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError, MeasurementError


def dummy_inputs(
    model: nn.Module, batch: int, length: int, kind: str = "classification", remembered: int = 0
) -> dict[str, Any]:
    """Token ids and an attention mask without padding for a transformers model, on the model's device.

    Both are (batch, length), or (batch, 4, length) for multiple choice; for language modelling there is no mask, as texts are
    read without padding and a mask would keep decoders from their causal kernels. Ids are random, the same each time, never
    padding. `mems` are `remembered` states of earlier text for each layer, (batch, remembered, width), where that is not 0.
    For image classification there are random images of the size that the network names, and no tokens.
    Raises ConfigurationError for sizes below 1 or beyond the model's positions, MeasurementError for a model without
    a vocabulary, or one for images that does not name their size.
    """
    Setup(batch=batch, length=length, kind=kind).check()
    if kind == "image_classification":
        return _images(model, batch)
    config: Any = getattr(model, "config", None)
    vocabulary = getattr(config, "vocab_size", None)
    if not isinstance(vocabulary, int) or vocabulary < 2:
        raise MeasurementError(
            f"`{type(model).__name__}` has no `config.vocab_size`: only models that read tokens can be measured."
        )
    longest = longest_text(config)
    if length > longest:
        raise ConfigurationError(f"`length` must be at most {longest} for this model, got {length}.")
    padding = getattr(config, "pad_token_id", None)
    shape = (batch, CHOICES, length) if kind == "multiple_choice" else (batch, length)
    generator = torch.Generator().manual_seed(0)
    if isinstance(padding, int) and 0 <= padding < vocabulary:
        # Drawn from one id fewer than there are, then moved past the padding id: never padding, and no rejection loop.
        ids = torch.randint(vocabulary - 1, shape, generator=generator)
        ids = ids + (ids >= padding)
    else:
        ids = torch.randint(vocabulary, shape, generator=generator)
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    mask = {} if kind == "language_modelling" else {"attention_mask": torch.ones_like(ids).to(device)}
    found: dict[str, Any] = {"input_ids": ids.to(device), **mask}
    if remembered:
        if getattr(config, "backbone", None) != "transformer_xl":
            raise MeasurementError(f"`{type(model).__name__}` has no memory of earlier text.")
        found["mems"] = tuple(torch.zeros(batch, remembered, config.width, device=device) for _ in config.heads)
    return found


def _images(model: nn.Module, batch: int) -> dict[str, Any]:
    shape, config = getattr(model, "image_shape", None), getattr(model, "config", None)
    if config is not None and reads_images(config):
        shape = (config.num_channels, *image_size(config))
    if not isinstance(shape, tuple):
        raise MeasurementError(f"`{type(model).__name__}` has no `image_shape`: channels, height and width of its images.")
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    pixels = torch.randn((batch, *shape), generator=torch.Generator().manual_seed(0))
    return {"pixel_values": pixels.to(device)}
