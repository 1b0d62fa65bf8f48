"""Blocks, their distillation and their zoo, on toys of all families."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from secateur.errors import EvaluationFailure
from secateur.estimators.layer_zoo import zoo as module
from secateur.estimators.layer_zoo.blocks import Block, blocks_of
from secateur.estimators.layer_zoo.distilling import distil, squared_error
from secateur.estimators.layer_zoo.error import LayerZooError
from secateur.estimators.layer_zoo.features import Features, batches_digest, drawn_batches
from secateur.estimators.layer_zoo.zoo import LayerZoo
from secateur.spaces.pruning import Small
from secateur.spaces.pruning.plan import Kept, LayerPlan, Plan
from secateur.supernet import Supernet
from secateur.testing.models import FAMILIES, toy_batch, toy_model
from secateur.testing.toy_task import toy_task_data

LAYERS, HALF = 3, Plan.uniform(2, 2, 6)


def toy_zoo(folder: Path, family: str = "bert", kind: str = "classification", **settings: Any) -> LayerZoo:
    data = toy_task_data(kind if kind != "causal" else "language_modelling", examples=24)
    return LayerZoo(Supernet(toy_model(family, kind)), drawn_batches(data, 4, 0), folder, **{"learning_rate": 1e-2, **settings})


def total_error(zoo: LayerZoo, layer: Any, block: Block) -> float:
    with torch.no_grad():
        return sum(float(squared_error(layer, block, zoo.features, batch)) for batch in range(len(zoo.features)))


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_kept_layers_stand_for_the_dropped_ones() -> None:
    def kept(*places: int) -> Plan:
        return Plan.of([LayerPlan(place, Kept.first(1), Kept.first(1)) for place in places])

    def spans(plan: Plan) -> list[tuple[int, int, int]]:
        return [(block.layer.index, block.start, block.end) for block in blocks_of(plan, 6)]

    assert spans(kept(0, 1, 2, 3, 4, 5)) == [(i, i, i + 1) for i in range(6)]
    assert spans(kept(0, 1, 2)) == [(0, 0, 1), (1, 1, 2), (2, 2, 6)]
    assert spans(kept(2, 4)) == [(2, 0, 4), (4, 4, 6)]
    assert spans(kept(5)) == [(5, 0, 6)]
    assert spans(kept()) == []


def test_keys_are_of_what_is_kept_and_stood_for() -> None:
    layer = LayerPlan(1, Kept.first(2), Kept.first(6))
    several = [
        Block(layer, 1, 2),
        Block(layer, 1, 3),
        Block(layer, 0, 2),
        Block(LayerPlan(2, Kept.first(2), Kept.first(6)), 1, 2),
    ]
    several.append(Block(LayerPlan(1, Kept.chosen([0, 3]), Kept.first(6)), 1, 2))
    assert len({block.key for block in several}) == len(several)
    assert Block(LayerPlan(1, Kept.chosen([0, 1]), Kept.first(6)), 1, 2).key == several[0].key


@pytest.mark.parametrize("kind", ["classification", "regression", "multiple_choice", "causal"])
def test_features_are_hidden_states(kind: str) -> None:
    """Those that transformers gives, before the norm that decoders end with."""
    supernet = Supernet(toy_model("gpt2" if kind == "causal" else "bert", kind))
    batch = toy_batch(supernet.model)
    ((states, calls),) = Features.of(supernet, [batch]).passes
    given = {name: value for name, value in batch.items() if name != "labels"}
    with torch.no_grad():
        expected = supernet.model(**given, output_hidden_states=True).hidden_states
    assert len(states) == LAYERS + 1
    for one, other in zip(states[:-1], expected[:-1], strict=True):
        torch.testing.assert_close(one, other)
    if kind != "causal":
        torch.testing.assert_close(states[-1], expected[-1])
    assert calls.tokens.tolist() == batch["attention_mask"].flatten(0, -2).bool().tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_whole_block_is_the_teachers_layer(family: str, tmp_path: Path) -> None:
    zoo = toy_zoo(tmp_path, family)
    teacher = zoo.supernet
    for block, layer in zip(blocks_of(teacher.whole, LAYERS), teacher.layers, strict=True):
        assert block.is_whole(teacher.shape)
        assert equal(zoo.weights(block), layer.state_dict())
        student = zoo.slice(block)
        assert set(distil(student, block, zoo.features, 1e-2)) == {0.0}  # nothing to learn, and nothing is changed
        assert equal(student.state_dict(), layer.state_dict())
    inputs = {name: value for name, value in toy_batch(teacher.model).items() if name != "labels"}
    with torch.no_grad():
        assert torch.equal(zoo.network(teacher.whole)(**inputs).logits, teacher.model(**inputs).logits)


@pytest.mark.parametrize("family", FAMILIES)
def test_distillation_lowers_the_error_and_leaves_the_teacher(family: str, tmp_path: Path) -> None:
    zoo = toy_zoo(tmp_path, family)
    before = {name: value.clone() for name, value in zoo.supernet.model.state_dict().items()}
    network, first = zoo.network(HALF), blocks_of(HALF, LAYERS)
    layers = network.base_model.get_submodule(zoo.supernet.anatomy.layers)
    for block, layer in zip(first, layers, strict=True):
        assert total_error(zoo, layer, block) < 0.95 * total_error(zoo, zoo.slice(block), block)
    assert equal(before, zoo.supernet.model.state_dict())
    assert not network.training


def test_the_error_by_hand(tmp_path: Path) -> None:
    """Against the sub-network itself, run on the teacher's states: padding does not count."""
    zoo = toy_zoo(tmp_path)
    teacher, block = zoo.supernet, blocks_of(HALF, LAYERS)[1]
    batch = zoo.batches[0]
    given = {name: value for name, value in batch.items() if name != "labels"}
    with torch.no_grad():
        states = teacher.model(**given, output_hidden_states=True).hidden_states
        small = teacher.extract(HALF).bert.encoder.layer[1]
        mask = torch.where(batch["attention_mask"][:, None, None, :].bool(), 0.0, torch.finfo(torch.float32).min)
        output = small(states[1], mask)
        output = output[0] if isinstance(output, tuple) else output
        difference = (output - states[3]).numpy()[batch["attention_mask"].bool().numpy()]
        found = float(squared_error(zoo.slice(block), block, zoo.features, 0))
    assert not batch["attention_mask"].all()
    assert found == pytest.approx(float(np.mean(difference**2)), rel=1e-5)


