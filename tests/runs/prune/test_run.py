"""A finished run of `secateur prune`: what it leaves, and what of it loads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import yaml

import secateur
from secateur.errors import BoundError, StudyError, UnknownNameError
from secateur.estimators.shared_weights import score
from secateur.runs.prune.report import PruneReport
from secateur.runs.prune.run import PruneMember, PruneRun
from secateur.study import Journal
from secateur.tasks import load_task
from secateur.tasks.examples import TaskData
from secateur.verbs.export import export
from secateur.verbs.front import front
from secateur.verbs.report import report

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture(scope="module")
def run(pruned: Path) -> PruneRun:
    return PruneRun(pruned)


@pytest.fixture(scope="module")
def data(run: PruneRun, data_file: Path) -> TaskData:
    c = run.configuration
    return load_task(data_file, run.tokenizer, text=c.text, label=c.label, seed=c.seed, max_length=c.max_length)


def test_a_run_is_a_folder(pruned: Path) -> None:
    names = {p.name for p in pruned.iterdir()}
    assert {"config.yaml", "study.db", "supernet", "front", "report.html", "log.jsonl"} <= names
    settings = yaml.safe_load((pruned / "config.yaml").read_text())
    assert settings["strategy"] == "full"  # from the preset
    assert settings["trials"] == 6
    assert None not in (settings["learning_rate"], settings["batch_size"])
    assert not (pruned / "supernet" / "training").exists()
    events = [json.loads(line)["event"] for line in (pruned / "log.jsonl").read_text().splitlines()]
    assert events.count("stage") == 8
    assert events.count("finished") == 1


def test_every_stage_is_in_the_journal(run: PruneRun) -> None:
    assert [(r.name, r.status) for r in Journal(run.store).rows()] == [
        (name, "done") for name in ("warm-up", "order", "train", "search", "masks", "polish", "measure", "report")
    ]


def test_front_counts_what_it_says(run: PruneRun) -> None:
    assert len(run.front) >= 2
    for member in run.front:
        assert member.values["parameters"] == run.supernet.parameters(member.plan)
        assert member.values["body_parameters"] == run.supernet.body_parameters(member.plan)
    assert run.unpruned["body_parameters"] == run.supernet.body_parameters(run.supernet.whole)
    asked = [t for t in run.trials if t.id is not None]
    assert len(asked) == 6
    assert any(t.origin == "sweep" for t in run.trials)


def test_errors_are_those_of_the_extracted_networks(run: PruneRun, data: TaskData) -> None:
    """What the study stored is what a user gets who extracts the network and scores it."""
    for member in list(run.searched)[:3]:
        network = run.supernet.extract(member.plan)
        tested = run.member(member.key).shared_test
        assert score(network, data.task, data.batches("validation", 64))["error"] == pytest.approx(member.values["error"])
        assert tested is not None
        assert score(network, data.task, data.batches("test", 64))["error"] == pytest.approx(tested["error"])


def test_polished_scores_stand_beside(run: PruneRun, data: TaskData) -> None:
    assert run.polished
    for key, trial in run.polished.items():
        network = secateur.load(run.folder / "front" / key)
        assert score(network, data.task, data.batches("test", 64))["error"] == pytest.approx(trial.details["test_error"])
        assert run.member(key).polished == trial
    assert all(m.trial is not None and m.trial.origin != "polish" for m in run.front.pool)


def test_best_under_a_bound_is_saved_and_loads(run: PruneRun, tmp_path: Path) -> None:
    half = run.front.best(under={"body_parameters": "50%"})
    assert half.values["body_parameters"] <= 0.5 * run.unpruned["body_parameters"]
    exported = half.save(tmp_path / "half", polished=False)
    assert all(value <= 1e-5 for value in exported.differences.values())
    again = secateur.load(tmp_path / "half")
    tokens = torch.tensor([[1, 2, 3, 4]])
    with torch.no_grad(), run.supernet.select(half.plan) as selected:
        torch.testing.assert_close(again(tokens).logits, selected(tokens).logits)
    assert "accuracy" in (tmp_path / "half" / "README.md").read_text()


def test_export_takes_the_weights_that_validate_better(run: PruneRun, tmp_path: Path) -> None:
    for key, trial in run.polished.items():
        member = run.member(key)
        stored = secateur.load(run.folder / "front" / key)
        shared = run.supernet.extract(member.plan)
        expected = stored if trial.values["error"] <= member.trial.values["error"] else shared
        export(run.folder, key=key[:8], to=tmp_path / key)
        export(run.folder, key=key[:8], to=tmp_path / f"{key}-polished", polished=True)
        export(run.folder, key=key[:8], to=tmp_path / f"{key}-shared", polished=False)
        for folder, weights in ((key, expected), (f"{key}-polished", stored), (f"{key}-shared", shared)):
            for a, b in zip(secateur.load(tmp_path / folder).parameters(), weights.parameters(), strict=True):
                assert torch.equal(a, b)
    other = next(m for m in run.front.pool if m.key not in run.polished)
    gone = PruneMember(other.trial, run, polished=other.trial)  # its scores are those of weights that are no longer there
    for member, asked in ((other, True), (gone, None)):
        with pytest.raises(StudyError, match="no polished weights"):
            member.save(tmp_path / "no", polished=asked)


def test_a_bound_that_nothing_meets_names_the_nearest(pruned: Path, run: PruneRun) -> None:
    with pytest.raises(BoundError, match="nearest"):
        front(pruned, under=["parameters=1"])
    with pytest.raises(UnknownNameError, match="parameters"):
        front(pruned, under=["paramters=50%"])


def test_keys(run: PruneRun) -> None:
    first = next(iter(run.front))
    assert run.member(first.key) == first == run.member(first.key[:8])
    with pytest.raises(BoundError, match=r"no sub-network of .* begins with `zzz`"):
        run.member("zzz")
    with pytest.raises(BoundError, match="several"):
        run.member("")


def test_report_says_what_the_run_says(run: PruneRun) -> None:
    data = PruneReport(run).data()
    assert {row["key"] for row in data.front} >= {m.key for m in run.front}
    assert data.importance is not None
    assert len(data.importance["heads"]) == run.shape["layers"]
    assert set(data.curves) >= {"warm-up", "train"}
    assert data.unpruned["values"]["latency"] > 0
    report(run.folder).show()
    path = run.folder / "report.html"
    assert path.read_text(encoding="utf-8").count("<html") == 1
    assert "store" not in data.settings  # it may hold a password


def test_what_is_not_there_yet_is_said(quick_prune, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from secateur.methods.weight_sharing import WeightSharing

    def interrupted(self: WeightSharing) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(WeightSharing, "train", interrupted)
    with pytest.raises(KeyboardInterrupt, match="secateur resume"):
        quick_prune(tmp_path / "run", order=False)
    begun = PruneRun(tmp_path / "run")
    with pytest.raises(StudyError, match=r"is not ready yet\. Continue with: secateur resume"):
        _ = begun.supernet
    begun.store.set_meta("shape", None)
    with pytest.raises(StudyError, match="not reached its model yet"):
        _ = begun.shape
    assert front(tmp_path / "run").members == []
