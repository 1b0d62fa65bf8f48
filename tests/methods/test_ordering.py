"""The batches that importance is scored on."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from secateur.methods.ordering import scored_batches
from secateur.testing.toy_task import toy_task_data


@pytest.mark.parametrize(("kind", "sizes"), [("language_modelling", [5, 5, 5, 5, 4]), ("classification", [24])])
def test_those_of_a_language_model_are_no_larger_than_in_training(kind: str, sizes: list[int]) -> None:
    """A token's logits are a whole vocabulary: what fits in training fits here."""
    told: list[tuple[int, int]] = []
    bar = contextlib.nullcontext(lambda done, total: told.append((done, total)))
    settings = SimpleNamespace(seed=0, batch_size=5)
    bench: Any = SimpleNamespace(
        data=toy_task_data(kind), c=settings, device="cpu", progress=SimpleNamespace(bar=lambda title: bar)
    )
    with scored_batches(bench, "scoring", 100) as batches:
        assert [len(batch["input_ids"]) for batch in batches] == sizes
    assert told[-1] == (len(sizes), len(sizes))
