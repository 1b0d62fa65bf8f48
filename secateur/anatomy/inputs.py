"""What a model reads: tokens or images, how long a text may be, and how many texts make one input."""

from __future__ import annotations

import inspect
import sys
from typing import Any

#: Answers per question where a multiple-choice model is counted or measured (SWAG has four).
CHOICES = 4

#: Families that number positions from the padding id + 1 on, so that their tables hold fewer tokens than rows.
_FROM_PADDING = ("roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "longformer", "mpnet", "xmod")


def longest_text(config: Any) -> int:
    """The most tokens that the model's positions allow; `sys.maxsize` where its configuration names no limit."""
    longest = getattr(config, "max_position_embeddings", None)
    if not longest:
        return sys.maxsize
    family = str(getattr(config, "model_type", "")).removeprefix("secateur_")
    if family not in _FROM_PADDING:
        return int(longest)
    return int(longest) - (2 if family == "mpnet" else config.pad_token_id + 1)  # MPNet takes 1 for padding, whatever is said


def reads_images(config: Any) -> bool:
    """Whether the model reads images: `pixel_values` instead of tokens."""
    return getattr(config, "patch_size", None) is not None and getattr(config, "image_size", None) is not None


def image_size(config: Any) -> tuple[int, int]:
    """Height and width of the images that the model reads."""
    return _pair(config.image_size)


def _pair(size: Any) -> tuple[int, int]:
    height, width = (size, size) if isinstance(size, int) else size
    return int(height), int(width)


def read_length(config: Any, length: int) -> int:
    """How many states the layers compute for a text of `length` tokens; for an image, its patches and the one that sums up."""
    if not reads_images(config):
        return length
    (height, width), (tall, wide) = image_size(config), _pair(config.patch_size)
    return (height // tall) * (width // wide) + 1


def blank_inputs(model: Any, batch: int, length: int) -> dict[str, Any]:
    """Inputs of a given size without padding, on the model's device, where their values do not matter.

    Token ids and mask (batch, length), or (batch, 4, length) for multiple choice; images (batch, channels, height, width).
    """
    import torch

    device = next(model.parameters()).device
    if reads_images(model.config):
        return {"pixel_values": torch.zeros(batch, model.config.num_channels, *image_size(model.config), device=device)}
    shape = (batch, CHOICES, length) if is_multiple_choice(model) else (batch, length)
    tokens = torch.ones(shape, dtype=torch.long, device=device)
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}


def is_multiple_choice(model: Any) -> bool:
    """Whether the model reads several answers per question: tokens (batch, answers, length)."""
    return "MultipleChoice" in type(model).__name__


def no_cache(model: Any) -> dict[str, bool]:
    """Arguments that keep a decoder from storing keys and values for texts that will not go on; none for other models.

    A model with memories (`mems`, Transformer-XL) is not asked: how many states it returns is its configuration's to say.
    """
    parameters = inspect.signature(model.forward).parameters
    return {"use_cache": False} if "use_cache" in parameters and "mems" not in parameters else {}
