"""What a model reads: how long a text may be, and how many texts make one input."""

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
    return int(longest) - (config.pad_token_id + 1 if family in _FROM_PADDING else 0)


def is_multiple_choice(model: Any) -> bool:
    """Whether the model reads several answers per question: tokens (batch, answers, length)."""
    return "MultipleChoice" in type(model).__name__


def no_cache(model: Any) -> dict[str, bool]:
    """Arguments that keep a decoder from storing keys and values for texts that will not go on; none for other models.

    A model with memories (`mems`, Transformer-XL) is not asked: how many states it returns is its configuration's to say.
    """
    parameters = inspect.signature(model.forward).parameters
    return {"use_cache": False} if "use_cache" in parameters and "mems" not in parameters else {}
