"""`secateur prune` from end to end on a tiny model: what it leaves, and what of it loads."""

from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

import secateur
from secateur.errors import BoundError, ConfigurationError, StudyError, UnknownNameError
from secateur.estimators.shared_weights import score
from secateur.runs.prune.presets import PRESETS
from secateur.runs.prune.run import Run
from secateur.study import Journal
from secateur.tasks import load_task
from secateur.verbs.export import export
from secateur.verbs.front import front
from secateur.verbs.report import report, report_data
from secateur.verbs.resume import resume


def test_a_run_is_a_folder(finished: Path) -> None:
    names = {p.name for p in finished.iterdir()}
    assert {"config.yaml", "study.db", "supernet", "front", "report.html", "log.jsonl"} <= names
    settings = yaml.safe_load((finished / "config.yaml").read_text())
    assert settings["strategy"] == "full"  # from the preset
    assert settings["trials"] == 6
    assert None not in (settings["learning_rate"], settings["batch_size"])
    assert not (finished / "supernet" / "training").exists()
    events = [json.loads(line)["event"] for line in (finished / "log.jsonl").read_text().splitlines()]
    assert events.count("stage") == 6
    assert events[-1] == "finished"


def test_every_stage_is_in_the_journal(finished: Path) -> None:
    rows = Journal(Run(finished).store).rows()
    assert [(r.name, r.status) for r in rows] == [
        (name, "done") for name in ("warm-up", "order", "train", "search", "polish", "report")
    ]


def test_front_counts_what_it_says(finished: Path) -> None:
    run = Run(finished)
    assert len(run.front) >= 2
    for member in run.front:
        assert member.values["parameters"] == run.supernet.parameters(member.plan)
        assert member.values["body_parameters"] == run.supernet.body_parameters(member.plan)
    assert run.unpruned["body_parameters"] == run.supernet.body_parameters(run.supernet.whole)
    asked = [t for t in run.trials if t.id is not None]
    assert len(asked) == 6
    assert any(t.origin == "sweep" for t in run.trials)


def test_errors_are_those_of_the_extracted_networks(finished: Path, data_file: Path) -> None:
    """What the study stored is what a user gets who extracts the network and scores it."""
    run = Run(finished)
    c = run.configuration
    data = load_task(data_file, run.tokenizer, text=c.text, label=c.label, seed=c.seed, max_length=c.max_length)
    for member in list(run.front)[:3]:
        network = run.supernet.extract(member.plan)
        assert score(network, data.task, data.batches("validation", 64))["error"] == pytest.approx(member.values["error"])
        assert member.test is not None
        assert score(network, data.task, data.batches("test", 64))["error"] == pytest.approx(member.test["error"])


def test_polished_scores_stand_beside(finished: Path, data_file: Path) -> None:
    run = Run(finished)
    assert run.polished
    c = run.configuration
    data = load_task(data_file, run.tokenizer, text=c.text, label=c.label, seed=c.seed, max_length=c.max_length)
    for key, trial in run.polished.items():
        network = secateur.load(finished / "front" / key)
        assert score(network, data.task, data.batches("test", 64))["error"] == pytest.approx(trial.details["test_error"])
        assert run.member(key).polished == trial
    assert all(m.trial is not None and m.trial.origin != "polish" for m in run.front.pool)


def test_best_under_a_bound_is_saved_and_loads(finished: Path, tmp_path: Path) -> None:
    run = Run(finished)
    half = run.front.best(under={"body_parameters": "50%"})
    assert half.values["body_parameters"] <= 0.5 * run.unpruned["body_parameters"]
    exported = half.save(tmp_path / "half", polished=False)
    assert all(value <= 1e-5 for value in exported.differences.values())
    again = secateur.load(tmp_path / "half")
    tokens = torch.tensor([[1, 2, 3, 4]])
    with torch.no_grad(), run.supernet.select(half.plan) as selected:
        torch.testing.assert_close(again(tokens).logits, selected(tokens).logits)
    assert "accuracy" in (tmp_path / "half" / "README.md").read_text()


def test_export_takes_the_weights_that_validate_better(finished: Path, tmp_path: Path) -> None:
    run = Run(finished)
    for key, trial in run.polished.items():
        member = run.member(key)
        stored = secateur.load(finished / "front" / key)
        shared = run.supernet.extract(member.plan)
        expected = stored if trial.values["error"] <= member.values["error"] else shared
        export(finished, key=key[:8], to=tmp_path / key)
        export(finished, key=key[:8], to=tmp_path / f"{key}-polished", polished=True)
        export(finished, key=key[:8], to=tmp_path / f"{key}-shared", polished=False)
        for folder, weights in ((key, expected), (f"{key}-polished", stored), (f"{key}-shared", shared)):
            for a, b in zip(secateur.load(tmp_path / folder).parameters(), weights.parameters(), strict=True):
                assert torch.equal(a, b)
    other = next(m for m in run.front.pool if m.key not in run.polished)
    with pytest.raises(StudyError, match="not polished"):
        other.save(tmp_path / "no", polished=True)


