"""A run whose error is 1 minus another metric than the task's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.metrics import f1_score

from secateur.estimators.shared_weights import SharedWeightsError
from secateur.runs.progress import Progress
from secateur.runs.prune.forms import judging
from secateur.runs.prune.report import PruneReport
from secateur.runs.prune.run import PruneRun

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, quick_prune: Callable[..., Any]) -> Any:
    run = quick_prune(tmp_path_factory.mktemp("runs") / "f1", metric="f1", polish=False)
    yield run
    run.close()


def test_every_score_is_f1(run: PruneRun) -> None:
    """The errors by scikit-learn; chance is always to say 1: 2p / (1 + p)."""
    data = run.configuration.task_data(run.tokenizer)
    assert run.metric == data.task.main == "f1"
    for split, error in (("validation", run.unpruned["error"]), ("test", run.unpruned_test["error"])):
        said, labels = [], []
        for batch in data.batches(split, 8):
            labels += batch.pop("labels").tolist()
            with torch.no_grad():
                said += run.supernet.model(**batch).logits.argmax(-1).tolist()
        assert error == pytest.approx(1 - f1_score(labels, said, zero_division=0.0))
        share = sum(labels) / len(labels)
        assert run.chance[split]["error"] == pytest.approx(1 - 2 * share / (1 + share))


def test_what_is_told_of_it(run: PruneRun, tmp_path: Path) -> None:
    report = PruneReport(run)
    assert report.scored_by() == report.conditions()["metric"] == report.data().metric == "f1"
    run.front[0].save(tmp_path / "network")
    assert "f1, validation" in (tmp_path / "network" / "README.md").read_text()
    assert judging(run, Progress())(run.supernet.model, tmp_path / "network").metric == "f1"


def test_the_same_examples_by_another_metric(run: PruneRun, pruned: Path) -> None:
    """Comparing the two says that their metrics differ, not their examples; values of one are not taken for the other's."""
    usual = PruneRun(pruned)
    ours, theirs = (PruneReport(r).conditions() for r in (run, usual))
    assert (ours["metric"], theirs["metric"]) == ("f1", "accuracy")
    assert ours["data"] == theirs["data"]
    data = [r.configuration.task_data(r.tokenizer) for r in (run, usual)]
    assert len({SharedWeightsError(run.supernet, run.space, d).fingerprint for d in data}) == 2
