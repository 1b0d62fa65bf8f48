"""All depths from one pass equal one pass each."""

from __future__ import annotations

import weakref

import pytest
import torch

from secateur.spaces.pruning import Plan
from secateur.supernet import Supernet, sweep, sweeping
from secateur.testing.models import DECODERS, ENCODERS, FAMILIES, toy_batch, toy_model

KINDS = [
    *((family, "classification") for family in FAMILIES),
    *((family, "causal") for family in DECODERS),
    *((family, "multiple_choice") for family in ENCODERS),
]


@pytest.mark.parametrize(("family", "kind"), KINDS)
@pytest.mark.parametrize(("heads", "units"), [(2, 5), (0, 5), (4, 0)])
@torch.no_grad()
def test_every_depth_equals_its_own_pass(family, kind, heads, units):
    supernet = Supernet(toy_model(family, kind))
    batch = toy_batch(supernet.model)
    whole = supernet.model(**batch).logits
    outputs = sweep(supernet, Plan.uniform(3, heads, units), range(3), batch)
    assert sorted(outputs) == [0, 1, 2, 3]
    for depth, output in outputs.items():
        with supernet.select(Plan.uniform(depth, heads, units)) as model:
            expected = model(**batch)
        assert torch.allclose(output.logits, expected.logits, atol=1e-6)
        assert torch.allclose(output.loss, expected.loss, atol=1e-6)
    assert torch.equal(supernet.model(**batch).logits, whole)
    assert supernet.model.config.num_hidden_layers == 3


@torch.no_grad()
def test_what_goes_to_the_head_is_the_hidden_state_of_that_depth():
    supernet = Supernet(toy_model("bert"))
    batch = toy_batch(supernet.model)
    states = supernet.model(**batch, output_hidden_states=True).hidden_states
    outputs = sweep(supernet, supernet.whole, [0, 1, 2], batch)
    for depth in range(4):
        pooled = supernet.model.bert.pooler(states[depth])
        assert torch.equal(outputs[depth].logits, supernet.model.classifier(pooled))


@torch.no_grad()
def test_mixed_layer_types():
    types = ["sliding_attention", "full_attention", "sliding_attention"]
    supernet = Supernet(toy_model("qwen3", "causal", layer_types=types, use_sliding_window=True, sliding_window=3))
    batch = toy_batch(supernet.model)
    for depth, output in sweep(supernet, supernet.whole, range(3), batch).items():
        with supernet.select(Plan.uniform(depth, 4, 12)) as model:
            assert torch.allclose(output.logits, model(**batch).logits, atol=1e-6)


@torch.no_grad()
def test_only_the_depths_asked_for_and_the_plans_own():
    supernet = Supernet(toy_model("bert"))
    batch = toy_batch(supernet.model)
    assert sorted(sweep(supernet, Plan.uniform(2, 1, 1), [1, 7], batch)) == [1, 2]
    assert sorted(sweep(supernet, Plan.of([]), [0], batch)) == [0]


@torch.no_grad()
def test_every_layer_runs_once():
    supernet = Supernet(toy_model("bert"))
    runs = []
    handles = [layer.register_forward_hook(lambda *a, i=i: runs.append(i)) for i, layer in enumerate(supernet.layers)]
    sweep(supernet, supernet.whole, range(3), toy_batch(supernet.model))
    assert runs == [0, 1, 2]
    for handle in handles:
        handle.remove()
    assert all(not layer._forward_pre_hooks for layer in supernet.layers)


def test_an_exception_restores_everything():
    supernet = Supernet(toy_model("bert"))
    with pytest.raises(IndexError):
        sweep(supernet, supernet.whole, range(3), {"input_ids": torch.tensor([[10_000]])})
    assert supernet.base.encoder.layer is supernet.layers
    assert all(not layer._forward_pre_hooks for layer in supernet.layers)


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_one_selection_serves_batches_of_any_length(family):
    supernet = Supernet(toy_model(family))
    long = {name: value for name, value in toy_batch(supernet.model).items() if name != "labels"}
    short = {name: value[:1, :4] for name, value in long.items()}
    plan = Plan.uniform(3, 2, 5)
    with sweeping(supernet, plan, [0, 2]) as run:
        found = [(batch, dict(run(batch))) for batch in (long, short, long)]
    for batch, outputs in found:
        for depth, output in outputs.items():
            with supernet.select(Plan.uniform(depth, 2, 5)) as model:
                assert torch.allclose(output.logits, model(**batch).logits, atol=1e-6)


@torch.no_grad()
def test_embeddings_run_once_for_all_depths():
    supernet = Supernet(toy_model("bert"))
    runs = []
    handle = supernet.model.bert.embeddings.word_embeddings.register_forward_hook(lambda *a: runs.append(1))
    sweep(supernet, supernet.whole, range(3), toy_batch(supernet.model))
    handle.remove()
    assert len(runs) == 1
    assert "forward" not in supernet.model.bert.embeddings.__dict__
    assert not supernet.model.bert.embeddings._forward_hooks


@torch.no_grad()
def test_an_embedding_that_serves_twice_is_not_confused():
    supernet = Supernet(toy_model("gpt2"))
    batch = dict(toy_batch(supernet.model))
    batch["token_type_ids"] = torch.ones_like(batch["input_ids"])  # GPT-2 looks them up in the table of words
    for depth, output in sweep(supernet, supernet.whole, range(3), batch).items():
        with supernet.select(Plan.uniform(depth, 4, 12)) as model:
            assert torch.allclose(output.logits, model(**batch).logits, atol=1e-6)


@torch.no_grad()
def test_outputs_come_one_at_a_time():
    """When the next is computed, the logits of the one before are gone."""
    supernet = Supernet(toy_model("gpt2", "causal"))
    batch = {name: value for name, value in toy_batch(supernet.model).items() if name != "labels"}
    seen, alive = [], []

    def note(module, args, output):
        alive.append(sum(reference() is not None for reference in seen))

    handle = supernet.model.lm_head.register_forward_hook(note)
    with sweeping(supernet, supernet.whole, range(3)) as run:
        depths = []
        for depth, output in run(batch):
            depths.append(depth)
            assert output.past_key_values is None
            seen.append(weakref.ref(output.logits))
            del output
    handle.remove()
    assert depths == [3, 0, 1, 2]
    assert alive == [0, 0, 0, 0]


@pytest.mark.parametrize("family", ["bert", "llama"])
@torch.no_grad()
def test_one_may_stop_at_any_depth(family):
    """Nothing is left swapped while outputs are out, nor by a generator that is dropped late or never finished."""
    supernet = Supernet(toy_model(family))
    batch = {name: value for name, value in toy_batch(supernet.model).items() if name != "labels"}
    other = {name: value[:1, :4] for name, value in batch.items()}
    before, plan = supernet.model(**batch).logits, Plan.uniform(3, 2, 5)
    with sweeping(supernet, plan, [0, 1]) as run:
        first = run(batch)
        next(first), next(first)
        assert len(supernet.base.get_submodule(supernet.anatomy.layers)) == 3
        found = dict(run(other))
        assert sorted(found) == [0, 1, 3]
        depth, output = next(first)
        unfinished = run(batch)
        next(unfinished)
    assert torch.equal(supernet.model(**batch).logits, before)
    del unfinished
    assert torch.equal(supernet.model(**batch).logits, before)
    results = [(batch, depth, output), *((other, d, o) for d, o in found.items())]
    for inputs, depth, output in results:
        with supernet.select(Plan.uniform(depth, 2, 5)) as model:
            assert torch.allclose(output.logits, model(**inputs).logits, atol=1e-6)
