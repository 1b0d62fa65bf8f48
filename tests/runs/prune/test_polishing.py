"""Polishing: who meets at a size, and who is trained to the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from secateur.architecture import Architecture
from secateur.errors import Stopped
from secateur.estimators.base import Evaluation
from secateur.rng import generator
from secateur.runs.prune.polishing import Tournament, contenders
from secateur.runs.prune.settings import ETA
from secateur.runs.prune.stages import PruneWork
from secateur.spaces.pruning import Large, Shape, Small
from secateur.trial import MASKS, Trial
from secateur.verbs.resume import resume

SHAPE = Shape(layers=4, heads=4, units=16)
SPACE = Small(SHAPE)


def trial(layers: int, heads: int, units: int, error: float) -> Trial:
    architecture = SPACE.make({"layers": layers, "heads": heads, "units": units})
    size = float(layers * (10 * heads + units))
    return Trial(None, architecture, values={"error": error, "body_parameters": size})


TRIALS = [
    trial(4, 4, 16, 0.10),  # too large
    trial(4, 1, 8, 0.30),  # 72: the best of its depth
    trial(4, 1, 6, 0.31),
    trial(2, 2, 8, 0.25),  # 56: the best of all
    trial(2, 1, 8, 0.28),
    trial(3, 1, 4, 0.60),  # 42: no better than chance
    trial(3, 1, 2, 0.50),  # 36: the same, and smaller
    trial(0, 0, 0, 0.50),  # without layers
]


def test_the_best_of_each_depth_come_first() -> None:
    found = contenders(TRIALS, SHAPE, 80.0, 0.5, 10)
    assert [(len(SPACE.plan(t.architecture).layers), t.values["error"]) for t in found] == [
        (2, 0.25),
        (4, 0.30),
        (3, 0.60),
        (2, 0.28),
        (4, 0.31),
        (3, 0.50),
    ]
    assert contenders(TRIALS, SHAPE, 80.0, 0.5, 2) == found[:2]


def test_the_largest_of_chosen_masks_takes_the_second_place() -> None:
    """Whatever its error on shared weights; with room for one only there is none, and a larger one is of another size."""
    space = Large(SHAPE)
    masks = [
        replace(
            TRIALS[0], architecture=space.sample(generator(i)), origin=MASKS, values={"error": 0.9, "body_parameters": size}
        )
        for i, size in enumerate((60.0, 79.0, 81.0))
    ]
    found = contenders([*TRIALS, *masks], SHAPE, 80.0, 0.5, 4)
    assert found == [TRIALS[3], masks[1], TRIALS[1], TRIALS[5]]
    assert contenders([*TRIALS, *masks], SHAPE, 80.0, 0.5, 1) == [TRIALS[3]]
    assert contenders(masks, SHAPE, 80.0, 0.5, 4) == [masks[1], masks[0]]


def test_what_has_not_learned_is_taken_before_a_network_without_layers() -> None:
    """On shared weights it may answer as a constant does, and learn when it is polished: the largest first."""
    assert [t.values["body_parameters"] for t in contenders(TRIALS[5:], SHAPE, 50.0, 0.5, 3)] == [42.0, 36.0]
    assert contenders(TRIALS, SHAPE, 10.0, 0.5, 3) == [TRIALS[-1]]
    assert contenders(TRIALS[:2], SHAPE, 10.0, 0.5, 3) == []


class Ends:
    """In place of an estimator that trains: errors by key and budget."""

    def __init__(self, errors: dict[tuple[str, float], float], epochs: float = 4.0) -> None:
        self.settings = type("Settings", (), {"epochs": epochs})
        self.identity = "toy"
        self.errors = errors
        self.calls: list[tuple[str, float]] = []
        self.progress: Any = None

    def evaluate(self, architectures: list[Architecture], budget: float) -> list[Evaluation]:
        (architecture,) = architectures
        self.calls.append((architecture.key, budget))
        self.progress(budget, 0.5)
        error = self.errors[architecture.key, budget]
        return [Evaluation({"error": error}) if error < 1 else Evaluation(failure="diverged")]


def test_the_best_after_one_epoch_goes_on() -> None:
    several = TRIALS[1:5]
    keys = [t.key for t in several]
    errors = dict(zip([(key, 1.0) for key in keys], [0.3, 0.2, 2.0, 0.4], strict=True)) | {(keys[1], 4.0): 0.15}
    ends, seen = Ends(errors), []
    known: dict[str, float] = {}
    tournament = Tournament(ends, SPACE, known, lambda found: None)  # type: ignore[arg-type]
    best, reason = tournament.best(several, lambda done, total, loss=None: seen.append((done, total)))
    assert best is not None
    assert (best.key, best.values) == (keys[1], {"error": 0.15})
    assert reason == "diverged"
    assert ends.calls == [*((key, 1.0) for key in keys), (keys[1], 4.0)]
    assert seen[-1] == (700, 700)  # four epochs for all, then three more for one
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    again = Ends(errors)  # what is known is not trained again, but the end, whose weights are needed
    assert Tournament(again, SPACE, known, lambda found: None).best(several, lambda *_: None)[0] == best  # type: ignore[arg-type]
    assert again.calls == [(keys[2], 1.0), (keys[1], 4.0)]


def test_where_the_best_diverges_the_next_goes_on() -> None:
    several = TRIALS[1:4]
    keys = [t.key for t in several]
    ends = Ends(
        dict(zip([(key, 1.0) for key in keys], [0.3, 0.2, 0.4], strict=True)) | {(keys[1], 4.0): 2.0, (keys[0], 4.0): 0.1}
    )
    best, reason = Tournament(ends, SPACE, {}, lambda found: None).best(several, lambda *_: None)  # type: ignore[arg-type]
    assert best is not None
    assert (best.key, best.values, reason) == (keys[0], {"error": 0.1}, "diverged")
    assert ends.calls[-2:] == [(keys[1], 4.0), (keys[0], 4.0)]


def test_where_all_fail_there_is_none() -> None:
    errors = {(t.key, 1.0): 2.0 for t in TRIALS[1:3]}
    ends = Ends(errors)
    found = Tournament(ends, SPACE, {}, lambda found: None).best(TRIALS[1:3], lambda *_: None)  # type: ignore[arg-type]
    assert found == (None, "diverged")


def test_fewer_than_it_takes_still_have_a_winner() -> None:
    assert ETA > 2
    errors = {(t.key, budget): t.values["error"] for t in TRIALS[1:3] for budget in (1.0, 4.0)}
    best, _ = Tournament(Ends(errors), SPACE, {}, lambda found: None).best(TRIALS[1:3], lambda *_: None)  # type: ignore[arg-type]
    assert best is not None
    assert best.key == TRIALS[1].key


@pytest.mark.usefixtures("brief")
def test_a_run_that_is_stopped_while_it_polishes_ends_the_same(
    quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"polish_at": ["40%", "80%"], "polish_epochs": 3.0, "candidates": 3, "epochs": 2.0, "measure": False}
    whole = quick_prune(tmp_path / "whole", **options)
    from secateur.training import fine_tune

    steps, step = [0], fine_tune.FineTuneTrainer.training_step

    def stopped(self: Any, *given: Any, **more: Any) -> Any:
        steps[0] += 1
        if steps[0] % 7 == 0:
            raise KeyboardInterrupt
        return step(self, *given, **more)

    monkeypatch.setattr(fine_tune.FineTuneTrainer, "training_step", stopped)
    run: Any = None
    for attempt in range(100):
        try:
            run = quick_prune(tmp_path / "run", **options) if attempt == 0 else resume(tmp_path / "run", progress=False)
            break
        except Stopped:
            continue
    assert run is not None
    assert steps[0] >= 14  # stopped twice at least
    for found in (run, whole):
        assert 1 <= len(found.polished) <= 2
    assert {k: t.values for k, t in run.polished.items()} == {k: t.values for k, t in whole.polished.items()}


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("better", [0, 1])
def test_variants_are_read_where_the_smallest_size_gains_by_them(
    quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, better: int
) -> None:
    """Without them first, then with them; from the second size on only in the better way."""
    met: list[tuple[str, int, int]] = []
    real = Tournament.best

    def best(self: Tournament, several: Any, advance: Any) -> Any:
        found, reason = real(self, several, advance)
        read = len(self.estimator.examples or ())
        met.append((several[0].key, read, len(self.estimator.data.train)))
        way = 1 if read > met[-1][2] else 0
        return replace(found, values={"error": 0.1 if way == better else 0.2}), reason

    monkeypatch.setattr(Tournament, "best", best)
    options: dict[str, Any] = {"polish_at": ["80%", "40%"], "polish_epochs": 1.0, "candidates": 1, "variants": 1, "epochs": 2.0}
    run = quick_prune(tmp_path / "run", measure=False, **options)
    assert [read // own for _, read, own in met] == [1, 2, 1 + better]
    sizes = [run.member(key).values["body_parameters"] for key, *_ in met]
    assert sizes[0] == sizes[1] <= sizes[2]


@pytest.mark.usefixtures("brief")
def test_the_better_teacher_teaches(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The super-network, or the network that was fine-tuned before it: by validation data."""
    asked: list[Any] = []

    def listening(teacher: Any, *given: Any) -> dict[str, Any]:
        asked.append(teacher)
        return {"teacher": teacher}

    monkeypatch.setattr("secateur.runs.prune.stages.taught_by", listening)
    monkeypatch.setattr("secateur.runs.prune.stages.score", lambda model, task, batches: {"error": fixed(model)})
    several: list[Any] = []

    def fixed(model: Any) -> float:
        several.append(model)
        return 0.4 if len(several) == 1 else 0.3

    with monkeypatch.context() as only:
        only.setattr(PruneWork, "_keep_polished", lambda *given: None)
        only.setattr(PruneWork, "_contenders", lambda self: {})
        only.setattr(PruneWork, "measure", lambda self: None)
        only.setattr(PruneWork, "report", lambda self: None)
        quick_prune(tmp_path / "run", epochs=1.0, order_epochs=1.0, formats=False)
    assert len(several) == 2
    assert asked == [several[1]]
