from __future__ import annotations

from typing import Any

import pytest

from secateur.devices.setup import Setup
from secateur.estimators.memory import MemoryEstimator


def test_weights_grow_with_depth_and_activations_do_not(toy: Any, bert: Any) -> None:
    # From two layers on: the embeddings' output, which transformers keeps to the end, is the first layer's own input.
    two, four = MemoryEstimator(bert, Setup(length=32)).evaluate([toy(2), toy(4)])
    parameters = [sum(p.numel() for p in bert(toy(n)).parameters()) for n in (2, 4)]
    assert four.details["memory_weights"] - two.details["memory_weights"] == 4 * (parameters[1] - parameters[0])
    assert four.details["memory_activations"] == two.details["memory_activations"], "a layer's activations are freed after it"
    for evaluation in (two, four):
        assert evaluation.values["memory"] == evaluation.details["memory_weights"] + evaluation.details["memory_activations"]


def test_the_peak_is_in_the_feed_forward(toy: Any, bert: Any) -> None:
    """A layer's peak is the GELU: its input and output (length × units each) and the hidden state that waits for the residual.

    The attention mask of the batch lives through all layers; it does not change with the units.
    """
    few, many = MemoryEstimator(bert, Setup(length=32)).evaluate([toy(2, units=256), toy(2, units=512)])
    assert many.details["memory_activations"] - few.details["memory_activations"] == 2 * 32 * 256 * 4


def test_a_larger_batch_needs_more(toy: Any, bert: Any) -> None:
    small, large = (MemoryEstimator(bert, Setup(batch=n, length=32)).evaluate([toy(1)])[0] for n in (1, 8))
    ratio = large.details["memory_activations"] / small.details["memory_activations"]
    assert ratio == pytest.approx(8, rel=0.05)
