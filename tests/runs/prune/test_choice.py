"""One rule of choice for front, export, report and API: the better of a network's weights, by its own validation score."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from secateur.architecture import Architecture
from secateur.errors import BoundError, ConfigurationError
from secateur.rng import generator
from secateur.runs.design.run import DesignRun
from secateur.runs.folder import open_run
from secateur.runs.prune.prediction import Prediction
from secateur.runs.prune.report import PruneReport
from secateur.runs.prune.run import PruneMember, PruneRun
from secateur.spaces.pruning import Medium, Shape
from secateur.study import Front
from secateur.trial import POLISH, Trial
from secateur.verbs.export import export
from secateur.verbs.front import front


@pytest.fixture
def run(pruned: Path) -> PruneRun:
    found: PruneRun = open_run(pruned)
    return found


def test_every_member_that_can_be_chosen_was_measured(run: PruneRun) -> None:
    for member in (*run.front, *(run.member(m.key) for m in run.searched)):
        assert member.values["latency"] > 0
        assert member.values["memory"] > 0
        assert member.gain.speedup == run.whole["latency"] / member.values["latency"]
        assert not member.gain.predicted


def test_others_are_predicted_from_those_that_were(run: PruneRun) -> None:
    others = [m for m in run.front.pool if "latency" not in m.values]
    assert others
    for member in others[:3]:
        assert member.gain.predicted
        assert "(predicted)" in str(member.gain)


def test_a_run_that_is_open_while_it_is_measured_predicts_from_what_it_has_then(
    run: PruneRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured, architecture = run.measured, run.front[0].architecture
    with monkeypatch.context() as before:
        before.setattr(PruneRun, "measured", {})
        assert run.predict(architecture) == {}
    monkeypatch.setattr(PruneRun, "measured", measured)
    assert run.predict(architecture).keys() == {"latency", "memory"}


def test_the_fit_finds_what_linear_networks_cost() -> None:
    """Numbers made from known costs of parts give these costs back; of two networks nothing is said."""
    shape = Shape(4, 8, 64)

    def cost(architecture: Architecture) -> float:
        layers = Medium(shape).plan(architecture).layers
        heads, units = [p.heads.count for p in layers if p.heads.count], [p.units.count for p in layers if p.units.count]
        return 5 + 2 * len(heads) + len(units) + 0.3 * sum(heads) + 0.01 * sum(units)

    *some, other = Medium(shape).sample_many(13, generator(0))
    whole = Medium(shape).largest()
    measured = {a.key: {"latency": cost(a)} for a in some} | {"unpruned": {"latency": cost(whole), "memory": 7.0}}
    found = Prediction(shape, {a.key: a for a in some}, measured).of(other)
    assert found == {"latency": pytest.approx(cost(other))}
    two = dict(list(measured.items())[-2:])
    assert Prediction(shape, {a.key: a for a in some}, two).of(other) == {}


def test_polished_and_unpolished_compete_by_their_own_scores(run: PruneRun) -> None:
    """A polished network that is smaller and better than an unpolished one is what every way to choose gives."""
    shared = [m for m in run.searched.pool if m.weights == "shared"]
    big, small = sorted(shared, key=lambda m: -m.values["body_parameters"])[:2]
    assert small.values["body_parameters"] < big.values["body_parameters"]
    better = Trial(None, small.architecture, values={**small.trial.values, "error": 0.0}, origin=POLISH)
    members = [PruneMember(big.trial, run), PruneMember(small.trial, run, {"error": 0.9}, better)]
    found = Front(members, run.objectives, run.unpruned, whole=run.whole)
    assert [m.key for m in found] == [small.key]
    best = found.best(under={"body_parameters": "100%"})
    assert (best.key, best.weights, best.values["error"], best.test) == (small.key, "polished", 0.0, None)
    worse = Trial(None, small.architecture, values={"error": 1.0}, origin=POLISH)
    kept = PruneMember(small.trial, run, {"error": 0.9}, worse)
    assert (kept.weights, kept.values["error"], kept.test) == ("shared", small.trial.values["error"], {"error": 0.9})


def test_report_export_front_and_api_choose_alike(run: PruneRun, pruned: Path, tmp_path: Path) -> None:
    cards = PruneReport(run).data().cards
    assert cards
    for card in cards:
        bound = f"{100 * card['limit']:g}%"
        best = run.front.best(under={"body_parameters": bound})
        assert card["key"] == best.key
        assert [m.key for m in front(pruned, under=[f"body_parameters={bound}"]).members] == [best.key]
    exported = export(pruned, under=[f"body_parameters={bound}"], to=tmp_path / "chosen")
    card_text = (exported.folder / "README.md").read_text()
    assert f"**{best.gain}**" in card_text
    assert f"{1 - best.test['error']:.4f}" in card_text  # the test score of the weights that were written
    assert ("fine-tuned further after" in card_text) == (best.weights == "polished")
    assert "| latency of a pass | " in card_text
    assert f"{run.measured_on}." in card_text
    assert f"{run.chance_score:.4f} on validation data" in card_text
    written = "".join(f.read_text() for f in exported.folder.iterdir() if f.suffix in (".md", ".json", ".py"))
    assert not [path for path in (run.configuration.model, run.configuration.data) if str(Path(path).parent) in written]


@pytest.mark.parametrize("bound", ["latency=1s", "speedup=0.001x", "memory=100%", "latency=1000%", "macs=100%"])
def test_bounds_on_what_was_no_objective(run: PruneRun, bound: str) -> None:
    (found,) = front(run.folder, under=[bound]).members
    name = bound.split("=")[0].replace("speedup", "latency")
    assert found.values["error"] == min(m.values["error"] for m in run.front.pool if name in m.values)


def test_what_a_speedup_costs(run: PruneRun) -> None:
    fastest = max(m.gain.speedup for m in run.front if m.gain.speedup)
    answer = front(run.folder, faster=f"{fastest * 0.999:.6f}x")
    assert re.match(r"[\d.]+ × faster costs (nothing|[\d.]+ points): ", str(answer))
    assert answer.member.key[:8] in str(answer)
    with pytest.raises(BoundError, match=r"`speedup` ≥ 1000x. The nearest has latency"):
        front(run.folder, faster="1000x")
    with pytest.raises(ConfigurationError, match="either --for or --under"):
        front(run.folder, faster="2x", under=["latency=1s"])


def test_a_speedup_is_a_bound_wherever_bounds_are(
    run: PruneRun, designed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = 0.999 * sorted(m.gain.speedup for m in run.front if m.gain.speedup)[-2]
    able = [m for m in run.front.pool if "latency" in m.values and run.whole["latency"] / m.values["latency"] >= times]
    best = min(able, key=lambda m: (m.values["error"], m.values["body_parameters"]))
    assert [m.key for m in front(run.folder, under=[f"speedup={times:.6f}x"]).members] == [best.key]
    exported = export(run.folder, under=[f"speedup={times:.6f}"], to=tmp_path / "chosen")
    assert f"**{best.gain}**" in (exported.folder / "README.md").read_text()
    # `secateur train` chooses so, against the published network.
    monkeypatch.setattr(DesignRun, "whole", property(lambda _: {"latency": 1.0}))
    other = open_run(designed)
    fastest = min(other.front, key=lambda m: m.values["latency"])
    times = 0.999 / fastest.values["latency"]
    assert other.choose(None, [f"speedup={times:.6f}×"], "train", "").key == fastest.key


class TestChance:
    def test_it_is_in_the_run_and_on_its_page(self, run: PruneRun) -> None:
        assert run.chance is not None
        assert run.chance_score == pytest.approx(run.chance["validation"]["accuracy"])
        assert f"chance {run.chance_score:.4f}" in (run.folder / "report.html").read_text()

    def test_a_network_that_learned_nothing_is_said_loudly(self, run: PruneRun, monkeypatch: pytest.MonkeyPatch) -> None:
        always = {"validation": {"error": 0.0}, "test": {"error": 0.0}}
        monkeypatch.setattr(PruneRun, "chance", property(lambda _: always))
        assert run.doubt is not None
        assert "has learned nothing" in run.doubt
        assert PruneReport(run).lead() == run.doubt
        assert run.headline is None

    def test_what_is_no_better_is_marked_and_warned_of(
        self, run: PruneRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        worst = max(run.front, key=lambda m: m.values["error"])
        level = {"error": worst.values["error"]}
        monkeypatch.setattr(PruneRun, "chance", property(lambda _: {"validation": level, "test": level}))
        assert not worst.above_chance
        assert run.headline is None or run.headline.key != worst.key
        table, title, _ = PruneReport(run).table(list(run.front), wide=False)
        assert "? = no better" in title
        assert [r["key"] for r in table.rows if r["key"].startswith(worst.key[:8])] == [f"{worst.key[:8]}?"]
        exported = worst.save(tmp_path / "poor", polished=False)
        if worst.weights == "shared":
            assert "No better than chance" in exported.warning
            assert exported.warning in (tmp_path / "poor" / "README.md").read_text()


def test_numbers_for_machines(run: PruneRun) -> None:
    found = next(iter(run.front)).gain.as_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["unpruned_latency"] == run.whole["latency"]
