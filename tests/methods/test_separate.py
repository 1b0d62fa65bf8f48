"""Methods that train each candidate by itself: standard NAS, with and without early stops, layer dropping, one shot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import secateur
from secateur import catalogue
from secateur.cli import app
from secateur.errors import ConfigurationError, Stopped, StudyError
from secateur.estimators.own_weights import WEIGHTS
from secateur.study import Journal
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")

QUICK: dict[str, Any] = {"epochs": 2.0, "trial_epochs": 2.0, "polish": False, "formats": False}
TOKENS = torch.tensor([[2, 5, 6, 3]])


def kept(run: Any) -> set[str]:
    return {path.parent.name for path in (run.folder / "supernet" / "trials").glob(f"*/{WEIGHTS}")}


@pytest.mark.parametrize(
    ("changes", "stages"),
    [
        ({"method": "standard", "trials": 4}, ["fine-tune"]),
        ({"method": "standard", "searcher": "mo-asha", "trials": 9, "r_min": 0.5}, ["fine-tune"]),
        ({"method": "standard", "searcher": "hyperband", "trials": 9, "r_min": 0.5, "eta": 2}, ["fine-tune"]),
        ({"method": "standard", "stop_early": "last:0.25/0.5", "trials": 24}, ["fine-tune"]),
        ({"method": "layer-drop"}, ["fine-tune"]),
        ({"method": "fisher", "trial_epochs": None}, ["fine-tune", "information"]),
        ({"method": "one-shot", "polish_at": ["30%", "60%"], "candidates": 2}, ["fine-tune", "order"]),
    ],
    ids=["standard", "mo-asha", "hyperband", "stop-early", "layer-drop", "fisher", "one-shot"],
)
def test_a_whole_run(quick_prune: Any, tmp_path: Path, changes: dict[str, Any], stages: list[str]) -> None:
    """The stages are the method's, then those of every run; an exported member gives the logits that the search scored."""
    run = quick_prune(tmp_path / "run", **{**QUICK, **changes})
    assert [row.name for row in Journal(run.store).rows()] == [*stages, "search", "measure", "report"]
    assert {t.status for t in run.trials} == {"complete"}
    assert kept(run) == {m.key for m in (run.front.pool if "trials" not in changes else run.front)}
    assert not list(run.folder.rglob("training"))
    member = run.front[-1]
    assert member.weights == "own"
    member.save(tmp_path / "pruned")
    loaded = secateur.load(tmp_path / "pruned")
    expected = run.network(run.supernet, member.trial)
    with torch.no_grad():
        torch.testing.assert_close(loaded(TOKENS).logits, expected(TOKENS).logits)
    batches = run.configuration.task_data(run.tokenizer)
    from secateur.estimators.shared_weights import score

    assert score(loaded, batches.task, batches.batches("validation", 64))["error"] == pytest.approx(member.values["error"])
    assert score(loaded, batches.task, batches.batches("test", 64)) == pytest.approx(member.test)


