"""Few-batch distillation: a block learns to answer as a reference block does (Lee et al. 2022, equations 3 and 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from secateur.errors import EvaluationFailure


def distil_block(
    block: nn.Module,
    pairs: Iterable[tuple[Any, Tensor]],
    *,
    learning_rate: float = 1e-3,
    run: Callable[[Any], Tensor] | None = None,
) -> list[float]:
    """Train `block` in place, one step of Adam for each pair; returns the mean squared error before each step.

    A pair is what the block gets and what the reference block answers to it. `run(given)` gives the block's answer where
    calling the block with `given` is not enough. Dropout and norms are in training mode meanwhile, and each module is in the
    mode it was in afterwards. The paper divides by the number of channels and leaves positions and examples summed; the mean
    over all of them differs by a constant, which Adam's steps do not depend on.

    Raises EvaluationFailure where the error is no finite number.
    """
    answer = run or block
    modes = [(module, module.training) for module in block.modules()]
    optimiser = torch.optim.Adam([p for p in block.parameters() if p.requires_grad], lr=learning_rate)
    errors: list[float] = []
    try:
        block.train()
        with torch.enable_grad():
            for given, wanted in pairs:
                error = F.mse_loss(answer(given), wanted)
                optimiser.zero_grad(set_to_none=True)
                error.backward()
                optimiser.step()
                errors.append(float(error.detach()))
    finally:
        for module, training in modes:
            module.training = training
    if not all(torch.isfinite(torch.tensor(errors))):
        raise EvaluationFailure("the distillation of a block diverged: its error is not finite.")
    return errors
