"""What every way to prune shares: a method is stages before the search, and all that follows is the run's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import secateur
from secateur import catalogue
from secateur.checkpoints.pretrained import load_model
from secateur.methods.weight_sharing import WeightSharing
from secateur.study import Journal
from secateur.supernet import Supernet
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")


class Untrained(WeightSharing):
    """No training at all: the pre-trained weights are searched as they are."""

    keeps = "network"

    def stages(self) -> list[Any]:
        return []

    def network(self) -> Supernet:
        bench = self.bench
        return Supernet(load_model(bench.c.model, bench.data, seed=bench.c.seed, device=bench.device))


def test_a_method_without_stages_of_its_own_ends_in_a_checkpoint(
    quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = catalogue.Entry(f"{__name__}:Untrained", "the pre-trained weights", ("prune",))
    monkeypatch.setitem(catalogue.CATALOGUE["method"], "untrained", entry)
    monkeypatch.setattr("secateur.catalogue.import_module", lambda name: _modules(name))
    run = quick_prune(tmp_path / "run", method="untrained", trials=3, polish=False)
    assert [row.name for row in Journal(run.store).rows()] == ["network", "search", "measure", "report"]
    member = run.front[-1]
    member.save(tmp_path / "pruned")
    tokens = torch.tensor([[2, 5, 6, 3]])
    with torch.no_grad(), run.supernet.select(member.plan) as selected:
        torch.testing.assert_close(secateur.load(tmp_path / "pruned")(tokens).logits, selected(tokens).logits)
    assert len(resume(tmp_path / "run", progress=False).trials) == len(run.trials)


def _modules(name: str) -> Any:
    import importlib
    import sys

    return sys.modules[name] if name == __name__ else importlib.import_module(name)
