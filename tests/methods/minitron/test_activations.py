"""Importance by activations: the paper's formulas by hand, from networks run one text at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from secateur.errors import DataError, EvaluationFailure
from secateur.methods.minitron.activations import Activations, activation_importance
from secateur.supernet import Supernet
from secateur.testing.models import toy_batch, toy_model


def _keeping(seen: dict[tuple[int, int], np.ndarray], place: tuple[int, int]) -> Any:
    return lambda module, args: seen.__setitem__(place, args[0][0].detach().double().numpy())


def _pairing(states: list[tuple[np.ndarray, np.ndarray]]) -> Any:
    """What enters a layer and what leaves it."""
    return lambda module, args, out: states.append((args[0][0].numpy(), (out[0] if isinstance(out, tuple) else out)[0].numpy()))


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_the_scores_are_the_papers(family: str) -> None:
    """Heads: √Σ_texts (mean_tokens ‖output of the head‖₂)²; units the same of |activation|; layers: 1 − mean cosine."""
    supernet = Supernet(toy_model(family, "causal"))
    model = supernet.model
    texts = [torch.tensor([[3, 7, 9, 11, 2]]), torch.tensor([[5, 6, 8]])]
    names = {"llama": ("self_attn.o_proj", "mlp.down_proj"), "gpt2": ("attn.c_proj", "mlp.c_proj")}[family]
    heads, units = np.zeros((3, 4)), np.zeros((3, 12))
    cosines: list[list[float]] = [[], [], []]
    for ids in texts:
        seen: dict[tuple[int, int], np.ndarray] = {}
        states: list[tuple[np.ndarray, np.ndarray]] = []
        handles = []
        for i, layer in enumerate(supernet.layers):
            for part, name in enumerate(names):
                handles.append(layer.get_submodule(name).register_forward_pre_hook(_keeping(seen, (i, part))))
            handles.append(layer.register_forward_hook(_pairing(states)))
        with torch.no_grad():
            model(input_ids=ids, use_cache=False)
        for handle in handles:
            handle.remove()
        for i, (before, after) in enumerate(states):
            for token in range(ids.shape[1]):
                x, y = before[token].astype(float), after[token].astype(float)
                cosines[i].append(float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y))))
            per_head = seen[i, 0].reshape(ids.shape[1], 4, -1)
            heads[i] += np.array([np.mean([np.linalg.norm(row[h]) for row in per_head]) for h in range(4)]) ** 2
            units[i] += np.abs(seen[i, 1]).mean(0) ** 2
    padded = torch.zeros(2, 5, dtype=torch.long)
    mask = torch.zeros_like(padded)
    for row, ids in enumerate(texts):
        padded[row, : ids.shape[1]], mask[row, : ids.shape[1]] = ids[0], 1
    found = activation_importance(supernet, [{"input_ids": padded, "attention_mask": mask, "labels": padded}])
    np.testing.assert_allclose(found.heads, np.sqrt(heads), rtol=1e-4)
    np.testing.assert_allclose(found.units, np.sqrt(units), rtol=1e-4)
    np.testing.assert_allclose(found.layers, [1 - np.mean(some) for some in cosines], rtol=1e-4, atol=1e-6)
    apart = activation_importance(supernet, [{"input_ids": ids} for ids in texts])
    np.testing.assert_allclose(apart.heads, found.heads, rtol=1e-4)
    np.testing.assert_allclose(apart.layers, found.layers, rtol=1e-4, atol=1e-6)


def test_a_layer_that_does_nothing_and_a_head_that_says_nothing_come_last() -> None:
    supernet = Supernet(toy_model("llama", "causal"))
    with torch.no_grad():
        supernet.layers[1].self_attn.o_proj.weight.zero_()
        supernet.layers[1].mlp.down_proj.weight.zero_()
        supernet.layers[2].self_attn.v_proj.weight[4:8] = 0  # key/value group 1, with both its queries
    found = activation_importance(supernet, [toy_batch(supernet.model)])
    assert found.layers.argmin() == 1
    assert found.layers[1] == pytest.approx(0, abs=1e-6)
    assert found.heads[2].argmin() == 1
    assert found.heads[2, 1] == 0


def test_masks_keep_the_highest() -> None:
    scores = Activations(
        np.array([[1.0, 3.0], [2.0, 1.0], [5.0, 5.0]]),
        np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 1.0, 1.0]]),
        np.array([0.3, 0.1, 0.2]),
    )
    assert scores.masks(2, 1, 2).tolist() == [[0, 1, 0, 1, 1], [0, 0, 0, 0, 0], [1, 0, 1, 1, 0]]
    assert scores.masks(3, 2, 3).all()


def test_what_cannot_be_scored() -> None:
    supernet = Supernet(toy_model("llama", "causal"))
    with pytest.raises(DataError, match="at least one batch"):
        activation_importance(supernet, [])
    with torch.no_grad():
        supernet.layers[0].mlp.down_proj.weight.fill_(float("inf"))
    with pytest.raises(EvaluationFailure, match="not finite"):
        activation_importance(supernet, [toy_batch(supernet.model)])