def test_rungs_are_climbed_and_continued(quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", method="standard", searcher="mo-asha", trials=9, r_min=0.5, eta=2, **QUICK)
    by_id = {t.id: t for t in run.trials}
    budgets = [t.budget for t in run.trials]
    assert set(budgets) == {0.5, 1.0, 2.0}
    for trial in run.trials:
        assert (trial.continues is None) == (trial.budget == 0.5)
        if trial.continues is not None:
            before = by_id[trial.continues]
            assert (before.key, 2 * before.budget) == (trial.key, trial.budget)
    assert all(m.trial.budget == 2.0 for m in run.front)


def test_a_candidate_that_goes_on_ends_as_one_that_never_stopped(quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", method="standard", searcher="mo-asha", trials=9, r_min=0.5, eta=2, **QUICK)
    whole = quick_prune(tmp_path / "whole", method="standard", searcher="random", trials=40, **QUICK)
    ends = {t.key: t.values["error"] for t in whole.trials}
    common = [t for t in run.trials if t.budget == 2.0 and t.key in ends]
    assert common
    assert all(t.values["error"] == pytest.approx(ends[t.key], abs=1e-6) for t in common)


def test_what_promises_little_stops_early(quick_prune: Any, tmp_path: Path) -> None:
    """Ten go on in any case; then it depends on what the extrapolator says of the first quarter."""
    given = {**QUICK, "method": "standard", "stop_early": "last:0.25/0.3", "trials": 40}
    run = quick_prune(tmp_path / "run", **given)
    first = [t for t in run.trials if t.continues is None]
    whole = {t.continues: t for t in run.trials if t.continues is not None}
    assert {t.budget for t in first} == {0.5}
    assert {t.budget for t in whole.values()} == {2.0}
    assert 10 <= len(whole) < len(first)
    for trial in first:
        assert [at for at, _ in trial.curve] == [0.125, 0.25, 0.375, 0.5]
        if trial.id in whole:
            ended = whole[trial.id]
            assert ended.curve[:4] == trial.curve
            assert ended.curve[4] == (2.0, {"error": ended.values["error"]})
    assert all(m.trial.budget == 2.0 for m in run.front)
    plain = quick_prune(tmp_path / "plain", **{**QUICK, "method": "standard", "trials": 15})
    ends = {t.key: t.values["error"] for t in plain.trials}
    common = [t for t in whole.values() if t.key in ends]
    assert common
    assert all(t.values["error"] == pytest.approx(ends[t.key], abs=1e-6) for t in common)


@pytest.mark.parametrize("searcher", ["random", "mo-asha", "successive-halving", "stop-early"])
def test_killed_after_each_trial_it_ends_the_same(
    quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, searcher: str
) -> None:
    """Stopped in the middle of every trial's training, and resumed each time."""
    options = {**QUICK, "method": "standard", "searcher": searcher, "trials": 5}
    options |= {"r_min": 0.5, "eta": 2} if searcher in ("mo-asha", "successive-halving") else {}
    options |= {"searcher": "random", "stop_early": "last:0.5"} if searcher == "stop-early" else {}
    whole = quick_prune(tmp_path / "whole", **options)
    from secateur.training import fine_tune

    done, step = [0], fine_tune.FineTuneTrainer.training_step

    def killed(self: Any, *given: Any, **more: Any) -> Any:
        done[0] += 1
        if done[0] % 4 == 0:
            raise KeyboardInterrupt
        return step(self, *given, **more)

    monkeypatch.setattr(fine_tune.FineTuneTrainer, "training_step", killed)
    run: Any = None
    for attempt in range(200):
        try:
            run = quick_prune(tmp_path / "run", **options) if attempt == 0 else resume(tmp_path / "run", progress=False)
            break
        except Stopped:
            continue
    assert run is not None
    assert done[0] > 8

    def story(found: Any) -> list[Any]:
        return [(t.id, t.key, t.budget, t.continues, t.values["error"]) for t in found.trials]

    assert story(run) == story(whole)


def test_seconds_are_those_of_all_stages(quick_prune: Any, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"took \d+ of the 0.01 `seconds`.*resume .* --seconds"):
        quick_prune(tmp_path / "run", method="standard", seconds=0.01, trials=None, **QUICK)
    run = resume(tmp_path / "run", seconds=20.0, progress=False)
    spent = sum(row.spent for row in Journal(run.store).rows() if row.name in ("fine-tune", "search"))
    assert 10 < spent < 40
    assert run.configuration.trials > 10**5
    assert sum(t.id is not None for t in run.trials) >= 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"searcher": "mo-asha"}, "needs a method whose candidates are trained"),
        ({"method": "standard", "searcher": "mo-asha", "r_min": 3.0, "trial_epochs": 2.0}, "`r_min` must be at most"),
        ({"method": "standard", "searcher": "mo-asha", "trials": 3}, "`trials` must be at least 4"),
        ({"stop_early": "svr"}, "`stop_early` needs a method whose candidates are trained"),
        ({"method": "standard", "searcher": "mo-asha", "stop_early": "svr"}, "`mo-asha` stops trainings early by itself"),
        ({"method": "standard", "stop_early": "svm"}, "unknown extrapolator `svm`"),
        ({"method": "standard", "stop_early": "svr:20"}, "must be an extrapolator, with shares or without"),
        ({"method": "layer-drop", "space": "small"}, "prunes in the space layer"),
        ({"method": "layer-drop", "searcher": "random"}, "`searcher` cannot be set"),
        ({"method": "one-shot", "space": "large"}, "prunes in the space small"),
    ],
)
def test_what_a_method_cannot_do_is_refused(quick_prune: Any, tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        quick_prune(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("method", ["layer-drop", "one-shot", "head-pruning", "fisher"])
def test_the_command_line_need_not_name_the_space(
    method: str, model_folder: Path, data_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("secateur.verbs.prune.start", lambda settings, *_: seen.append(settings))
    words = ["prune", "--model", str(model_folder), "--data", str(data_file), "--text", "review", "--label", "verdict"]
    CliRunner().invoke(app, [*words, "--method", method, "--to", str(tmp_path / "run")])
    assert [settings.space for settings in seen] == [catalogue.find("method", method).spaces[0]]


def test_a_preset_names_no_searcher_for_a_list(quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", method="layer-drop", preset="klein2024", measure=False, **QUICK)
    assert run.configuration.searcher is None


def test_a_network_that_paused_is_not_at_its_end(tmp_path: Path) -> None:
    """Its weights lie there, but no more than they; the end is reached by training anew."""
    from secateur.estimators.fine_tuned import ENDED, TRAINING, FineTuned
    from secateur.spaces.pruning import Small
    from secateur.supernet import Supernet
    from secateur.testing.models import toy_model
    from secateur.testing.toy_task import toy_task_data
    from secateur.training.settings import TrainingSettings
    from secateur.writing import discard

    supernet, data = Supernet(toy_model("bert")), toy_task_data(examples=20)
    space = Small(supernet.shape)
    settings = TrainingSettings(epochs=2, batch_size=8, learning_rate=1e-2)

    def trained(folder: Path) -> FineTuned:
        return FineTuned(lambda a: supernet.extract(space.plan(a)), data, settings, folder, identity="toy")

    architecture = space.largest()
    whole = trained(tmp_path / "whole").evaluate([architecture])[0]
    paused = trained(tmp_path / "paused")
    paused.evaluate([architecture], 0.5)
    folder = tmp_path / "paused" / architecture.key
    assert (folder / WEIGHTS).is_file()
    discard(folder / TRAINING)
    assert paused.evaluate([architecture], 2.0)[0].values == whole.values
    assert (folder / ENDED).is_file()
    again = paused.network(architecture)
    other = trained(tmp_path / "whole").network(architecture)
    assert all(torch.equal(a, b) for a, b in zip(again.state_dict().values(), other.state_dict().values(), strict=True))
