"""Whole runs of Fisher pruning on toys: shares are kept to, a stopped run ends the same, an export is what was tuned."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import secateur
from secateur.errors import Stopped
from secateur.estimators.shared_weights import score
from secateur.methods.fisher import error, method
from secateur.methods.fisher.information import block, diagonal
from secateur.methods.fisher.method import GRADIENTS, SHARES, Fisher
from secateur.methods.fisher.rearrange import rearranged
from secateur.methods.fisher.search import search_masks
from secateur.methods.prices import Prices
from secateur.spaces.pruning import Large, Plan
from secateur.supernet import Supernet
from secateur.testing.models import toy_model
from secateur.testing.toy_tokenizer import toy_tokenizer
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")

QUICK: dict[str, Any] = {"method": "fisher", "trials": 20, "polish": False}


@pytest.fixture(scope="module")
def run(quick_prune: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A finished run: to be read only."""
    return quick_prune(tmp_path_factory.mktemp("fisher") / "run", **QUICK)


def story(run: Any) -> list[Any]:
    return [(t.id, t.key, t.values) for t in run.trials]


def test_each_share_is_kept_to_and_used_up(run: Any) -> None:
    """Of the layers' operations: what is left of a share does not pay for another unit."""
    (counts, *_) = run.supernet.counts
    per_unit = counts.macs(0, 1, 1, 16)
    whole = run.supernet.macs(run.supernet.whole, 1, 16) - run.supernet.macs(Plan.of([]), 1, 16)
    spent = [
        sum(counts.macs(p.heads.count, p.units.count, 1, 16) for p in run.space.plan(t.architecture).layers) for t in run.trials
    ]
    assert len(spent) == len(SHARES)
    for share, operations in zip(SHARES, spent, strict=True):
        assert share * whole - per_unit < operations <= share * whole * (1 + 1e-9)


def test_what_only_the_search_needs_is_gone(run: Any) -> None:
    assert not (run.folder / "supernet" / GRADIENTS).exists()


def test_tuned_weights_are_scored_and_not_the_sliced_ones(run: Any) -> None:
    data = run.configuration.task_data(run.tokenizer)
    batches = list(data.batches("validation", 64))
    for member in run.front:
        network = run.network(run.supernet, member.trial)
        assert score(network, data.task, batches)["error"] == pytest.approx(member.trial.values["error"])
    sliced = run.supernet.extract(run.front[-1].plan)
    tuned = run.network(run.supernet, run.front[-1].trial)
    assert any(not torch.equal(a, b) for a, b in zip(sliced.parameters(), tuned.parameters(), strict=True))


@pytest.mark.parametrize("moment", ["fine-tune", "information", "candidates", "trial"])
def test_stopped_it_ends_the_same(
    run: Any, quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupt: Any, moment: str
) -> None:
    """At the start of each stage, and in the third trial after its weights were written."""
    places = {
        "fine-tune": (Fisher, "fine_tune", 1),
        "information": (method, "mask_gradients", 1),
        "candidates": (method, "search_masks", 4),
        "trial": (error, "save_weights", 3),
    }
    interrupt(*places[moment], after=moment == "trial")
    with pytest.raises(Stopped):
        quick_prune(tmp_path / "run", **QUICK)
    monkeypatch.undo()
    assert story(resume(tmp_path / "run", progress=False)) == story(run)


