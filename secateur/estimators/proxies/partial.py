"""Partial training: how good a network is after a share of its training."""

from __future__ import annotations

import copy
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from secateur.errors import Stopped
from secateur.tasks.text import Tokens
from secateur.training.settings import TrainingSettings


def partial_training(
    network: Any,
    train: Tokens,
    validation: Tokens,
    settings: TrainingSettings,
    *,
    share: float,
    length: int,
    device: str = "cpu",
) -> float:
    """Minus the validation loss (nats per token) after `share` of the steps of `settings`, in windows of `length` tokens.

    The learning rate goes its way as in the whole training. A copy is trained, the network is left as it was. Raises
    EvaluationFailure where training diverges, ConfigurationError for a share that is none.
    """
    from secateur.training.text_trainer import train_text

    with tempfile.TemporaryDirectory() as folder:
        try:
            result = train_text(
                copy.deepcopy(network),
                train,
                validation,
                replace(settings, checkpoints=0),
                Path(folder),
                length=length,
                evaluations=1,
                share=share,
                device=device,
            )
        except Stopped:  # says that what was done is saved, and here it is not
            raise KeyboardInterrupt from None
    return -result.loss
