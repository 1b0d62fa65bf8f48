"""What the classes are called: transformers' own pipeline says the user's labels, whatever folder it reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secateur.export.checkpoint import save_checkpoint
from secateur.runs.prune.run import PruneRun
from secateur.spaces.pruning.plan import Kept, LayerPlan, Plan

pytestmark = pytest.mark.slow
TEXTS = ["a fine film", "the plot is dull indeed", "a grey song"]


@pytest.fixture(scope="module")
def run(pruned: Path) -> PruneRun:
    return PruneRun(pruned)


def supernet(run: PruneRun, folder: Path) -> Path:
    return run.folder / "supernet"


def polished(run: PruneRun, folder: Path) -> Path:
    return run.folder / "front" / next(iter(run.polished))


def exported(run: PruneRun, folder: Path) -> Path:
    return run.front[-1].save(folder).folder


def carried(run: PruneRun, folder: Path) -> Path:
    """Layers of different sizes, which only the folder's own modelling file can build."""
    plan = Plan.of([LayerPlan(0, Kept.first(1), Kept.first(4)), LayerPlan(2, Kept.first(2), Kept.first(8))])
    assert save_checkpoint(run.supernet, plan, folder, tokenizer=run.tokenizer) == "carried"
    return folder


@pytest.mark.parametrize("made", [supernet, polished, exported, carried])
def test_a_pipeline_says_the_users_labels(made: Callable[..., Path], run: PruneRun, tmp_path: Path) -> None:
    import torch
    from transformers import AutoConfig, pipeline

    import secateur.auto  # noqa: F401 - for the carried one

    folder = made(run, tmp_path / "out")
    classify: Any = pipeline("text-classification", model=str(folder))
    config = AutoConfig.from_pretrained(folder)
    assert (config.id2label, config.label2id) == ({0: "bad", 1: "good"}, {"bad": 0, "good": 1})
    for text, said in zip(TEXTS, classify(TEXTS), strict=True):
        with torch.no_grad():
            best = int(classify.model(**run.tokenizer(text, return_tensors="pt")).logits.argmax())
        assert said["label"] == ("bad", "good")[best]