def test_polishing_goes_on_from_tuned_weights(quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", **{**QUICK, "polish": True}, polish_at=["50%"])
    assert len(run.polished) == 1
    assert {m.weights for m in run.front} <= {"own", "polished"}


def test_by_latency(quick_prune: Any, tmp_path: Path) -> None:
    """Shares are then of what the latency model says that the layers take."""
    run = quick_prune(tmp_path / "run", **QUICK, objectives=["error", "latency"], fit_seconds=3.0)
    costs = run.latency_model["coefficients"]
    prices = Prices(costs["heads"], costs["units"], costs["attention"], costs["feed_forward"])
    spent = []
    for trial in run.trials:
        kept = [(p.heads.count, p.units.count) for p in run.space.plan(trial.architecture).layers]
        spent.append(sum(h * prices.head + u * prices.unit for h, u in kept))
        spent[-1] += sum((h > 0) * prices.attention + (u > 0) * prices.feed_forward for h, u in kept)
    budgets = [share * prices.whole(run.supernet.shape) for share in SHARES]
    assert spent
    for latency in spent:  # equal masks are one trial, and none is where nothing is affordable
        assert any(latency <= budget * (1 + 1e-9) for budget in budgets)


def test_candidates_are_rearranged_and_empty_ones_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices are whole sub-layers' alone: a tenth of six affords none of them."""
    supernet = Supernet(toy_model("bert"))
    rng = np.random.default_rng(0)
    gradients = {by: rng.standard_normal((9, 3, n)).astype(np.float32) for by, n in (("heads", 4), ("units", 12))}
    method.save_file(gradients, tmp_path / GRADIENTS)
    settings = SimpleNamespace(polish=False)
    bench: Any = SimpleNamespace(
        c=settings, supernet=supernet, space=Large(supernet.shape), networks=tmp_path, latency_model=None
    )
    found = Fisher(bench)
    monkeypatch.setattr(method, "by_operations", lambda _: Prices(0.0, 0.0, 1.0, 1.0))
    plans = [found.bench.space.plan(a) for a in found.candidates()]
    assert [sum((p.heads.count > 0) + (p.units.count > 0) for p in plan.layers) for plan in plans] == [1, 1, 2, 3, 3, 4, 4, 5]
    monkeypatch.setattr(method, "by_operations", lambda _: Prices(1.0, 1.0))
    kept = np.zeros((3, 12), bool)
    for p in found.bench.space.plan(found.candidates()[4]).layers:
        kept[p.index, p.units.indices()] = True
    heads, units = (diagonal(gradients[by]) for by in ("heads", "units"))
    before = search_masks(heads, units, Prices(1.0, 1.0), 24)[1]
    assert (kept == [rearranged(mask, block(gradients["units"][:, i])) for i, mask in enumerate(before)]).all()
    assert (kept != before).any()


@pytest.mark.parametrize("name", ["fisher", "head-pruning"])
@pytest.mark.parametrize(("family", "kind"), [("gpt2", "causal"), ("llama", "classification")])
def test_decoders(quick_prune: Any, data_file: Path, tmp_path: Path, family: str, kind: str, name: str) -> None:
    words = [line.split(",")[0] for line in data_file.read_text().splitlines()[1:]]
    toy_model(family, kind).save_pretrained(tmp_path / "model")
    toy_tokenizer(words, max_length=32).save_pretrained(tmp_path / "model")
    changes: dict[str, Any] = {**QUICK, "model": str(tmp_path / "model"), "method": name}
    if kind == "causal":
        (tmp_path / "text.txt").write_text("\n".join(words * 6))
        changes |= {"data": str(tmp_path / "text.txt"), "kind": "language_modelling", "text": None, "label": None}
    run = quick_prune(tmp_path / "run", **changes)
    assert [t.status for t in run.trials] == ["complete"] * 9
    member = run.front[-1]
    member.save(tmp_path / "pruned")
    tokens = torch.tensor([[2, 5, 6, 3]])
    with torch.no_grad():
        expected = run.network(run.supernet, member.trial).eval()(tokens).logits
        torch.testing.assert_close(secateur.load(tmp_path / "pruned")(tokens).logits, expected)


def test_each_size_to_be_polished_has_a_network_that_uses_it_up(quick_prune: Any, tmp_path: Path) -> None:
    """At most one head or unit is missing to it."""
    run = quick_prune(tmp_path / "run", **{**QUICK, "polish": True}, polish_at=["40%", "75%"], polish_epochs=0.1, candidates=1)
    (counts, *_) = run.supernet.counts
    whole = run.supernet.body_parameters(run.supernet.whole)
    sizes = [t.values["body_parameters"] for t in run.trials[len(SHARES) :][:2]]
    for share, size in zip((0.4, 0.75), sizes, strict=True):
        assert share * whole - max(counts.per_head, counts.per_unit) < size <= share * whole
