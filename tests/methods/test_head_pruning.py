"""Head pruning: the score by hand, and the lowest heads of all layers go first."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import secateur
from secateur.errors import DataError, Stopped
from secateur.estimators.shared_weights import score
from secateur.methods import head_pruning
from secateur.methods.head_pruning import head_scores, without_lowest
from secateur.study import Journal
from secateur.supernet import Supernet
from secateur.testing.models import toy_batch, toy_model
from secateur.verbs.resume import resume


def test_the_score_is_the_papers():
    """I_h = E_x |A_h(x)ᵀ ∂L/∂A_h(x)|, from the heads' outputs and their gradients, one example at a time."""
    supernet = Supernet(toy_model("bert"))
    model, batch = supernet.model, toy_batch(supernet.model, batch=5)
    expected = np.zeros((3, 4))
    for i in range(5):
        outputs = []

        def keep(module, args, outputs=outputs):
            args[0].retain_grad()
            outputs.append(args[0])

        handles = [layer.attention.output.dense.register_forward_pre_hook(keep) for layer in supernet.layers]
        model(**{name: value[i : i + 1] for name, value in batch.items()}).loss.backward()
        for handle in handles:
            handle.remove()
        for layer, output in enumerate(outputs):  # (1, T, 4 heads × 4)
            products = (output * output.grad).unflatten(-1, (4, 4)).detach().sum((0, 1, 3))
            expected[layer] += products.abs().numpy() / 5
    expected /= np.sqrt((expected**2).sum(1, keepdims=True))
    found = head_scores(supernet, [{name: value[:2] for name, value in batch.items()}, {n: v[2:] for n, v in batch.items()}])
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_a_layer_without_any_gradient_scores_nothing():
    supernet = Supernet(toy_model("gpt2"))
    with torch.no_grad():
        supernet.layers[1].attn.c_proj.weight.zero_()
    scores = head_scores(supernet, [toy_batch(supernet.model)])
    assert (scores[1] == 0).all()
    assert np.linalg.norm(scores[[0, 2]], axis=1) == pytest.approx(1)


def test_without_a_batch_there_are_no_scores():
    with pytest.raises(DataError, match="at least one batch"):
        head_scores(Supernet(toy_model("bert")), [])


def test_the_lowest_of_all_layers_go():
    scores = np.array([[0.9, 0.1, 0.4], [0.2, 0.3, 0.4]])
    assert without_lowest(scores, 0).all()
    assert without_lowest(scores, 2).tolist() == [[True, False, True], [False, True, True]]
    assert without_lowest(scores, 4).tolist() == [[True, False, False], [False, False, True]]  # of equals the first goes
    assert not without_lowest(scores, 6).any()


@pytest.mark.usefixtures("brief")
def test_a_whole_run(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network for each tenth of the heads, all units kept, scored on the fine-tuned weights; stopped once, and resumed."""
    monkeypatch.setattr(head_pruning, "save_file", _interrupted)
    with pytest.raises(Stopped):
        quick_prune(tmp_path / "run", method="head-pruning", trials=20, polish=False)
    monkeypatch.undo()
    run = resume(tmp_path / "run", progress=False)
    assert [row.name for row in Journal(run.store).rows()] == ["fine-tune", "score", "search", "measure", "report"]
    plans = [run.space.plan(trial.architecture) for trial in run.trials]
    assert [sum(p.heads.count for p in plan.layers) for plan in plans] == [11, 10, 8, 7, 6, 5, 4, 2, 1]
    assert all([p.units.count for p in plan.layers] == [12] * 3 for plan in plans)
    for lower, higher in pairwise(reversed(plans)):  # greedy: what goes stays gone
        for some, more in zip(lower.layers, higher.layers, strict=True):
            assert set(some.heads.indices()) <= set(more.heads.indices())
    data = run.configuration.task_data(run.tokenizer)
    for trial, plan in zip(run.trials, plans, strict=True):
        found = score(run.supernet.extract(plan), data.task, data.batches("validation", 64))
        assert trial.values["error"] == pytest.approx(found["error"])
    member = run.front[-1]
    assert member.weights == "shared"
    member.save(tmp_path / "pruned")
    tokens = torch.tensor([[2, 5, 6, 3]])
    with torch.no_grad(), run.supernet.select(member.plan) as selected:
        torch.testing.assert_close(secateur.load(tmp_path / "pruned")(tokens).logits, selected(tokens).logits)


def _interrupted(*_: Any) -> None:
    raise KeyboardInterrupt
