"""`secateur train --candidates`: several begin, the most promising goes on as if it had been alone, whenever it is stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from secateur.errors import ConfigurationError, Stopped
from secateur.runs.design import contest as contests
from secateur.runs.design.contest import CANDIDATES, Contest
from secateur.runs.design.training import TrainSettings, begin_architecture, train_architecture
from secateur.spaces.decoder import architecture
from secateur.spaces.decoder_sizes import Sizes
from secateur.verbs.design import design
from secateur.verbs.train import train

pytestmark = [pytest.mark.usefixtures("brief"), pytest.mark.slow]

SIZES = Sizes(vocabulary=270, positions=16)
SEVERAL = [(architecture("gpt2", width, [2], [32]), SIZES) for width in (4, 16, 8)]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    (folder / "train.txt").write_text("the cat sat on the mat\nand the dog sat on the log\n" * 60, encoding="utf-8")
    (folder / "valid.txt").write_text("the dog sat on the mat\n" * 8, encoding="utf-8")
    return folder


def settings(text: Path, to: Path, **more: Any) -> TrainSettings:
    given = {"length": 12, "batch_size": 4, "steps": 20, "learning_rate": 1e-2, "evaluations": 10, "device": "cpu"}
    return TrainSettings(text=text, to=to, **{**given, **more})


def test_the_most_promising_ends_as_if_it_had_been_alone(text: Path, tmp_path: Path) -> None:
    begun = {a.key: begin_architecture(a, s, settings(text, tmp_path / a.key), until=0.2).loss for a, s in SEVERAL}
    best = min(begun, key=begun.__getitem__)
    found = Contest.of(SEVERAL, "last").train(settings(text, tmp_path / "model"))
    assert found.architecture.key == best
    assert found.steps == 20
    assert not (tmp_path / "model" / CANDIDATES).exists()
    assert not (tmp_path / "model" / "training").exists()
    alone = train_architecture(found.architecture, SIZES, settings(text, tmp_path / "alone"))
    assert alone.curve == found.curve
    mine, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("model", "alone"))
    assert all(np.array_equal(mine[name], theirs[name]) for name in theirs)


def test_a_pause_is_at_the_first_point_after_the_share(text: Path, tmp_path: Path) -> None:
    result = begin_architecture(*SEVERAL[0], settings(text, tmp_path / "one"), until=0.25)
    assert [point.step for point in result.curve] == [2, 4, 6]
    assert result.steps == 6
    again = begin_architecture(*SEVERAL[0], settings(text, tmp_path / "one"), until=0.25)
    assert again.curve == result.curve


@pytest.mark.parametrize("at", [2, 7, 14])
def test_stopped_anywhere_it_goes_on(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """In the first candidate, in the second, and after one was chosen."""
    from secateur.training import text_trainer

    contest = Contest.of(SEVERAL, "last")
    whole = contest.train(settings(text, tmp_path / "whole"))
    done, step = [0], text_trainer.TextTrainer.training_step

    def killed(self: Any, *given: Any, **more: Any) -> Any:
        done[0] += 1
        if done[0] == at:
            raise KeyboardInterrupt
        return step(self, *given, **more)

    monkeypatch.setattr(text_trainer.TextTrainer, "training_step", killed)
    with pytest.raises(Stopped, match="Run the same command again"):
        contest.train(settings(text, tmp_path / "again"))
    found = contest.train(settings(text, tmp_path / "again"))
    assert (found.architecture, found.curve) == (whole.architecture, whole.curve)


def test_epochs_in_the_place_of_steps(text: Path, tmp_path: Path) -> None:
    by_epochs = replace(settings(text, tmp_path / "model"), steps=None, epochs=0.2)
    assert Contest.of(SEVERAL[:2], "wpm:0.4").train(by_epochs).steps > 5


def test_what_cannot_choose(text: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"it learns from at least 10 whole trainings\. Use last or wpm"):
        Contest.of(SEVERAL, "svr")
    with pytest.raises(ConfigurationError, match="must be an extrapolator"):
        Contest.of(SEVERAL, "last:20")


def test_the_verb(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = design(
        layers="1..3", width="8,16", inner="16..48:16", heads="2", embedding="0", factor="1", vocabulary=270, positions=16,
        objectives=["decoder_parameters", "macs"], length=12, baselines=False, to=tmp_path / "run", progress=False,
    )  # fmt: skip
    seen: list[Any] = []
    monkeypatch.setattr(
        contests, "begin_architecture", lambda a, s, own, **more: seen.append(a) or begin_architecture(a, s, own, **more)
    )
    given = {
        name: getattr(settings(text, tmp_path), name) for name in ("length", "batch_size", "steps", "evaluations", "device")
    }
    found = train(
        run.folder, under=["decoder_parameters=3k"], candidates=3, text=text, to=tmp_path / "out", progress=False, **given
    )
    members = run.front.best_first(under={"decoder_parameters": "3k"})[:3]
    assert [a.key for a in seen] == [m.key for m in members]
    assert found.architecture.key in {m.key for m in members}
    with pytest.raises(ConfigurationError, match="`candidates` are those within a bound"):
        train(run.folder, key=members[0].key, candidates=3, text=text, to=tmp_path / "other", progress=False, **given)
