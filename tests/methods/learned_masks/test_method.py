"""Whole runs of learned masks on toys: sizes are kept to, a stopped run ends the same, an export is what was trained."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

import secateur
from secateur.errors import ConfigurationError, Stopped, StudyError
from secateur.estimators.shared_weights import score
from secateur.methods.learned_masks import method, training
from secateur.methods.learned_masks.method import FOUND, IMPORTANCE, LearnedMasks
from secateur.methods.prices import Prices
from secateur.testing.models import toy_model
from secateur.testing.toy_tokenizer import toy_tokenizer
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")

LEVELS = ["30%", "70%", "50%"]
QUICK: dict[str, Any] = {"method": "learned-masks", "mask_epochs": 2.0, "polish": False, "polish_at": LEVELS}


@pytest.fixture(scope="module")
def run(quick_prune: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A finished run: to be read only."""
    return quick_prune(tmp_path_factory.mktemp("masks") / "run", **QUICK)


def story(run: Any) -> list[Any]:
    return [(t.id, t.key, t.values) for t in run.trials]


def test_one_network_for_each_size_the_largest_first(run: Any) -> None:
    whole = run.supernet.body_parameters(run.supernet.whole)
    sizes = [trial.values["body_parameters"] / whole for trial in run.trials]
    assert len(sizes) == len(LEVELS)
    for size, level in zip(sizes, (0.7, 0.5, 0.3), strict=True):
        assert size <= level
        assert size > level - 0.25  # what a step of the threshold takes away at once, and layers that are gone


def test_what_is_kept_of_the_training(run: Any) -> None:
    assert not (run.folder / "supernet" / IMPORTANCE).exists()
    assert len(json.loads((run.folder / "supernet" / FOUND).read_text())) == len(LEVELS)
    assert not list((run.folder / "supernet").glob("training/**/*.safetensors"))


def test_scores_are_those_of_the_weights_on_the_way(run: Any) -> None:
    data = run.configuration.task_data(run.tokenizer)
    batches = list(data.batches("validation", 64))
    for member in run.front:
        network = run.network(run.supernet, member.trial)
        assert score(network, data.task, batches)["error"] == pytest.approx(member.trial.values["error"])
        sliced = run.supernet.extract(member.plan)
        assert any(not torch.equal(a, b) for a, b in zip(sliced.parameters(), network.parameters(), strict=True))


def test_weights_may_wait(quick_prune: Any, tmp_path: Path) -> None:
    """As published: masks alone are trained, and what is kept is cut from the fine-tuned network."""
    run = quick_prune(tmp_path / "run", **QUICK, mask_weights=False)
    for trial in run.trials:
        sliced = run.supernet.extract(run.space.plan(trial.architecture))
        network = run.network(run.supernet, trial)
        assert all(torch.equal(a, b) for a, b in zip(sliced.parameters(), network.parameters(), strict=True))


