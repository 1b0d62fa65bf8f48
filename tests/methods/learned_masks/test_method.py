"""Whole runs of learned masks on toys: sizes are kept to, a stopped run ends the same, an export is what was trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import secateur
from secateur.errors import ConfigurationError, Stopped
from secateur.estimators.shared_weights import score
from secateur.methods.learned_masks import method
from secateur.methods.learned_masks.method import FOUND, IMPORTANCE, LearnedMasks
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
    rates = []

    def look(*args: Any, learning: Any, **kwargs: Any) -> None:
        rates.append(learning.rate)
        raise KeyboardInterrupt

    monkeypatch.setattr(method, "learn_masks", look)
    for number, given in enumerate(({}, {"mask_epochs": 4.0}, {"mask_learning_rate": 0.3})):
        with pytest.raises(Stopped):
            quick_prune(tmp_path / str(number), **{**QUICK, **given})
    assert rates == pytest.approx([2 * rates[1], rates[1], 0.3])
    assert rates[1] < 1.5


def test_by_a_price(quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", **QUICK, mask_budget="lagrangian", mask_learning_rate=0.02)
    whole = run.supernet.body_parameters(run.supernet.whole)
    for trial, level in zip(run.trials, (0.7, 0.5, 0.3), strict=True):
        assert trial.values["body_parameters"] <= level * whole


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


@pytest.mark.parametrize("objective", ["latency", "macs"])
def test_by_what_networks_take(quick_prune: Any, tmp_path: Path, objective: str) -> None:
    run = quick_prune(tmp_path / "run", **QUICK, objectives=["error", objective], fit_seconds=3.0)
    assert len(run.trials) >= 1
    if objective == "macs":
        (counts, *_) = run.supernet.counts
        whole = sum(counts.macs(run.supernet.shape.heads, run.supernet.shape.units, 1, 16) for _ in run.supernet.layers)
        for trial, level in zip(run.trials, (0.7, 0.5, 0.3), strict=True):
            kept = run.space.plan(trial.architecture).layers
            assert sum(counts.macs(p.heads.count, p.units.count, 1, 16) for p in kept) <= level * whole * (1 + 1e-9)


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