def test_a_bound_that_nothing_meets_names_the_nearest(finished: Path) -> None:
    with pytest.raises(BoundError, match="nearest"):
        front(finished, under=["parameters=1"])
    with pytest.raises(UnknownNameError, match="parameters"):
        front(finished, under=["paramters=50%"])
    with pytest.raises(BoundError, match="zzz"):
        Run(finished).member("zzz")


def test_report_says_what_the_run_says(finished: Path) -> None:
    run = Run(finished)
    data = report_data(run)
    assert {row["key"] for row in data.front} >= {m.key for m in run.front}
    assert data.importance is not None
    assert len(data.importance["heads"]) == run.shape["layers"]
    assert set(data.curves) >= {"warm-up", "train"}
    assert data.unpruned["values"]["latency"] > 0
    path = report(finished)
    assert path.read_text(encoding="utf-8").count("<html") == 1


def test_a_finished_run_has_nothing_left_to_do(finished: Path) -> None:
    before = [(t.number, t.values) for t in Run(finished).trials]
    resume(finished, progress=False)
    with pytest.raises(ConfigurationError, match="has no --unsteady"):
        resume(finished, unsteady=True, progress=False)
    assert [(t.number, t.values) for t in Run(finished).trials] == before


def test_an_existing_folder_is_never_overwritten(finished: Path, model_folder: Path, data_file: Path, quick: Any) -> None:
    with pytest.raises(StudyError, match="secateur resume"):
        secateur.prune(str(model_folder), data=str(data_file), to=finished, **quick)


def test_changed_data_are_noticed(finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    path = tmp_path / "other.csv"
    path.write_text("review,verdict\n" + "a fine film,good\na dull film,bad\n" * 20)
    settings = yaml.safe_load((copy / "config.yaml").read_text())
    (copy / "config.yaml").write_text(yaml.safe_dump({**settings, "data": str(path)}))
    with pytest.raises(StudyError, match="has changed"):
        resume(copy, progress=False)


def test_damaged_files_are_reported_and_left_alone(finished: Path, tmp_path: Path) -> None:
    for name in ("study.db", "config.yaml"):
        copy = tmp_path / name
        shutil.copytree(finished, copy)
        (copy / name).write_bytes(b"\x00 nonsense: [")
        with pytest.raises(StudyError, match=name.replace(".", r"\.")):
            resume(copy, progress=False)
        assert (copy / name).read_bytes() == b"\x00 nonsense: ["


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"space": "medium", "searcher": "local", "heads": "1..", "units": ":4"},
        {"space": "large", "searcher": "mo-rea", "polish": False, "order": False},
        {"space": "sublayer", "searcher": "random", "strategy": "sandwich", "objectives": ["error", "latency", "memory"]},
        {"space": "layer", "strategy": "kd", "objectives": ["error", "macs<=80%"], "polish": False},
    ],
    ids=lambda c: c["space"],
)
def test_other_spaces_searchers_and_objectives(
    changes: dict[str, Any], model_folder: Path, data_file: Path, tmp_path: Path, quick: Any
) -> None:
    run = secateur.prune(str(model_folder), data=str(data_file), to=tmp_path / "run", **{**quick, "epochs": 1.0, **changes})
    assert len(run.front) >= 1
    assert (tmp_path / "run" / "report.html").is_file()
    for member in run.front:
        for objective in run.objectives:
            assert objective.violated(member.values, run.unpruned) is None
    statuses = {t.status for t in run.trials if t.id is not None}
    assert "failed" not in statuses


@pytest.mark.slow
def test_the_papers_preset_to_the_letter(model_folder: Path, data_file: Path, tmp_path: Path, quick: Any) -> None:
    kept = {n: quick[n] for n in ("text", "label", "max_length", "device", "progress", "latency_length")}
    run = secateur.prune(
        str(model_folder), data=str(data_file), to=tmp_path / "run", preset="klein2024", trials=12, epochs=1.0, **kept
    )
    c = run.configuration
    paper = (c.space, c.strategy, c.searcher, c.learning_rate, c.batch_size, c.k, c.temperature)
    assert paper == ("small", "full", "ehvi", 2e-5, 4, 2, 10.0)
    assert PRESETS["klein2024"]["epochs"] == 5
    assert (c.weight_decay, c.learning_rate_warmup, c.group_by_length, c.distillation_weight) == (0.0, 0.0, False, 1.0)
    assert len(run.measured) > 1  # the report compares pruned networks also where none was polished
    assert (c.order, c.polish, c.depths, c.squared_temperature) == (False, False, False, False)
    assert not run.polished
    assert all(t.origin == "asked" for t in run.trials)
    assert [r.name for r in Journal(run.store).rows()] == ["train", "search", "report"]


