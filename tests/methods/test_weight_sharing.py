"""Weight sharing: its stages leave what the next ones need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import secateur.methods.ordering as ordering
import secateur.methods.weight_sharing as weight_sharing
from secateur.errors import StudyError
from secateur.training import checkpoints, stage_trainer
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")


def test_importance_does_not_depend_on_how_the_file_is_sorted(
    quick_prune: Any, data_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file sorted by label must not make importance that of one class."""
    path = tmp_path / "sorted.csv"
    head, *rows = data_file.read_text().splitlines()
    path.write_text("\n".join([head, *sorted(rows, key=lambda row: row.rsplit(",", 1)[1])]) + "\n")
    seen: list[int] = []
    score = ordering.importance

    def watched(supernet: Any, batches: Any) -> Any:
        kept = list(batches)
        seen.extend(label for batch in kept for label in batch["labels"].tolist())
        return score(supernet, kept)

    monkeypatch.setattr(ordering, "importance", watched)
    quick_prune(tmp_path / "run", data=str(path), epochs=1.0, order_epochs=1.0, polish=False, trials=2, importance_examples=16)
    assert len(seen) == 16
    assert set(seen) == {0, 1}


def test_a_full_disk_says_how_to_go_on(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: weight_sharing.WeightSharing, folder: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(weight_sharing.WeightSharing, "save", full)
    with pytest.raises(StudyError, match=r"disk is full.*secateur resume"):
        quick_prune(tmp_path / "run", epochs=1.0, polish=False)
    monkeypatch.undo()
    assert len(resume(tmp_path / "run", progress=False).front) >= 1


def test_diverged_training_is_said(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverges(model: Any, step: int) -> None:
        raise checkpoints.diverged(step)

    monkeypatch.setattr(stage_trainer, "refuse_diverged", diverges)
    with pytest.raises(StudyError, match=r"diverged.*a lower --learning-rate"):
        quick_prune(tmp_path / "run", epochs=1.0, order=False)
    with pytest.raises(StudyError, match=r"diverged.*a lower --order-learning-rate"):
        quick_prune(tmp_path / "other", order_epochs=1.0)


def test_without_an_order_there_is_one_stage(pruned: Path) -> None:
    class Bench:
        c = type("Settings", (), {"order": False})

    bench: Any = Bench()
    assert [name for name, _ in weight_sharing.WeightSharing(bench).stages()] == ["train"]
    bench.c.order = True
    assert [name for name, _ in weight_sharing.WeightSharing(bench).stages()] == ["warm-up", "order", "train"]
    # What only an unfinished run needs is gone.
    assert not {weight_sharing.WARMED, weight_sharing.SCRATCH} & {p.name for p in (pruned / "supernet").iterdir()}


@pytest.mark.slow
def test_layers_that_share_a_table_of_heads_are_ordered_alike(quick_prune: Any, model_folder: Path, tmp_path: Path) -> None:
    """MPNet: the run says so, and a sub-network of it is exported and loads."""
    from safetensors.numpy import load_file
    from transformers import AutoTokenizer

    from secateur.testing.models import toy_model

    toy_model("mpnet").save_pretrained(tmp_path / "mpnet")
    AutoTokenizer.from_pretrained(model_folder).save_pretrained(tmp_path / "mpnet")
    run = quick_prune(tmp_path / "run", model=str(tmp_path / "mpnet"), epochs=1.0, order_epochs=1.0, polish=False, trials=3)
    assert any("`encoder.relative_attention_bias`" in note for note in run.notes)
    (order,) = (tmp_path / "run").rglob("order.safetensors")
    heads = load_file(order)["order.heads"]
    assert (heads == heads[0]).all()
    largest = max(run.front, key=lambda member: member.values["parameters"])
    largest.save(tmp_path / "out")  # compares the reloaded network with the selected one
