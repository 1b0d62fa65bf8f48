"""Whole runs of the block zoo on toys: trials are what their blocks say, a stopped run ends the same, polishing too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import secateur
from secateur.errors import ConfigurationError, Stopped
from secateur.estimators.layer_zoo import error, zoo
from secateur.estimators.layer_zoo.features import drawn_batches
from secateur.estimators.layer_zoo.zoo import LayerZoo
from secateur.estimators.own_weights import WEIGHTS
from secateur.estimators.shared_weights import score
from secateur.methods import ordered_first
from secateur.methods.block_zoo import BlockZoo
from secateur.runs.prune import stages
from secateur.study import Journal
from secateur.supernet import Order, Supernet, reorder
from secateur.supernet.order import ORDER
from secateur.testing.models import toy_model
from secateur.testing.toy_tokenizer import toy_tokenizer
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")

QUICK: dict[str, Any] = {"method": "block-zoo", "zoo_batches": 3, "trials": 4, "polish": False, "formats": False}


@pytest.fixture(scope="module")
def run(quick_prune: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A finished run: to be read only."""
    return quick_prune(tmp_path_factory.mktemp("zoo") / "run", **QUICK)


def story(run: Any) -> list[Any]:
    return [(t.id, t.key, t.values["error"]) for t in run.trials]


def teacher_of(run: Any) -> Supernet:
    """The fine-tuned network in the order of importance, as the search had it."""
    from safetensors.numpy import load_file

    supernet = Supernet(secateur.load(run.folder / "supernet"))
    reorder(supernet, Order.from_arrays(load_file(run.folder / "supernet" / ORDER)))
    return supernet


def test_a_trial_is_what_its_blocks_say(run: Any, tmp_path: Path) -> None:
    assert [row.name for row in Journal(run.store).rows()] == ["fine-tune", "order", "search", "measure", "report"]
    data = run.configuration.task_data(run.tokenizer)
    again = LayerZoo(teacher_of(run), drawn_batches(data, 3, run.configuration.seed), tmp_path)
    for trial in run.trials:
        found = score(again.network(run.plan(trial.architecture)), data.task, data.batches("validation", 64))
        assert found["error"] == pytest.approx(trial.values["error"], abs=1e-9)


def test_the_front_keeps_its_weights_and_nothing_else_is_left(run: Any, tmp_path: Path) -> None:
    kept = {path.parent.name for path in (run.folder / "supernet" / "trials").glob(f"*/{WEIGHTS}")}
    assert kept == {member.key for member in run.front}
    assert not list(run.folder.rglob("zoo"))
    member = run.front[-1]
    assert member.weights == "own"
    member.save(tmp_path / "saved")
    tokens = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        expected = run.network(run.supernet, member.trial)(input_ids=tokens).logits
        torch.testing.assert_close(secateur.load(tmp_path / "saved")(input_ids=tokens).logits, expected)


@pytest.mark.parametrize("moment", ["fine-tune", "order", "block", "written", "assembled"])
def test_stopped_it_ends_the_same(
    run: Any, quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupt: Any, moment: str
) -> None:
    places: dict[str, tuple[Any, ...]] = {
        "fine-tune": (BlockZoo, "fine_tune", 1),
        "order": (ordered_first, "order_by_importance", 1),
        "block": (zoo, "distil", 3),
        "written": (zoo, "save_file", 2),
        "assembled": (error, "save_weights", 2),
    }
    interrupt(*places[moment])
    with pytest.raises(Stopped):
        quick_prune(tmp_path / "run", **QUICK)
    monkeypatch.undo()
    assert story(resume(tmp_path / "run", progress=False)) == story(run)


def test_blocks_of_a_stopped_run_are_not_made_again(
    quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupt: Any
) -> None:
    interrupt(error, "save_weights", 3)
    with pytest.raises(Stopped):
        quick_prune(tmp_path / "run", **QUICK)
    monkeypatch.undo()
    before = {path.stem for path in (tmp_path / "run" / "supernet" / "training" / "zoo").rglob("*.safetensors")}
    assert before
    made: list[str] = []
    real = zoo.distil
    monkeypatch.setattr(zoo, "distil", lambda layer, block, *more: made.append(block.key) or real(layer, block, *more))
    resume(tmp_path / "run", progress=False)
    assert not before & set(made)


@pytest.mark.parametrize("space", ["medium", "layer", "large"])
def test_in_other_spaces(quick_prune: Any, tmp_path: Path, space: str) -> None:
    run = quick_prune(tmp_path / "run", **{**QUICK, "space": space, "measure": False})
    assert {t.status for t in run.trials} == {"complete"}


@pytest.mark.parametrize(("family", "kind"), [("gpt2", "causal"), ("llama", "classification")])
def test_decoders(quick_prune: Any, data_file: Path, tmp_path: Path, family: str, kind: str) -> None:
    words = [line.split(",")[0] for line in data_file.read_text().splitlines()[1:]]
    toy_model(family, kind).save_pretrained(tmp_path / "model")
    toy_tokenizer(words, max_length=32).save_pretrained(tmp_path / "model")
    changes: dict[str, Any] = {**QUICK, "model": str(tmp_path / "model"), "measure": False}
    if kind == "causal":
        (tmp_path / "text.txt").write_text("\n".join(words * 6))
        changes |= {"data": str(tmp_path / "text.txt"), "kind": "language_modelling", "text": None, "label": None}
    run = quick_prune(tmp_path / "run", **changes)
    assert {t.status for t in run.trials} == {"complete"}


def test_polishing_begins_with_the_zoos_layers(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After weight sharing: each slice is distilled, and no other training begins with a slice itself."""
    begun: list[tuple[Any, Any]] = []
    real = stages.FineTuned.__init__

    def spy(self: Any, build: Any, *given: Any, **more: Any) -> None:
        def built(architecture: Any) -> Any:
            network = build(architecture)
            begun.append((architecture, {n: v.clone() for n, v in network.state_dict().items()}))
            return network

        real(self, built, *given, **more)

    monkeypatch.setattr(stages.FineTuned, "__init__", spy)
    given: dict[str, Any] = {"polish_at": ["50%"], "candidates": 1, "polish_epochs": 1.0, "formats": False, "measure": False}
    run = quick_prune(tmp_path / "run", **given, polish=True, polish_zoo=3)
    assert len(run.polished) == 1
    data = run.configuration.task_data(run.tokenizer)
    again = LayerZoo(run.supernet, drawn_batches(data, 3, run.configuration.seed), tmp_path / "zoo")
    assert begun
    architecture, weights = begun[0]
    expected = again.network(run.plan(architecture)).state_dict()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    sliced = run.supernet.extract(run.plan(architecture)).state_dict()
    assert any(not torch.equal(weights[name], sliced[name]) for name in sliced)
    assert not list(run.folder.rglob("zoo"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"zoo_batches": 5}, r"`zoo_batches`.*block-zoo"),
        ({"method": "block-zoo", "zoo_batches": 0}, "`zoo_batches` must"),
        ({"method": "block-zoo", "polish_zoo": 3, "polish": True}, "`polish_zoo` cannot be set.*weights of its own"),
        ({"polish_zoo": 3, "polish": False}, "`polish_zoo` cannot be set: nothing is polished"),
        ({"method": "block-zoo", "searcher": "mo-asha"}, "needs a method whose candidates are trained"),
    ],
)
def test_what_means_nothing_is_refused(quick_prune: Any, tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        quick_prune(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()
