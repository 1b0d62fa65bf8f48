"""Tuned factors are the best there are, folding is exact, and a factor that is too large ends the tuning."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import torch
from transformers.pytorch_utils import Conv1D

from secateur.methods.fisher import tune
from secateur.methods.fisher.fold import fold
from secateur.methods.fisher.tune import least_squares, tuned
from secateur.spaces.pruning import Plan
from secateur.spaces.pruning.plan import Kept, LayerPlan
from secateur.supernet import Supernet
from secateur.testing.models import FAMILIES, VISION, toy_batch, toy_model

#: Something of every layer, chosen at will.
SOME = Plan.of(
    [
        LayerPlan(0, Kept.chosen([1, 3]), Kept.chosen([0, 2, 3, 7, 11])),
        LayerPlan(1, Kept.chosen([0]), Kept.chosen([4, 5, 6])),
        LayerPlan(2, Kept.chosen([0, 1, 3]), Kept.chosen([1, 8, 9, 10])),
    ]
)
#: Where a layer's last projection and its residual are added up, by family: the module that reads the sum.
READS = {
    "bert": {"heads": "encoder.layer.1.attention.output.LayerNorm", "units": "encoder.layer.1.output.LayerNorm"},
    "distilbert": {"heads": "transformer.layer.1.sa_layer_norm", "units": "transformer.layer.1.output_layer_norm"},
    "gpt2": {"heads": "h.1.ln_2", "units": "h.2.ln_1"},
    "llama": {"heads": "layers.1.post_attention_layernorm", "units": "layers.2.input_layernorm"},
    "mpnet": {"heads": "encoder.layer.1.attention.LayerNorm", "units": "encoder.layer.1.output.LayerNorm"},
    "deberta-v2": {"heads": "encoder.layer.1.attention.output.LayerNorm", "units": "encoder.layer.1.output.LayerNorm"},
    "modernbert": {"heads": "layers.1.mlp_norm", "units": "layers.2.attn_norm"},
    "opt": {"heads": "decoder.layers.1.final_layer_norm", "units": "decoder.layers.2.self_attn_layer_norm"},
    # Side by side: nothing reads the sum of attention and residual alone.
    "gpt_neox": {"units": "layers.2.input_layernorm"},
    "phi": {"units": "layers.2.input_layernorm"},
    # The projection is normalised before it is added.
    "gemma2": {"heads": "layers.1.post_attention_layernorm", "units": "layers.1.post_feedforward_layernorm"},
}


def data(model, n=2):
    return [toy_batch(model, batch=4, seed=seed) for seed in range(n)]


def parts(projection, count):
    """The weight of a projection as (count, width of a part, model's width)."""
    weight = projection.weight if isinstance(projection, Conv1D) else projection.weight.T
    return weight.unflatten(0, (count, -1))


def sums(model, path, batches):
    """What a module reads, of all tokens that are no padding."""
    read = []
    handle = model.base_model.get_submodule(path).register_forward_pre_hook(lambda module, args: read.append(args[0]))
    for batch in batches:
        model(**batch)
    handle.remove()
    tokens = [batch["attention_mask"].bool() for batch in batches]
    # OPT's feed-forward reads (batch × length, width)
    return torch.cat([states.reshape(*kept.shape, -1)[kept] for states, kept in zip(read, tokens, strict=True)])


@pytest.mark.parametrize(("family", "by"), [(family, by) for family, modules in READS.items() for by in modules])
def test_no_other_factors_are_nearer_to_the_unpruned_network(family, by):
    """Around the factors of the second layer, what is minimised grows whichever of them is moved."""
    supernet = Supernet(toy_model(family).double())
    batches = data(supernet.model)
    network, factors = tuned(supernet, SOME, batches)
    path = READS[family][by]
    found = factors[1, by]
    projection = network.base_model.get_submodule(supernet.anatomy.layers)[1].get_submodule(supernet.anatomy.output(by).module)
    with torch.no_grad():
        aim = sums(supernet.model, path, batches)

        def lacking(moved):
            return float(((sums(network, path, batches) - aim) ** 2).sum() + ((moved - 1) ** 2).sum())

        least = lacking(found)
        for i in range(len(found)):
            for step in (0.05, -0.05):
                moved = found.copy()
                moved[i] += step
                weight = parts(projection, len(found))[i]
                kept = weight.clone()
                weight.mul_(moved[i] / found[i])
                assert lacking(moved) > least
                weight.copy_(kept)
    assert np.abs(found - 1).max() > 1e-3  # there was something to tune


@pytest.mark.parametrize("made", [torch.nn.Linear, lambda wide, out: Conv1D(out, wide)])
def test_factors_are_those_of_damped_least_squares(made):
    """Against the whole matrix: one column per part, and rows that damp."""
    torch.manual_seed(0)
    projection = made(6, 5).double()
    torch.nn.init.normal_(projection.weight)
    pairs = [(torch.randn(n, 6).double(), torch.randn(n, 5).double()) for n in (4, 3)]
    with torch.no_grad():
        found = least_squares(projection, 3, pairs)
        columns = []
        for i in range(3):
            outputs = [x.unflatten(-1, (3, 2))[:, i] @ parts(projection, 3)[i] for x, _ in pairs]
            columns.append(torch.cat(outputs).flatten().numpy())
    matrix = np.vstack([np.array(columns).T, np.eye(3)])
    right = np.concatenate([torch.cat([e for _, e in pairs]).flatten().numpy(), np.zeros(3)])
    np.testing.assert_allclose(found, 1 + np.linalg.lstsq(matrix, right, rcond=None)[0], rtol=1e-9)


@contextlib.contextmanager
def masks(supernet, plan, factors):
    """The unpruned network, what is pruned of it times 0, what is kept times its factor: by hooks, without a slice."""
    handles = []
    for p in plan.layers:
        for by, kept in (("heads", p.heads), ("units", p.units)):
            mask = torch.zeros(getattr(supernet.shape, by))
            mask[kept.indices()] = torch.from_numpy(factors[p.index, by]).float()
            projection = supernet.layers[p.index].get_submodule(supernet.anatomy.output(by).module)

            def hook(module, args, mask=mask):
                return (args[0] * mask.repeat_interleave(args[0].shape[-1] // len(mask)), *args[1:])

            handles.append(projection.register_forward_pre_hook(hook))
    yield supernet.model
    for handle in handles:
        handle.remove()


@pytest.mark.parametrize("family", [*FAMILIES, *VISION])
def test_the_folded_network_is_the_masked_one(family):
    supernet = Supernet(toy_model(family))
    batches = data(supernet.model)
    network, factors = tuned(supernet, SOME, batches)
    assert set(factors) == {(i, by) for i in range(3) for by in ("heads", "units")}
    with torch.no_grad(), masks(supernet, SOME, factors) as masked:
        expected = masked(**batches[0]).logits
    with torch.no_grad():
        torch.testing.assert_close(network(**batches[0]).logits, expected, rtol=1e-5, atol=1e-5)


def test_fold_scales_the_output_of_each_part():
    projection = torch.nn.Linear(6, 5)
    inputs, factors = torch.randn(4, 6), np.array([2.0, -0.5, 0.0])
    with torch.no_grad():
        expected = projection(inputs * torch.tensor([2.0, 2.0, -0.5, -0.5, 0.0, 0.0]))
        fold(projection, factors)
        torch.testing.assert_close(projection(inputs), expected)


@pytest.mark.parametrize(
    ("family", "kind"), [("bert", "multiple_choice"), ("qwen3", "causal"), ("gpt2", "causal"), ("phi", "causal"), ("vit", None)]
)
def test_the_unpruned_network_needs_no_factors(family, kind):
    supernet = Supernet(toy_model(family, kind))
    before = {name: p.detach().clone() for name, p in supernet.model.named_parameters()}
    _, factors = tuned(supernet, supernet.whole, data(supernet.model))
    assert len(factors) == 6
    for found in factors.values():
        np.testing.assert_allclose(found, 1, atol=1e-4)
    assert all(torch.equal(p, before[name]) for name, p in supernet.model.named_parameters())
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in supernet.model.modules())


@pytest.mark.parametrize("family", ["bert", "distilbert", "gpt2", "llama", "phi", "opt", "gemma2"])
def test_what_is_gone_is_passed_by(family):
    """A layer without heads, none at all, one without units: tuned where something is left."""
    supernet = Supernet(toy_model(family))
    plan = Plan.of([LayerPlan(0, Kept.first(0), Kept.first(5)), LayerPlan(2, Kept.chosen([1, 2]), Kept.first(0))])
    network, factors = tuned(supernet, plan, data(supernet.model))
    assert set(factors) == {(0, "units"), (2, "heads")}
    by_hand = supernet.extract(plan)
    layers = by_hand.base_model.get_submodule(supernet.anatomy.layers)
    fold(layers[0].get_submodule(supernet.anatomy.output("units").module), factors[0, "units"])
    fold(layers[1].get_submodule(supernet.anatomy.output("heads").module), factors[2, "heads"])
    for one, other in zip(network.parameters(), by_hand.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_factor_that_is_too_large_ends_the_tuning(monkeypatch):
    supernet = Supernet(toy_model("bert"))
    answers = iter([np.array([2.0, 3.0]), np.array([1.0, 1.0, 1.0, 1.0, -10.5])])
    monkeypatch.setattr(tune, "least_squares", lambda *_: next(answers))
    network, factors = tuned(supernet, SOME, data(supernet.model))
    assert set(factors) == {(0, "heads")}
    untouched = supernet.extract(SOME)
    fold(untouched.base_model.encoder.layer[0].attention.output.dense, np.array([2.0, 3.0]))
    for one, other in zip(network.parameters(), untouched.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_first_layer_that_is_gone_leaves_what_follows_it():
    """DeBERTa's convolution reads the embeddings, whichever layers are left: tuned where something is."""
    supernet = Supernet(toy_model("deberta-v2"))
    plan = Plan.of([LayerPlan(1, Kept.chosen([1, 2]), Kept.first(5)), LayerPlan(2, Kept.first(3), Kept.first(0))])
    batches = data(supernet.model)
    network, factors = tuned(supernet, plan, batches)
    assert set(factors) == {(1, "heads"), (1, "units"), (2, "heads")}
    fewest = supernet.extract(plan)
    with torch.no_grad():
        aim, before, after = (
            sums(model, path, batches)
            for model, path in (
                (supernet.model, "encoder.layer.2.attention.output.LayerNorm"),
                (fewest, "encoder.layer.2.attention.output.LayerNorm"),
                (network, "encoder.layer.2.attention.output.LayerNorm"),
            )
        )
    assert float(((after - aim) ** 2).sum()) < float(((before - aim) ** 2).sum())
