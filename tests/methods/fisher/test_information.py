"""The Fisher information is the mean of squared gradients of masks, example by example; its use is to foretell a loss."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.errors import DataError
from secateur.methods.fisher.information import block, diagonal, mask_gradients
from secateur.supernet import Supernet, importance
from secateur.testing.models import toy_batch, toy_model


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_one_example_at_a_time_is_the_reference(family):
    """A batch of one: the gradient is Σ w ∂L/∂w over the mask's columns, whose absolute value `importance` gives."""
    supernet = Supernet(toy_model(family))
    batch = toy_batch(supernet.model, batch=4)
    found = mask_gradients(supernet, [batch])
    alone = [importance(supernet, [{name: value[i : i + 1] for name, value in batch.items()}]) for i in range(4)]
    for by in ("heads", "units"):
        expected = np.mean([getattr(one, by) ** 2 for one in alone], axis=0)
        np.testing.assert_allclose(diagonal(getattr(found, by)), expected, rtol=1e-3, atol=1e-6)


def test_a_block_is_the_mean_of_outer_products():
    gradients = np.array([[1.0, 2.0], [3.0, -4.0]], np.float32)
    np.testing.assert_allclose(block(gradients), [[(1 + 9) / 2, (2 - 12) / 2], [(2 - 12) / 2, (4 + 16) / 2]])
    np.testing.assert_allclose(diagonal(gradients[:, None]), [[5.0, 10.0]])


def test_batches_are_joined():
    supernet = Supernet(toy_model("bert"))
    batches = [toy_batch(supernet.model, batch=n, seed=n) for n in (2, 3)]
    found = mask_gradients(supernet, batches)
    assert found.heads.shape == (5, 3, 4)
    assert found.units.shape == (5, 3, 12)
    np.testing.assert_array_equal(found.units[2:], mask_gradients(supernet, batches[1:]).units)


def test_without_a_batch_there_is_none():
    with pytest.raises(DataError, match="at least one batch"):
        mask_gradients(Supernet(toy_model("bert")), [])
