"""Minitron's way end to end: one cut by activations, the best of each size healed by distillation alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from secateur.errors import ConfigurationError
from secateur.methods.minitron.activations import activation_importance
from secateur.study import Journal
from secateur.supernet import Supernet
from secateur.testing.models import toy_model
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")
METHOD: dict[str, Any] = {"method": "minitron", "polish_at": ["50%", "80%"], "measure": False, "candidates": 2}


def test_a_whole_run(
    quick_prune: Any, language: dict[str, Any], interrupt: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from secateur.errors import Stopped
    from secateur.methods.minitron import method

    interrupt(method, "save_file", 1)
    with pytest.raises(Stopped):
        quick_prune(tmp_path / "run", **language, **METHOD, label_weight=0.0)
    monkeypatch.undo()
    run = resume(tmp_path / "run", progress=False)
    assert [row.name for row in Journal(run.store).rows()] == ["importance", "network", "search", "polish", "report"]
    data = run.configuration.task_data(run.tokenizer)
    scores = activation_importance(run.supernet, data.batches("train", 32))
    whole = run.unpruned["body_parameters"]
    plans = {t.key: run.plan(t.architecture) for t in run.trials}
    assert len(run.trials) >= 4
    for trial in run.trials:
        layers = plans[trial.key].layers
        assert len({(p.heads.count, p.units.count) for p in layers}) == 1, "uniform: a plain checkpoint"
        assert {p.index for p in layers} == set(np.argsort(-scores.layers)[: len(layers)])
        for p in layers:
            assert set(p.heads.indices()) == set(np.argsort(-scores.heads[p.index])[: p.heads.count])
            assert set(p.units.indices()) == set(np.argsort(-scores.units[p.index])[: p.units.count])
    for share in (0.5, 0.8):
        within = [t.values["body_parameters"] / whole for t in run.trials if t.values["body_parameters"] <= share * whole]
        assert share - max(within) < 0.12, "the size is used up"
    assert {len(plan.layers) for plan in plans.values()} == {2, 3}
    assert len(run.polished) >= 1
    # the unpruned network is as it came
    original = toy_model("llama", "causal").state_dict()
    assert all(torch.equal(value, original[name]) for name, value in run.supernet.model.state_dict().items())


def test_only_language_models(quick_prune: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="prunes language models as they are, and the task is classification"):
        quick_prune(tmp_path / "run", **METHOD)


def test_the_contract_of_shapes() -> None:
    """Widest within the limit: one head or unit more in each layer would be too much."""
    from types import SimpleNamespace

    from secateur.methods.minitron.method import Minitron
    from secateur.spaces.pruning import Large

    supernet = Supernet(toy_model("llama", "causal"))
    bench: Any = SimpleNamespace(supernet=supernet, space=Large(supernet.shape), c=SimpleNamespace(candidates=4))
    scores = activation_importance(supernet, [{"input_ids": torch.arange(3, 19).reshape(2, 8)}])
    method = Minitron(bench)
    whole = supernet.body_parameters(supernet.whole)
    for share in (0.3, 0.6, 0.9):
        assert method._depths(scores, share * whole)[0] == 3
        for depth in method._depths(scores, share * whole):
            plan = bench.space.plan(method._shape(scores, depth, share * whole))
            (heads,), (units,) = ({p.heads.count for p in plan.layers}, {p.units.count for p in plan.layers})
            assert supernet.body_parameters(plan) <= share * whole
            wider = scores.masks(depth, min(heads + 1, 4), min(units + 3, 12))
            more = bench.space.plan(bench.space.from_values(wider.ravel()))
            assert supernet.body_parameters(more) > share * whole
