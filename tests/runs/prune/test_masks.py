"""Networks by masks: what joins the search, with which weights, and when none does."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from secateur.errors import EvaluationFailure
from secateur.estimators.shared_weights import score
from secateur.runs.prune import stages
from secateur.runs.prune.run import PruneRun
from secateur.study import Journal
from secateur.trial import MASKS, Status, Trial
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")


def by_masks(run: PruneRun) -> list[Trial]:
    return [t for t in run.trials if t.origin == MASKS]


def test_each_size_has_one_that_uses_it_up(pruned: Path) -> None:
    run = PruneRun(pruned)
    (counts, *_), whole = run.supernet.counts, run.unpruned["body_parameters"]
    found = by_masks(run)
    assert len(found) == len(run.configuration.levels())
    for bound, trial in zip(run.configuration.levels(), found, strict=True):
        limit = bound.resolve(whole)
        assert limit - max(counts.per_head, counts.per_unit) < trial.values["body_parameters"] <= limit
        assert trial.architecture.space == "large"


def test_their_weights_are_tuned_and_kept(pruned: Path) -> None:
    """They are scored with these, polished from these, and exported with these where they are not polished."""
    run = PruneRun(pruned)
    data = run.configuration.task_data(run.tokenizer)
    for trial in by_masks(run):
        network = run.network(run.supernet, trial)
        batches = list(data.batches("validation", 64))
        assert score(network, data.task, batches)["error"] == pytest.approx(trial.values["error"])
        member = run.member(trial.key)
        sliced = run.supernet.extract(member.plan)
        assert any(not torch.equal(a, b) for a, b in zip(sliced.parameters(), network.parameters(), strict=True))
        assert member.weights in ("own", "polished")
        assert member.text.endswith(" units") or "×" in member.text
        assert "bits" not in repr(member)


def test_unpolished_they_are_exported_as_tuned(pruned: Path, tmp_path: Path) -> None:
    from secateur.checkpoints import load

    run = PruneRun(pruned)
    trial = by_masks(run)[-1]
    run.member(trial.key).save(tmp_path / "out", polished=False)
    kept, tuned = load(tmp_path / "out").state_dict(), run.network(run.supernet, trial).state_dict()
    assert {name for name in tuned if not torch.equal(kept[name], tuned[name])} == set()


@pytest.mark.parametrize("change", [{"masks": False}, {"heads": "1.."}, {"candidates": 1}])
def test_none_joins_where_none_is_wanted(quick_prune: Any, tmp_path: Path, change: dict[str, Any]) -> None:
    run = quick_prune(tmp_path / "run", **change)
    assert by_masks(run) == []
    assert MASKS not in [row.name for row in Journal(run.store).rows()]


def test_bounds_hold_for_them_too(quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", objectives=["error", "body_parameters<=30%"], polish_at=["20%", "60%"])
    assert [t.status for t in by_masks(run)] == [Status.COMPLETE, Status.INFEASIBLE]


@pytest.mark.parametrize("what", ["gradients", "units"])
def test_a_run_goes_on_without_them(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    def fails(*_: Any) -> Any:
        raise EvaluationFailure("gradients are not finite.")

    if what == "units":
        monkeypatch.setattr(stages, "MOST_UNITS", 1)
    else:
        monkeypatch.setattr(stages, "masks_by_information", fails)
    run = quick_prune(tmp_path / "run")
    assert by_masks(run) == []
    assert run.polished
    assert any("No networks were chosen by masks" in note for note in run.notes)


def test_an_older_run_that_was_polished_gets_none(quick_prune: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    quick_prune(folder).close()
    with closing(sqlite3.connect(folder / "study.db")) as database, database:
        assert database.execute("DELETE FROM trials WHERE origin = 'masks'").rowcount
        assert database.execute("DELETE FROM stages WHERE name = 'masks'").rowcount
    resume(folder, progress=False).close()
    assert by_masks(PruneRun(folder)) == []
