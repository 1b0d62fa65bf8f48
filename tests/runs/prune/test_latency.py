"""A search by latency: the parts of sub-networks are measured once, candidates predicted, the front measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.latency_model import LatencyModel
from secateur.estimators.pruned_latency import PrunedParts
from secateur.runs.folder import open_run
from secateur.runs.prune.measuring import FITTED, HELD_OUT, TURNS
from secateur.runs.prune.report import PruneReport
from secateur.runs.prune.run import PruneRun
from secateur.runs.prune.stages import PruneWork
from secateur.spaces.pruning import Layer, Shape
from secateur.study import Journal
from secateur.trial import SWEEP
from secateur.verbs.front import front
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")
BRIEF: dict[str, Any] = {"epochs": 1.0, "order": False, "fit_seconds": 3.0, "objectives": ["error", "latency"]}


@pytest.fixture(scope="module")
def timed(quick_prune: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[PruneRun, int]:
    """A run, and how often a network's latency was measured in it."""
    calls = 0
    real = LatencyEstimator.evaluate

    def counted(self: LatencyEstimator, architectures: Any, budget: float | None = None) -> Any:
        nonlocal calls
        calls += len(architectures)
        return real(self, architectures, budget)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LatencyEstimator, "evaluate", counted)
        run = quick_prune(tmp_path_factory.mktemp("latency") / "run", trials=30, **BRIEF)
    return run, calls


def model_of(run: PruneRun) -> LatencyModel:
    assert run.latency_model is not None
    return LatencyModel.from_dict(run.latency_model, PrunedParts(Shape(**run.shape)))


def test_candidates_are_predicted_and_only_the_front_is_measured(timed: tuple[PruneRun, int]) -> None:
    run, calls = timed
    assert [row.name for row in Journal(run.store).rows()] == [
        "train",
        "latency model",
        "search",
        "masks",
        "polish",
        "measure",
        "report",
    ]
    model = model_of(run)
    for trial in run.trials:
        assert trial.values["latency"] == pytest.approx(model.predict([trial.architecture])[0])
    assert calls <= TURNS * (FITTED + HELD_OUT + len(run.measured))
    assert run.unpruned["latency"] == pytest.approx(model.predict([Layer(Shape(**run.shape)).largest()])[0])


def test_shallower_depths_are_results_as_in_a_search_by_parameters(timed: tuple[PruneRun, int]) -> None:
    run, _ = timed
    swept = [t for t in run.trials if t.origin == SWEEP]
    assert swept
    assert all(t.values["latency"] > 0 for t in swept)


def test_the_front_is_of_measured_latencies(timed: tuple[PruneRun, int]) -> None:
    run, _ = timed
    for member in run.front:
        assert member.values["latency"] == run.measured[member.key]["latency"] != member.trial.values["latency"]
        assert not member.gain.predicted
        assert member.gain.latency == (run.measured["unpruned"]["latency"], run.measured[member.key]["latency"])
    others = [m for m in run.front.pool if m.key not in run.measured]
    assert others
    assert all(m.gain.predicted and m.values["latency"] == m.trial.values["latency"] for m in others)
    assert run.whole["latency"] == run.measured["unpruned"]["latency"]


def test_what_the_prediction_was_worth_is_said(timed: tuple[PruneRun, int]) -> None:
    run, _ = timed
    errors = sorted(
        abs(t.values["latency"] - run.measured[t.key]["latency"]) / run.measured[t.key]["latency"]
        for t in {t.key: t for t in run.trials if t.origin != "polish"}.values()
        if t.key in run.measured
    )
    assert sorted(m.prediction_error for m in run.front.pool if m.prediction_error is not None) == pytest.approx(errors)
    fitted, checked = (next(n for n in run.notes if said in n) for said in ("predicted by a latency model", "then measured"))
    report = model_of(run).report
    assert f"on {report.held_out} networks it had not seen" in fitted
    assert f"of {len(errors)} networks" in checked
    assert f"{100 * max(errors):.1f} % at most" in checked
    assert {fitted, checked} <= set(PruneReport(run).data().notes)


def test_a_bound_stops_a_trial_before_it_is_evaluated(quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", trials=12, polish=False, **BRIEF | {"objectives": ["error", "latency<=60%"]})
    limit = 0.6 * run.unpruned["latency"]
    broken = [t for t in run.trials if t.status == "infeasible"]
    assert broken, "the search begins at the unpruned network"
    assert all("error" not in t.values and t.values["latency"] > limit for t in broken)
    assert all(m.trial.values["latency"] <= limit for m in run.front)


def test_where_none_meets_the_bound_when_measured_the_nearest_are_shown_and_it_is_said(
    timed: tuple[PruneRun, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = timed
    fastest = min(entry["latency"] for key, entry in run.measured.items() if key != "unpruned")
    bounded = open_run(run.folder)
    bounded.objectives = [run.objectives[0], type(run.objectives[0]).parse(f"latency<={2e3 * fastest}ms")]
    assert {m.key for m in bounded.front} <= {m.key for m in run.front}
    assert all(m.values["latency"] <= 2 * fastest for m in bounded.front)
    bounded.objectives = [run.objectives[0], type(run.objectives[0]).parse(f"latency<={5e2 * fastest}ms")]
    assert {m.key for m in bounded.front} == {m.key for m in run.front}
    said: list[str] = []
    work = object.__new__(PruneWork)
    work.run, work.note = bounded, said.append  # type: ignore[method-assign]
    monkeypatch.setattr(PruneWork, "log", type("Log", (), {"write": staticmethod(lambda *_, **__: None)}))
    work._say_prediction()
    assert said[-1].startswith("No network meets the bounds on latency when it is measured")


def test_speedup_chooses_by_what_was_measured(timed: tuple[PruneRun, int]) -> None:
    run, _ = timed
    times = 0.9 * max(m.gain.speedup or 0 for m in run.front)
    (chosen,) = front(run.folder, under=[f"speedup={times:.4f}x"]).members
    assert chosen.gain.speedup is not None
    assert chosen.gain.speedup >= times
    good = [m for m in run.front if (m.gain.speedup or 0) >= times]
    assert chosen.values["error"] == min(m.values["error"] for m in good)


def test_killed_in_the_fit_it_is_made_anew(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LatencyModel, "fit", killed)
        with pytest.raises(KeyboardInterrupt, match="secateur resume"):
            quick_prune(tmp_path / "run", trials=3, polish=False, **BRIEF)
    run = resume(tmp_path / "run", progress=False)
    assert run.latency_model is not None
    model = run.latency_model
    assert resume(tmp_path / "run", progress=False).latency_model == model


@pytest.mark.slow
def test_several_workers_search_by_predicted_latencies(quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", trials=6, polish=False, workers=2, searcher="random", **BRIEF)
    model = model_of(run)
    for trial in run.trials:
        assert trial.values["latency"] == pytest.approx(model.predict([trial.architecture])[0])
