"""Distillation of one block (Lee et al. 2022, equations 3 and 4): a step of gradient descent for each batch."""

from __future__ import annotations

import torch
from torch import nn

from secateur.errors import EvaluationFailure
from secateur.estimators.layer_zoo.blocks import Block
from secateur.estimators.layer_zoo.features import Features

#: Of Adam, at the first step; it falls to nothing in a line. Not tuned: recipes/block-zoo/transformers/tune.py would.
LEARNING_RATE = 1e-3


def squared_error(layer: nn.Module, block: Block, features: Features, batch: int) -> torch.Tensor:
    """The mean squared error of a block's output against the teacher's, over features of all tokens that are no padding."""
    states, calls = features.passes[batch]
    found = calls.run(layer, block.layer.index, states[block.start])
    return (found - states[block.end])[calls.tokens].float().square().mean()


def distil(layer: nn.Module, block: Block, features: Features, learning_rate: float = LEARNING_RATE) -> list[float]:
    """Train all weights of a layer in place, without dropout, and return the error at each batch before its step.

    Raises EvaluationFailure where an error is not finite.
    """
    layer.eval().requires_grad_(True)
    parameters = list(layer.parameters())
    optimizer = torch.optim.Adam(parameters, learning_rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, len(features))
    errors = []
    for batch in range(len(features)):
        with torch.enable_grad():
            error = squared_error(layer, block, features, batch)
        errors.append(float(error.detach()))
        if not torch.isfinite(error):
            raise EvaluationFailure(f"distillation of layer {block.layer.index} diverged at batch {batch + 1}")
        for parameter, gradient in zip(parameters, torch.autograd.grad(error, parameters, allow_unused=True), strict=True):
            parameter.grad = gradient
        optimizer.step()
        schedule.step()
    return errors
