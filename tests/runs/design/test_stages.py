"""`secateur design`, from the fit to the report, on a tiny space."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import secateur.runs.design.run as run_module
import secateur.runs.design.stages as stages
from secateur.errors import BoundError, ConfigurationError, MeasurementError, Stopped, StudyError
from secateur.estimators.base import Evaluation
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.together import Together
from secateur.runs.design.run import DesignRun
from secateur.runs.folder import open_run
from secateur.runs.progress import Progress
from secateur.spaces import decoder_counts
from secateur.trial import MEASURED
from secateur.verbs.export import export
from secateur.verbs.front import front
from secateur.verbs.report import report
from secateur.verbs.resume import resume

pytestmark = [pytest.mark.usefixtures("brief"), pytest.mark.slow]


def test_a_run_ends_with_a_measured_front(designed: Path) -> None:
    run = open_run(designed)
    assert isinstance(run, DesignRun)
    members = list(run.front)
    assert 1 <= len(members) <= 6
    assert all(m.measured and m.trial.origin == MEASURED for m in members)
    for m in members:
        assert m.values["decoder_parameters"] == decoder_counts.decoder_parameters(m.architecture)
        assert m.values["parameters"] == sum(p.numel() for p in m.build().parameters())
        assert m.values["latency"] > 0
        assert m.details["predicted_latency"] > 0
        assert m.details["predicted_latency"] != m.values["latency"]
    asked = [t for t in run.trials if t.id is not None]
    assert len(asked) == 60
    assert len({t.architecture.key for t in asked}) == 60
    assert front(designed).members == members
    best = run.front.best(under={"latency": max(m.values["latency"] for m in members)})
    assert best.values["decoder_parameters"] == max(m.values["decoder_parameters"] for m in members)


def test_the_baselines_are_measured_with_the_smallest_embedding_of_the_space_and_as_published(designed: Path) -> None:
    rows = open_run(designed).baselines
    assert [(row["name"], row["layers"], row["choices"]["embedding"]) for row in rows] == [
        ("GPT-2 small with embedding 8, 1 layer", 1, 8),
        ("GPT-2 small with embedding 8, 2 layers", 2, 8),
        ("GPT-2 small, 1 layer", 1, 0),
        ("GPT-2 small, 2 layers", 2, 0),
        ("LTS's GPT-2, 1 layer", 1, 784),
        ("LTS's GPT-2, 2 layers", 2, 784),
    ]
    assert [row["alike"] for row in rows] == [True, True, False, False, False, False]
    assert all(row["values"]["latency"] > 0 and row["values"]["memory"] > 4 * row["values"]["parameters"] for row in rows)


def test_the_report_names_the_front_and_the_baselines(designed: Path) -> None:
    run = open_run(designed)
    text = (designed / "report.html").read_text(encoding="utf-8")
    assert all(m.key in text for m in run.front)
    assert "GPT-2 small, 2 layers" in text
    before = (designed / "report.html").stat().st_mtime_ns
    report(designed).show()
    assert (designed / "report.html").stat().st_mtime_ns > before


def test_resuming_a_finished_run_changes_nothing(designed: Path) -> None:
    before = [(t.number, dict(t.values)) for t in open_run(designed).trials]
    resume(designed, progress=False)
    assert [(t.number, dict(t.values)) for t in open_run(designed).trials] == before


def test_an_architecture_without_weights_is_not_exported(designed: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no weights yet"):
        export(designed, to=tmp_path / "out", key=next(iter(open_run(designed).front)).key)


@pytest.mark.parametrize("stage", ["search", "measure"])
def test_a_stopped_run_goes_on_as_if_it_had_not_been(
    quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """The latency model is kept, so the search asks for the same architectures."""
    method = {"search": "outcome", "measure": "_measured"}[stage]
    where: Any = Together if stage == "search" else stages.DesignWork
    original: Callable[..., Any] = getattr(where, method)
    calls = 0

    def interrupted(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return original(*args, **options)

    folder = tmp_path / "run"
    monkeypatch.setattr(where, method, interrupted)
    with pytest.raises(Stopped, match="secateur resume"):
        quick_design(folder)
    monkeypatch.setattr(where, method, original)
    model = open_run(folder).latency_model
    resume(folder, progress=False)
    run = open_run(folder)
    assert run.latency_model == model
    assert sum(t.id is not None for t in run.trials) == 60
    measured = [t.architecture.key for t in run.trials if t.origin == MEASURED]
    assert len(measured) == len(set(measured)) <= 6


def test_everything_is_measured_where_asked(quick_design: Any, tmp_path: Path) -> None:
    options = {"trials": 5, "measure": "all", "searcher": "random"}
    run = quick_design(tmp_path / "run", **options)
    assert run.latency_model is None
    complete = [t for t in run.trials if t.status == "complete"]
    assert len(complete) == 5
    assert all(t.details["latency_clock"] for t in complete)
    assert all(m.measured for m in run.front)


@pytest.mark.parametrize("searcher", ["local", "mo-rea", "nsga2", "ehvi", "bananas", "bo-dngo"])
def test_every_searcher_designs(quick_design: Any, tmp_path: Path, searcher: str) -> None:
    options = {"trials": 12, "searcher": searcher, "objectives": ["decoder_parameters", "macs"]}
    run = quick_design(tmp_path / "run", **options)
    assert sum(t.status == "complete" and t.id is not None for t in run.trials) == 12
    assert run.latency_model is None  # nobody asked for latencies


def test_another_proxy_and_transformer_xl(quick_design: Any, tmp_path: Path) -> None:
    options = {"trials": 6, "backbone": "transformer_xl", "objectives": ["synflow", "memory"]}
    run = quick_design(tmp_path / "run", **options)
    assert all(m.values["synflow"] > 0 for m in run.front)


def test_bounds_are_kept_and_checked_before_anything_is_built(
    quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"trials": 30, "objectives": ["decoder_parameters", "memory"], "bounds": ["parameters>=10k<=20k"]}
    run = quick_design(tmp_path / "run", **options)
    assert all(10_000 <= t.values["parameters"] <= 20_000 for t in run.trials)
    assert all(t.status == "complete" for t in run.trials)  # the searcher asks for none that break a counted bound
    options["searcher"] = "random"
    run = quick_design(tmp_path / "second", **options)
    infeasible = [t for t in run.trials if t.status == "infeasible"]
    assert infeasible
    assert all("memory" not in t.values for t in infeasible)


@pytest.mark.parametrize(
    ("bound", "nearest"),
    [
        ("parameters<=10", r"`parameters<=10`: its smallest network has parameters \d,\d{3}\."),
        ("decoder_parameters>=1G", "largest"),
        ("memory<=2kB", r"`memory<=2kB`: its smallest network has memory [\d.]+ kB\."),
    ],
)
def test_a_bound_that_nothing_meets_names_the_nearest(quick_design: Any, tmp_path: Path, bound: str, nearest: str) -> None:
    with pytest.raises(BoundError, match=nearest):
        quick_design(tmp_path / "run", **{"bounds": [bound]})
    assert not (tmp_path / "run").exists()


def test_a_cost_that_nothing_meets_names_the_nearest(quick_design: Any, tmp_path: Path) -> None:
    options = {"trials": 10, "objectives": ["decoder_parameters", "memory>=1GB"]}
    with pytest.raises(BoundError, match=r"no architecture meets `memory>=1GB`\. The nearest has memory [\d.]+ kB\."):
        quick_design(tmp_path / "run", **options)


def test_bounds_that_contradict_each_other_name_the_nearest(quick_design: Any, tmp_path: Path) -> None:
    options = {"trials": 10, "objectives": ["decoder_parameters", "macs"]}
    with pytest.raises(BoundError, match=r"no architecture meets `.*` at once\. The nearest has param.*decoder"):
        quick_design(tmp_path / "run", **{**options, "bounds": ["parameters<=8k", "decoder_parameters>=40k"]})


def test_what_the_search_did_not_go_by_is_measured_beside_it(quick_design: Any, tmp_path: Path) -> None:
    run = quick_design(tmp_path / "run", **{"trials": 40, "objectives": ["decoder_parameters", "parameters", "macs"]})
    assert len(run.front) > 6  # the front is exact: nothing of it is left out
    assert all(t.origin != MEASURED for t in run.trials)
    measured = [m for m in run.front if m.measured]
    assert len(measured) == 6  # the most that the fixture allows
    best = run.front.best(under={"latency": "1s", "memory": "1GB"})
    assert best.values["decoder_parameters"] == max(m.values["decoder_parameters"] for m in measured)


def test_a_transformer_xl_is_also_measured_with_its_memory_full(
    quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secateur.runs.design.baselines.LAYERS", range(1, 2))
    options: dict[str, Any] = {"backbone": "transformer_xl", "recurrence": 64, "trials": 10, "baselines": True}
    run = quick_design(tmp_path / "run", **options)
    assert len(run.front) > 1
    for values in (*(m.values for m in run.front), *(row["values"] for row in run.baselines)):
        assert values["later_memory"] > values["memory"]
        assert values["later_latency"] > 0


def test_what_cannot_be_measured_is_said(quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LatencyEstimator, "evaluate", lambda *_: [Evaluation(failure="no clock")])
    run = quick_design(tmp_path / "run", trials=20, objectives=["decoder_parameters", "parameters"], baselines=False)
    assert "latency" not in run.front[0].values
    assert any(note.endswith("could not be measured: no clock.") for note in run.notes)


def test_speedups_are_against_the_published_network(designed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_run(designed)
    with pytest.raises(ConfigurationError, match="there is none"):
        run.front.best(under={"speedup": "2x"})  # the fixture's baselines have one and two layers
    base = run_module.base_of("gpt2")
    monkeypatch.setattr(run_module, "base_of", lambda _: dataclasses.replace(base, layers=2))
    assert run.whole == next(row["values"] for row in run.baselines if row["name"] == "GPT-2 small, 2 layers")
    fast = run.front.best(under={"speedup": "2x"})
    assert fast.values["latency"] <= run.whole["latency"] / 2
    assert fast.gain.speedup == run.whole["latency"] / fast.values["latency"]


def test_any_architecture_that_was_tried_can_be_picked(designed: Path) -> None:
    run = open_run(designed)
    others = [m for m in run.searched.pool if m.key not in {n.key for n in run.front.pool}]
    assert run.member(others[0].key).architecture == others[0].architecture
    with pytest.raises(BoundError, match="no architecture of"):
        run.member("nothing")


def _unsteady(_: Any, *, allow: bool) -> Any:
    if not allow:
        raise MeasurementError("this device cannot be measured steadily")
    return type("Steady", (), {"spread": 0.4, "__str__": lambda self: "40 % apart"})()


def _interrupted(self: stages.DesignWork) -> None:
    raise KeyboardInterrupt


def test_an_unsteady_device_is_refused_unless_asked(quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "check_steady", _unsteady)
    with pytest.raises(MeasurementError):
        quick_design(tmp_path / "run", **{"unsteady": False})
    run = quick_design(tmp_path / "again", **{"trials": 5, "measure": "all"})
    assert any("40 % apart" in note for note in run.store.get_meta("notes"))


def test_a_run_goes_on_on_request_where_the_device_became_unsteady(
    quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "check_steady", lambda *_, **__: type("Steady", (), {"spread": 0.0})())
    with monkeypatch.context() as patch:
        patch.setattr(stages.DesignWork, "_search", _interrupted)
        with pytest.raises(Stopped):
            quick_design(tmp_path / "run", **{"trials": 3, "measure": "all", "unsteady": False})
    monkeypatch.setattr(stages, "check_steady", _unsteady)
    with pytest.raises(MeasurementError):
        resume(tmp_path / "run", progress=False)
    run = resume(tmp_path / "run", unsteady=True, progress=False)
    assert any("40 % apart" in note for note in run.store.get_meta("notes"))
    assert open_run(tmp_path / "run").configuration.unsteady is True


def test_what_is_measured_is_spread_over_the_whole_front(designed: Path) -> None:
    run = open_run(designed)
    members = sorted(run.searched, key=lambda m: m.values["decoder_parameters"])
    assert len(members) >= 4
    half = len(members) // 2
    run.configuration = replace(run.configuration, most_measured=half)
    chosen = stages.DesignWork(run, Progress(False))._to_measure()
    assert len(chosen) == len({m.key for m in chosen}) == half
    assert {members[0].key, members[-1].key} <= {m.key for m in chosen}
    for count, kept in ((0, []), (1, [0]), (2, [0, -1]), (len(members) + 1, range(len(members)))):
        assert stages.evenly(members, count) == [members[i] for i in kept]
