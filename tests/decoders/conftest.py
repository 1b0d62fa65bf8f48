"""Toy decoders and texts for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

WORDS = 60


@pytest.fixture(scope="session")
def words() -> Callable[..., Any]:
    """words(*shape, seed=0): random word ids."""
    import torch

    return lambda *shape, seed=0: torch.randint(WORDS, shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(scope="session")
def network() -> Callable[..., Any]:
    """network(architecture, …): with weights far from the tiny ones of its initialisation, so that every part matters."""
    import torch

    from secateur.decoders import Sizes, build

    def make(arch: Any, strong: bool = True, cutoffs: Any = (10, 30), recurrence: int = 0, **more: Any) -> Any:
        sizes = Sizes(vocabulary=WORDS, positions=32, cutoffs=cutoffs, recurrence=recurrence)
        model = build(arch, sizes, **more)
        with torch.no_grad():
            for parameter in model.parameters() if strong else ():
                draw = torch.Generator().manual_seed(parameter.numel())
                parameter.add_(torch.randn(parameter.shape, generator=draw) * 0.15)
        return model

    return make