def test_one_step_is_adams(tmp_path: Path) -> None:
    """At the first step Adam moves each weight by the learning rate, against its gradient's sign."""
    zoo = toy_zoo(tmp_path)
    block = blocks_of(HALF, LAYERS)[0]
    layer, slice_ = zoo.slice(block), zoo.slice(block)
    one = Features(zoo.features.passes[:1])
    squared_error(slice_, block, one, 0).backward()
    distil(layer, block, one, 1e-3)
    for moved, begun in zip(layer.parameters(), slice_.parameters(), strict=True):
        some = begun.grad.abs() > 1e-5
        torch.testing.assert_close((moved - begun)[some], -1e-3 * begun.grad.sign()[some], rtol=1e-2, atol=1e-6)


def test_blocks_are_kept_bit_by_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory, on disk, and made again: the same."""
    zoo = toy_zoo(tmp_path)
    block = blocks_of(HALF, LAYERS)[1]
    made = zoo.weights(block)
    assert zoo.weights(block) is made
    other = toy_zoo(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(module, "distil", lambda *_: pytest.fail("it is on disk"))
        assert equal(other.weights(block), made)
        sub = Plan.uniform(1, 2, 6)  # other blocks: what they stand for differs
        with pytest.raises(pytest.fail.Exception):
            other.network(sub)
    (file,) = zoo.folder.glob("*.safetensors")
    assert equal(load_file(file), made)
    file.write_bytes(b"damaged")
    assert equal(toy_zoo(tmp_path).weights(block), made)
    assert equal(load_file(file), made)
    assert equal(toy_zoo(tmp_path / "elsewhere").weights(block), made)


def test_what_changes_the_numbers_changes_the_fingerprint(tmp_path: Path) -> None:
    zoo = toy_zoo(tmp_path)
    several = [zoo, toy_zoo(tmp_path, "roberta"), toy_zoo(tmp_path, learning_rate=1e-3)]
    several.append(LayerZoo(zoo.supernet, zoo.batches[:2], tmp_path, learning_rate=1e-2))
    several.append(LayerZoo(zoo.supernet, zoo.batches[::-1], tmp_path, learning_rate=1e-2))
    assert len({one.fingerprint for one in several}) == len(several)
    assert toy_zoo(tmp_path).fingerprint == zoo.fingerprint
    assert batches_digest(zoo.batches) != batches_digest(zoo.batches[::-1])


def test_memory_and_disk_are_bounded(tmp_path: Path) -> None:
    zoo = toy_zoo(tmp_path, memory=1, disk=1)
    blocks = blocks_of(HALF, LAYERS)
    first = zoo.weights(blocks[0])
    zoo.weights(blocks[1])
    assert len(zoo._kept) == 1
    assert [path.stem for path in zoo.folder.glob("*.safetensors")] == [blocks[1].key]
    assert equal(zoo.weights(blocks[0]), first)


def test_batches_are_drawn_from_all_examples() -> None:
    data = toy_task_data(examples=24)
    batches = drawn_batches(data, 4, 0)
    assert [len(batch["labels"]) for batch in batches] == [6] * 4
    assert batches_digest(batches) == batches_digest(drawn_batches(data, 4, 0)) != batches_digest(drawn_batches(data, 4, 1))
    assert [len(batch["labels"]) for batch in drawn_batches(data, 100, 0)] == [1] * 24
    long = toy_task_data(examples=200, shortest=9, longest=9)
    assert [len(batch["labels"]) for batch in drawn_batches(long, 5, 0)] == [32] * 5


def test_long_texts_come_in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    from secateur.estimators.layer_zoo import features

    monkeypatch.setattr(features, "TOKENS", 200)
    data = toy_task_data(examples=100)
    batches = drawn_batches(data, 5, 0)
    assert len(batches) == 5
    assert sum(int(batch["attention_mask"].sum()) for batch in batches) <= 260


def test_what_diverges_is_a_failure(tmp_path: Path) -> None:
    zoo = toy_zoo(tmp_path, learning_rate=1e30)
    data = toy_task_data(examples=6)
    space = Small(zoo.supernet.shape)
    with pytest.raises(EvaluationFailure, match=r"distillation of layer 0 diverged at batch \d"):
        zoo.network(HALF)
    (found,) = LayerZooError(zoo, space, data).evaluate([space.make({"heads": 2, "units": 6, "layers": 2})])
    assert found.failure is not None
    assert not found.values
    assert not list(zoo.folder.glob("*")) if zoo.folder.is_dir() else True