def test_a_bound_that_the_space_cannot_meet_is_refused_before_training(
    model_folder: Path, data_file: Path, tmp_path: Path, quick: Any
) -> None:
    with pytest.raises(BoundError, match=r"`parameters<=1%`.*smallest network has parameters \d+ \(\d"):
        secateur.prune(
            str(model_folder), data=str(data_file), to=tmp_path / "a", **{**quick, "objectives": ["error", "parameters<=1%"]}
        )
    with pytest.raises(BoundError, match="largest"):
        secateur.prune(
            str(model_folder), data=str(data_file), to=tmp_path / "b", **{**quick, "objectives": ["error", "macs>=200%"]}
        )
    assert not (tmp_path / "a").exists()  # nothing was begun, so the corrected command finds a free folder


def test_a_bound_that_the_search_cannot_meet_names_the_nearest(
    model_folder: Path, data_file: Path, tmp_path: Path, quick: Any
) -> None:
    settings = {**quick, "objectives": ["error", "latency<=1us"], "epochs": 1.0, "trials": 2, "order": False}
    with pytest.raises(BoundError, match=r"none of 2 trials met `latency<=1us`. The nearest had latency [\d.]+ .s \(.*%"):
        secateur.prune(str(model_folder), data=str(data_file), to=tmp_path / "run", **settings)


def test_a_full_disk_says_how_to_go_on(
    model_folder: Path, data_file: Path, tmp_path: Path, quick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from secateur.runs.prune.stages import Stages

    def full(self: Stages, folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Stages, "_save", full)
    with pytest.raises(StudyError, match=r"disk is full.*secateur resume"):
        secateur.prune(str(model_folder), data=str(data_file), to=tmp_path / "run", **{**quick, "epochs": 1.0})
    monkeypatch.undo()
    assert len(resume(tmp_path / "run", progress=False).front) >= 1


def test_diverged_training_is_said(model_folder: Path, data_file: Path, tmp_path: Path, quick: Any) -> None:
    with pytest.raises(StudyError, match=r"diverged.*learning rate"):
        secateur.prune(
            str(model_folder), data=str(data_file), to=tmp_path / "run", **{**quick, "learning_rate": 1e30, "order": False}
        )


def test_a_head_for_other_labels_is_replaced(model_folder: Path, tmp_path: Path, quick: Any) -> None:
    path = tmp_path / "three.csv"
    path.write_text("review,verdict\n" + "".join(f"a {w} film,{w}\n" for w in ("fine", "dull", "grey") * 12))
    run = secateur.prune(str(model_folder), data=str(path), to=tmp_path / "run", **{**quick, "epochs": 1.0, "polish": False})
    assert run.supernet.model.config.num_labels == 3


def test_importance_does_not_depend_on_how_the_file_is_sorted(
    model_folder: Path, data_file: Path, tmp_path: Path, quick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file sorted by label must not make importance that of one class."""
    from secateur.verbs import stages

    path = tmp_path / "sorted.csv"
    head, *rows = data_file.read_text().splitlines()
    path.write_text("\n".join([head, *sorted(rows, key=lambda row: row.rsplit(",", 1)[1])]) + "\n")
    seen: list[int] = []
    score = stages.importance

    def watched(supernet: Any, batches: Any) -> Any:
        kept = list(batches)
        seen.extend(label for batch in kept for label in batch["labels"].tolist())
        return score(supernet, kept)

    monkeypatch.setattr(stages, "importance", watched)
    monkeypatch.setattr(stages, "SCORED", 16)
    secateur.prune(str(model_folder), data=str(path), to=tmp_path / "run", **{**quick, "epochs": 1.0, "polish": False})
    assert len(seen) == 16
    assert set(seen) == {0, 1}


def test_a_searcher_that_cannot_serve_is_refused_before_training(
    model_folder: Path, data_file: Path, tmp_path: Path, quick: Any
) -> None:
    with pytest.raises(ConfigurationError, match="at least two"):
        secateur.prune(
            str(model_folder),
            data=str(data_file),
            to=tmp_path / "run",
            **{**quick, "searcher": "ehvi", "objectives": ["error"]},
        )
    assert not (tmp_path / "run").exists()


def test_killed_between_two_stages(
    model_folder: Path, data_file: Path, tmp_path: Path, quick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything a stage did is there, but the journal does not say so yet."""
    from secateur.runs.prune.stages import Stages

    real = Stages.train

    def train(self: Stages) -> None:
        real(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(Stages, "train", train)
    with pytest.raises(KeyboardInterrupt, match="secateur resume"):
        secateur.prune(str(model_folder), data=str(data_file), to=tmp_path / "run", **{**quick, "polish": False})
    monkeypatch.undo()
    assert len(resume(tmp_path / "run", progress=False).front) >= 1


def test_an_ambiguous_key_is_refused(finished: Path) -> None:
    with pytest.raises(BoundError, match="several"):
        Run(finished).member("")