def test_the_rate_of_masks_follows_the_steps(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates, steps = [], []

    def look(_supernet: Any, _scores: Any, _budgets: Any, data: Any, settings: Any, *_: Any, learning: Any, **__: Any) -> None:
        rates.append(learning.rate)
        steps.append(settings.total_steps(math.ceil(len(data.train) / settings.batch_size)))
        raise KeyboardInterrupt

    monkeypatch.setattr(method, "learn_masks", look)
    for number, given in enumerate(({}, {"mask_epochs": 4.0}, {"mask_learning_rate": 0.3})):
        with pytest.raises(Stopped):
            quick_prune(tmp_path / str(number), **{**QUICK, **given})
    assert steps[0] > 1
    assert steps[1] == 2 * steps[0]
    assert rates == pytest.approx([1.5 / steps[0], 1.5 / steps[1], 0.3])


def test_by_a_price(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes are kept to; and what is added to the loss moves scores, which a schedule does not ask for."""
    means: dict[str, list[float]] = {}
    original = training.kept

    def kept(scores: Any, *rest: Any) -> Any:
        means.setdefault(way, []).append(float(scores.units.detach().mean()))
        return original(scores, *rest)

    monkeypatch.setattr(training, "kept", kept)
    for way in ("lagrangian", "schedule"):
        run = quick_prune(tmp_path / way, **QUICK, mask_budget=way, mask_learning_rate=0.02)
        whole = run.supernet.body_parameters(run.supernet.whole)
        for trial, level in zip(run.trials, (0.7, 0.5, 0.3), strict=True):
            assert trial.values["body_parameters"] <= level * whole
    monkeypatch.setattr(training, "penalty", lambda scores, _beyond: 1e3 * scores.units.sum())
    for way, given in (("steep", "lagrangian"), ("unpriced", "schedule")):
        quick_prune(tmp_path / way, **QUICK, mask_budget=given, mask_learning_rate=0.02)
    assert means["unpriced"] == means["schedule"]
    assert means["lagrangian"][-1] < means["schedule"][-1]
    assert means["steep"][-1] < means["lagrangian"][-1]


@pytest.mark.parametrize("optimizer", ["adamw", "adafactor"])
def test_the_optimiser_is_the_one_asked_for(
    quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optimizer: str
) -> None:
    """Scores have their own rates, each parameter is in one group, and weights that wait have the rate 0."""
    made: list[Any] = []
    original = training.MaskTrainer.create_optimizer

    def create(self: Any, model: Any = None) -> Any:
        if self.optimizer is None:
            made.append((original(self, model), self))
        return self.optimizer

    monkeypatch.setattr(training.MaskTrainer, "create_optimizer", create)
    quick_prune(tmp_path / "run", **QUICK, optimizer=optimizer, mask_weights=False, mask_learning_rate=0.02)
    ((found, trainer),) = made
    assert type(getattr(found, "optimizer", found)).__name__ == {"adamw": "AdamW", "adafactor": "Adafactor"}[optimizer]
    *weights, plain, slow = found.param_groups
    assert [len(plain["params"]), len(slow["params"])] == [2, 2]
    assert [group["initial_lr"] for group in (plain, slow)] == pytest.approx([0.02, 0.002])
    assert [group["weight_decay"] for group in (plain, slow)] == [0.0, 0.0]
    assert {group["initial_lr"] for group in weights} == {0.0}
    every = [id(part) for group in found.param_groups for part in group["params"]]
    assert len(every) == len(set(every))
    assert {id(part) for part in trainer.model.parameters()} < set(every)  # the scores are no part of it any more


@pytest.mark.parametrize("moment", ["fine-tune", "importance", "masks", "kept", "trial"])
def test_stopped_it_ends_the_same(
    run: Any, quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupt: Any, moment: str
) -> None:
    places = {
        "fine-tune": (LearnedMasks, "fine_tune", 1),
        "importance": (method, "summed_diagonal", 1),
        "masks": (method, "learn_masks", 1),
        "kept": (method, "save_weights", 2),
        "trial": (method.OwnWeightsError, "_one", 2),
    }
    interrupt(*places[moment])
    with pytest.raises(Stopped):
        quick_prune(tmp_path / "run", **QUICK)
    monkeypatch.undo()
    assert story(resume(tmp_path / "run", progress=False)) == story(run)


def test_polished_and_exported(quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", **{**QUICK, "polish": True, "polish_at": ["50%"]})
    assert len(run.polished) == 1
    assert {m.weights for m in run.front} <= {"own", "polished"}
    member = run.front[-1]
    member.save(tmp_path / "saved", polished=False)
    again = secateur.load(tmp_path / "saved")
    network = run.network(run.supernet, member.trial)
    tokens = torch.tensor([[5, 6, 7]])
    assert torch.allclose(again(input_ids=tokens).logits, network(input_ids=tokens).logits, atol=1e-5)


@pytest.mark.parametrize("objectives", [["latency"], ["macs"], ["macs", "latency"]])
def test_by_what_networks_take(
    quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objectives: list[str]
) -> None:
    """One budget for the parameters and one for each of these; each network keeps to all."""
    seen: list[Any] = []
    learn = method.learn_masks

    def look(supernet: Any, scores: Any, budgets: Any, *rest: Any, **named: Any) -> Any:
        seen.extend(budgets)
        return learn(supernet, scores, budgets, *rest, **named)

    monkeypatch.setattr(method, "learn_masks", look)
    run = quick_prune(tmp_path / "run", **QUICK, objectives=["error", *objectives], fit_seconds=3.0)
    (counts, *_), shape = run.supernet.counts, run.supernet.shape
    _, *speeds = seen
    expected = []
    if "latency" in objectives:
        fitted = run.latency_model["coefficients"]
        expected.append((fitted["heads"], fitted["units"], fitted["attention"], fitted["feed_forward"]))
    if "macs" in objectives:
        expected.append((counts.macs(1, 0, 1, 16), counts.macs(0, 1, 1, 16), 0.0, 0.0))
    assert [tuple(budget.prices) for budget in speeds] == expected
    for budget in speeds:
        price = budget.prices
        whole = shape.layers * (price.attention + price.feed_forward + shape.heads * price.head + shape.units * price.unit)
        for trial, level in zip(run.trials, (0.7, 0.5, 0.3), strict=True):
            layers = run.space.plan(trial.architecture).layers
            heads, units = [p.heads.count for p in layers], [p.units.count for p in layers]
            spent = price.head * sum(heads) + price.unit * sum(units)
            spent += price.attention * sum(map(bool, heads)) + price.feed_forward * sum(map(bool, units))
            assert spent <= level * whole * (1 + 1e-6)


def test_a_size_below_what_a_threshold_can_leave(quick_prune: Any, tmp_path: Path) -> None:
    """With one step the scores of all layers are alike: above them there is nothing, below too much."""
    run = quick_prune(tmp_path / "run", **{**QUICK, "polish_at": ["10%", "5%"]})
    whole = run.supernet.body_parameters(run.supernet.whole)
    assert len(run.trials) == 2
    for trial, level in zip(run.trials, (0.1, 0.05), strict=True):
        assert 0 < trial.values["body_parameters"] <= level * whole


def test_sizes_that_nothing_fits_are_named(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By latency alone: it is not known before the run has begun."""
    dear = Prices(1.0, 1.0, 1e6, 1e6)
    monkeypatch.setattr(method, "by_operations", lambda _bench: dear)
    with pytest.raises(ConfigurationError, match=r"`polish_at=12%, 10%` affords no head and no unit within all objectives"):
        quick_prune(tmp_path / "run", **{**QUICK, "polish_at": ["10%", "12%"]}, objectives=["error", "macs"])
    run = quick_prune(tmp_path / "other", **{**QUICK, "polish_at": ["10%", "80%"]}, objectives=["error", "macs"])
    assert len(run.trials) == 1
    assert any("no network of 10%" in note for note in run.notes)


def test_a_lost_file_is_told_in_one_line(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "_read", lambda _file: [])
    with pytest.raises(StudyError, match=rf"{FOUND}` is lost or damaged: it must have an entry for each size"):
        quick_prune(tmp_path / "run", **QUICK)


def test_sizes_that_mean_nothing_are_refused_before_anything_is_trained(quick_prune: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"`polish_at=0.1%` affords no head and no unit"):
        quick_prune(tmp_path / "run", **{**QUICK, "polish_at": ["50%", "0.1%"]})
    assert not (tmp_path / "run" / "supernet" / "model.safetensors").exists()
    with pytest.raises(ConfigurationError, match="`polish_at` must name sizes"):
        quick_prune(tmp_path / "other", **{**QUICK, "polish_at": []})


def test_settings_of_other_methods(quick_prune: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"`mask_epochs`.*learned-masks"):
        quick_prune(tmp_path / "run", mask_epochs=3.0)
    with pytest.raises(ConfigurationError, match="unknown mask budget `luck`"):
        quick_prune(tmp_path / "run", **QUICK, mask_budget="luck")


@pytest.mark.parametrize(("family", "kind"), [("gpt2", "causal"), ("llama", "classification")])
def test_decoders(quick_prune: Any, data_file: Path, tmp_path: Path, family: str, kind: str) -> None:
    words = [line.split(",")[0] for line in data_file.read_text().splitlines()[1:]]
    toy_model(family, kind).save_pretrained(tmp_path / "model")
    toy_tokenizer(words, max_length=32).save_pretrained(tmp_path / "model")
    changes: dict[str, Any] = {**QUICK, "model": str(tmp_path / "model")}
    if kind == "causal":
        (tmp_path / "text.txt").write_text("\n".join(words * 6))
        changes |= {"data": str(tmp_path / "text.txt"), "kind": "language_modelling", "text": None, "label": None}
    run = quick_prune(tmp_path / "run", **changes)
    assert [t.status for t in run.trials] == ["complete"] * len(LEVELS)
