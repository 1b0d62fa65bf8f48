"""Low-rank additions: what a network with them computes, what is trained, and that merging them changes nothing."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from secateur.rng import generator
from secateur.spaces.pruning import Small
from secateur.supernet import Supernet
from secateur.testing.models import toy_model
from secateur.testing.toy_task import toy_task_data
from secateur.training.fine_tune import fine_tune
from secateur.training.lora import SCALE, LoraConv1D, LoraLinear, low_rank
from secateur.training.settings import TrainingSettings

SETTINGS = TrainingSettings(epochs=2, learning_rate=1e-2, batch_size=8, lora_rank=2, checkpoints=2, seed=3)


def additions(model):
    return {name: module for name, module in model.named_modules() if isinstance(module, LoraLinear | LoraConv1D)}


def shaken(model):
    """Give every addition something to add."""
    drawn = torch.Generator().manual_seed(1)
    for module in additions(model).values():
        with torch.no_grad():
            module.lora_b.uniform_(-0.3, 0.3, generator=drawn)


@pytest.mark.parametrize(("family", "head"), [("bert", "classifier"), ("gpt2", "causal"), ("llama", "causal")])
def test_merged_is_what_was_trained(family, head):
    """The outputs with additions are those of the network with W + s·B·A, which is what is left of it, names and all."""
    model = toy_model(family, *(() if head == "classifier" else (head,))).eval()
    ids = torch.randint(5, 40, (3, 7), generator=torch.Generator().manual_seed(0))
    plain, before, names = model(input_ids=ids).logits, copy.deepcopy(model.state_dict()), list(model.state_dict())
    with torch.no_grad(), low_rank(model, 2, seed=0):
        assert torch.equal(model(input_ids=ids).logits, plain)  # nothing is added at first
        shaken(model)
        moved, kept = (
            model(input_ids=ids).logits,
            {n: (m.lora_a.clone(), m.lora_b.clone()) for n, m in additions(model).items()},
        )
        assert not torch.allclose(moved, plain, atol=1e-3)
    assert torch.allclose(model(input_ids=ids).logits, moved, atol=1e-5)
    assert list(model.state_dict()) == names
    assert not additions(model)
    for name, (a, b) in kept.items():
        product = SCALE * (b @ a)
        wanted = before[f"{name}.weight"] + (product.T if family == "gpt2" else product)
        assert torch.allclose(model.get_submodule(name).weight, wanted, atol=1e-6), name


def test_slices_of_a_merged_network_are_slices_of_the_network():
    """select and extract agree on a network that was trained by additions, as on any other."""
    supernet = Supernet(toy_model("bert").eval())
    with low_rank(supernet.model, 2, seed=0):
        shaken(supernet.model)
    space = Small(supernet.shape)
    ids = torch.randint(5, 40, (3, 7), generator=torch.Generator().manual_seed(0))
    for draw in range(4):
        plan = space.plan(space.sample(generator(0, draw)))
        with torch.no_grad(), supernet.select(plan) as model:
            selected = model(input_ids=ids).logits
        assert torch.allclose(selected, supernet.extract(plan)(input_ids=ids).logits, atol=1e-5)


def test_matrices_and_embeddings_are_not_trained():
    model = toy_model("bert")
    with low_rank(model, 2, seed=0):
        trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
        body = [n for n, p in model.base_model.named_parameters(prefix="bert") if n in trained and p.dim() > 1]
        assert all(".lora_" in name for name in body)
        assert {name for name in trained if name.startswith("classifier")} == {"classifier.weight", "classifier.bias"}
        assert "bert.embeddings.LayerNorm.weight" in trained
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_what_raises_inside_leaves_the_network_as_it_was():
    model = toy_model("bert")
    before = copy.deepcopy(model.state_dict())

    def unlucky() -> None:
        with low_rank(model, 2, seed=0):
            shaken(model)
            raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        unlucky()
    assert all(torch.equal(model.state_dict()[name], weight) for name, weight in before.items())
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize("checkpointing", [False, True])
def test_a_paused_training_ends_as_one_that_never_paused(tmp_path: Path, checkpointing: bool):
    """Only the factors, biases, norms and the head have moved; each matrix has moved by a product of the rank."""
    data, settings = toy_task_data(examples=16), replace(SETTINGS, gradient_checkpointing=checkpointing)
    ends = []
    for pauses in ((None,), (1.0, None)):
        model = toy_model("bert")
        before = copy.deepcopy(model.state_dict())
        for until in pauses:
            fine_tune(model, data, settings, tmp_path / str(len(pauses)), until=until)
        ends.append(model.state_dict())
        name = "bert.encoder.layer.0.intermediate.dense.weight"
        assert torch.equal(ends[-1]["bert.embeddings.word_embeddings.weight"], before["bert.embeddings.word_embeddings.weight"])
        moved = ends[-1][name] - before[name]
        assert moved.abs().max() > 1e-3
        assert torch.linalg.matrix_rank(moved, atol=1e-5) == settings.lora_rank
        assert not torch.equal(ends[-1]["classifier.weight"], before["classifier.weight"])
    assert all(torch.allclose(ends[0][name], weight, atol=1e-6) for name, weight in ends[1].items())


def test_additions_are_those_of_peft():
    """Beside the reference implementation: the same factors, the same outputs, and the same merged weights."""
    peft = pytest.importorskip("peft")
    ours, theirs = toy_model("bert").eval(), toy_model("bert").eval()
    theirs.load_state_dict(ours.state_dict())
    adapted = peft.get_peft_model(
        theirs.bert, peft.LoraConfig(r=2, lora_alpha=int(2 * SCALE), target_modules=["query", "dense"])
    )
    ids = torch.randint(5, 40, (3, 7), generator=torch.Generator().manual_seed(0))
    with torch.no_grad(), low_rank(ours, 2, seed=0):
        shaken(ours)
        for name, module in additions(ours).items():
            there = adapted.base_model.model.get_submodule(name.removeprefix("bert."))
            if hasattr(there, "lora_A"):
                there.lora_A["default"].weight.copy_(module.lora_a)
                there.lora_B["default"].weight.copy_(module.lora_b)
            else:
                module.lora_b.zero_()
        moved = ours(input_ids=ids).logits
        assert torch.allclose(theirs(input_ids=ids).logits, moved, atol=1e-6)
    merged = dict(adapted.merge_and_unload().named_parameters())
    assert all(torch.allclose(merged[name], weight, atol=1e-6) for name, weight in ours.bert.named_parameters())
