"""The stages of a pruning run, on a tiny model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from secateur.errors import BoundError, ConfigurationError, Stopped
from secateur.methods.weight_sharing import WeightSharing
from secateur.runs.prune.settings import PruneSettings
from secateur.study import Journal
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"space": "medium", "searcher": "local", "heads": "1..", "units": ":4"},
        {"space": "large", "searcher": "mo-rea", "polish": False, "order": False},
        {"space": "medium", "searcher": "mo-rea:vector", "population": 4, "polish": False, "order": False},
        {"space": "medium", "searcher": "bo-dngo", "polish": False, "order": False, "trials": 12},
        {"space": "small", "searcher": "bananas", "polish": False, "order": False, "trials": 12},
        {"space": "layer", "searcher": "reinforce", "objectives": ["error"], "polish": False, "order": False},
        {"space": "sublayer", "searcher": "random", "strategy": "sandwich", "objectives": ["error", "latency", "memory"]},
        {"space": "layer", "strategy": "kd", "objectives": ["error", "macs<=80%"], "polish": False},
    ],
    ids=lambda c: c["space"],
)
def test_other_spaces_searchers_and_objectives(changes: dict[str, Any], quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", epochs=1.0, **changes)
    assert len(run.front) >= 1
    assert (tmp_path / "run" / "report.html").is_file()
    for member in run.front:
        for objective in run.objectives:
            assert objective.violated(member.values, run.unpruned) is None
    statuses = {t.status for t in run.trials if t.id is not None}
    assert "failed" not in statuses


def test_scores_on_test_data_survive_a_stop(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each network is scored on test data once, also where the report was stopped between them."""
    from secateur.runs.prune import stages

    scored: list[Any] = []
    real, most = stages.score, 2  # the unpruned network and one more

    def counting(network: Any, *args: Any) -> Any:
        if len(scored) == most:
            raise KeyboardInterrupt
        scored.append(network)
        return real(network, *args)

    monkeypatch.setattr(stages, "score", counting)
    with pytest.raises(Stopped):
        quick_prune(tmp_path / "run", epochs=1.0, trials=8, polish=False, order=False, measure=False)
    most = 100
    run = resume(tmp_path / "run", progress=False)
    assert len(scored) == 1 + len(run.tests) > 2


@pytest.mark.slow
def test_the_papers_preset_to_the_letter(quick_prune: Any, tmp_path: Path) -> None:
    own = ("learning_rate", "batch_size", "polish_epochs", "polish_at", "order_epochs", "order_learning_rate")
    run = quick_prune(tmp_path / "run", preset="klein2024", trials=12, epochs=1.0, **dict.fromkeys(own))
    c = run.configuration
    paper = (c.space, c.strategy, c.searcher, c.learning_rate, c.batch_size, c.k, c.temperature)
    assert paper == ("small", "full", "ehvi", 2e-5, 4, 2, 10.0)
    assert PruneSettings.presets["klein2024"]["epochs"] == 5
    assert (c.weight_decay, c.learning_rate_warmup, c.group_by_length, c.distillation_weight) == (0.01, 0.0, False, 1.0)
    assert (c.max_grad_norm, c.distillation, c.metric, run.metric) == (0.0, "authors", "papers", "accuracy")
    assert len(run.measured) > 1  # the report compares pruned networks also where none was polished
    assert (c.order, c.polish, c.depths, c.squared_temperature) == (False, False, False, True)
    assert not run.polished
    assert all(t.origin == "asked" for t in run.trials)
    assert [r.name for r in Journal(run.store).rows()] == ["train", "search", "measure", "report"]


def test_what_cannot_end_well_is_refused_before_training(quick_prune: Any, tmp_path: Path) -> None:
    for error, changes, said in (
        (BoundError, {"objectives": ["error", "parameters<=1%"]}, r"`parameters<=1%`.*smallest .* parameters [\d,]+ \(\d"),
        (BoundError, {"objectives": ["error", "macs>=200%"]}, "largest"),
        (ConfigurationError, {"searcher": "ehvi", "objectives": ["error"]}, "at least two"),
        (ConfigurationError, {"searcher": "reinforce"}, "`reinforce` follows one reward, so it takes one objective, got 2"),
        (
            ConfigurationError,
            {"searcher": "bananas:path"},
            "`bananas:path` cannot search `small`: the encoding `path` is of cells",
        ),
    ):
        with pytest.raises(error, match=said):
            quick_prune(tmp_path / "run", **changes)
        assert not (tmp_path / "run").exists()  # nothing was begun, so the corrected command finds a free folder


def test_a_bound_that_the_search_cannot_meet_names_the_nearest(quick_prune: Any, tmp_path: Path) -> None:
    settings = {"objectives": ["error", "latency<=1us"], "epochs": 1.0, "trials": 2, "order": False}
    with pytest.raises(BoundError, match=r"none of 2 trials met `latency<=1us`. The nearest had latency [\d.]+ .s \(.*%"):
        quick_prune(tmp_path / "run", **settings)


def test_a_head_for_other_labels_is_replaced(quick_prune: Any, tmp_path: Path) -> None:
    path = tmp_path / "three.csv"
    path.write_text("review,verdict\n" + "".join(f"a {w} film,{w}\n" for w in ("fine", "dull", "grey") * 12))
    run = quick_prune(tmp_path / "run", data=str(path), epochs=1.0, polish=False)
    assert run.supernet.model.config.num_labels == 3


def test_a_learning_rate_that_nobody_gave_is_kept_with_the_run(quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", learning_rate=None, epochs=1.0, order=False, polish=False, trials=2)
    assert run.configuration.learning_rate == 1e-4 == PruneSettings.read(tmp_path / "run").learning_rate


def test_killed_between_two_stages(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything a stage did is there, but the journal does not say so yet."""
    real = WeightSharing.train

    def train(self: WeightSharing) -> None:
        real(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(WeightSharing, "train", train)
    with pytest.raises(KeyboardInterrupt, match="secateur resume"):
        quick_prune(tmp_path / "run", polish=False, epochs=1.0)
    monkeypatch.undo()
    assert len(resume(tmp_path / "run", progress=False).front) >= 1


@pytest.mark.slow
def test_nothing_is_measured_where_nobody_wants_it(quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", epochs=1.0, trials=2, polish=False, measure=False)
    assert run.measured == {}
    assert not any("latency" in member.values or "memory" in member.values for member in run.front)
    assert run.front.best(under={"body_parameters": "100%"}).test is not None
    assert (tmp_path / "run" / "report.html").is_file()
    assert "measure" not in [row.name for row in Journal(run.store).rows()]
