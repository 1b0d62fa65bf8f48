"""`select` swaps in a sub-network, refuses what would see borrowed weights, and puts everything back."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch

from secateur.errors import ConfigurationError, SecateurError
from secateur.spaces.pruning import Kept, LayerPlan, Plan
from secateur.supernet import Supernet
from secateur.testing.masks import masked
from secateur.testing.models import toy_batch, toy_model

PLAN = Plan.of([LayerPlan(0, Kept.first(2), Kept.first(5)), LayerPlan(2, Kept.chosen([1, 3]), Kept.first(0))])
OTHER = Plan.of([LayerPlan(1, Kept.first(1), Kept.chosen([0, 2, 7]))])
NOTHING = Plan.of([])


def state_of(supernet):
    """Everything that `select` may touch."""
    model = supernet.model
    return {
        "config": model.config.to_dict(),
        "generation": model.generation_config.to_dict() if model.can_generate() else None,
        "attributes": {name: set(module.__dict__) for name, module in model.named_modules()},
        "modules": {name: id(module) for name, module in model.named_modules()},
        "indices": {name: getattr(module, "layer_idx", None) for name, module in model.named_modules()},
        "hooks": {name: (len(m._forward_hooks), len(m._forward_pre_hooks)) for name, m in model.named_modules()},
        "training": {name: module.training for name, module in model.named_modules()},
        "weights": {name: id(p) for name, p in model.named_parameters()},
    }


@pytest.fixture(params=["bert", "gpt2", "qwen3"])
def supernet(request):
    settings = {"layer_types": ["full_attention", "sliding_attention", "full_attention"], "use_sliding_window": True}
    kind = "classification" if request.param == "bert" else "causal"
    return Supernet(toy_model(request.param, kind, **(settings if request.param == "qwen3" else {})))


@pytest.fixture
def batch(supernet):
    made = toy_batch(supernet.model)
    supernet.model(**made)  # transformers notes the kind of problem in the configuration at the first pass
    return made


@torch.no_grad()
def logits(supernet, plan, batch):
    with masked(supernet, plan) as model:
        return model(**batch).logits


@pytest.mark.parametrize("plan", [PLAN, OTHER, NOTHING])
def test_everything_is_restored(supernet, batch, plan):
    before = state_of(supernet)
    with supernet.select(plan) as model:
        assert model is supernet.model
        assert model.config.num_hidden_layers == len(plan.layers)
        model(**batch)
    assert state_of(supernet) == before


def test_an_exception_inside_restores_everything(supernet, batch):
    before = state_of(supernet)
    whole = supernet.model(**batch).logits
    with pytest.raises(ZeroDivisionError), supernet.select(PLAN), supernet.select(NOTHING):
        raise ZeroDivisionError
    assert state_of(supernet) == before
    assert torch.equal(supernet.model(**batch).logits, whole)


def test_an_exception_in_the_forward_pass_restores_everything(supernet):
    before = state_of(supernet)
    with pytest.raises(IndexError), supernet.select(PLAN) as model:
        model(input_ids=torch.tensor([[10_000]]))
    assert state_of(supernet) == before


@torch.no_grad()
def test_nested_the_inner_plan_counts_and_the_outer_returns(supernet, batch):
    expected = {plan: logits(supernet, plan, batch) for plan in (PLAN, OTHER, NOTHING)}
    whole = supernet.model(**batch).logits
    with supernet.select(PLAN) as model:
        with supernet.select(NOTHING):
            assert torch.allclose(model(**batch).logits, expected[NOTHING], atol=1e-5)
            with supernet.select(OTHER):
                assert torch.allclose(model(**batch).logits, expected[OTHER], atol=1e-5)
        assert torch.allclose(model(**batch).logits, expected[PLAN], atol=1e-5)
    assert torch.equal(supernet.model(**batch).logits, whole)


def test_a_nested_plan_with_attention_has_its_cache_back():
    supernet = Supernet(toy_model("llama", "causal"))
    with supernet.select(NOTHING) as model:
        assert model.config.use_cache is False
        assert model.generation_config.use_cache is False
        with supernet.select(OTHER):
            assert model.config.use_cache is True
            assert model.generation_config.use_cache is True
        assert model.config.use_cache is False
    assert supernet.model.config.use_cache is True


def test_the_configuration_fits_the_sub_network():
    types = ["full_attention", "sliding_attention", "full_attention"]
    supernet = Supernet(toy_model("qwen3", "causal", layer_types=types, use_sliding_window=True, sliding_window=3))
    with supernet.select(OTHER) as model:
        assert (model.config.num_hidden_layers, model.config.layer_types) == (1, ["sliding_attention"])
        assert model.config.use_cache is True
    with supernet.select(
        Plan.of([LayerPlan(0, Kept.first(0), Kept.first(3)), LayerPlan(1, Kept.first(1), Kept.first(3))])
    ) as model:
        assert model.config.layer_types == types[:2]
        assert model.config.use_cache is False  # a cache is laid out by layer types, and one of these layers has no place in it
    assert (supernet.model.config.layer_types, supernet.model.config.use_cache) == (types, True)


REFUSED = {
    "state_dict": lambda model: model.state_dict(),
    "save_pretrained": lambda model: model.save_pretrained("never-written"),
    "load_state_dict": lambda model: model.load_state_dict({}),
    "parameters": lambda model: list(model.parameters()),
    "num_parameters": lambda model: model.num_parameters(),
    "zero_grad": lambda model: model.zero_grad(),
    "train": lambda model: model.train(),
    "eval": lambda model: model.eval(),
    "to": lambda model: model.to(torch.float64),
    "half": lambda model: model.half(),
    "deepcopy": lambda model: copy.deepcopy(model),
    "pickle": lambda model: pickle.dumps(model),
    "checkpointing": lambda model: model.gradient_checkpointing_enable(),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("through", ["model", "base", "wrapper"])
def test_refused_inside(what, through, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    supernet = Supernet(toy_model("bert"))
    seen = {"model": supernet.model, "base": supernet.base, "wrapper": torch.nn.Sequential(supernet.model)}[through]
    if not hasattr(
        seen, {"deepcopy": "train", "pickle": "train", "checkpointing": "gradient_checkpointing_enable"}.get(what, what)
    ):
        pytest.skip("a plain module has no such method")
    before = state_of(supernet)
    types = {p.dtype for p in supernet.model.parameters()}
    with supernet.select(PLAN), pytest.raises(SecateurError, match="inside `select`"):
        REFUSED[what](seen)
    assert state_of(supernet) == before  # nothing was changed half-way
    assert {p.dtype for p in supernet.model.parameters()} == types
    supernet.model.train()  # and outside it is allowed again
    assert all(module.training for module in supernet.model.modules())


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (Plan.uniform(4, 1, 1), "`layers` must lie in 0…2"),
        (Plan.uniform(1, 5, 1), "`heads` must lie in 0…4"),
        (Plan.uniform(1, 1, 13), "`units` must lie in 0…12"),
        (Plan.of([LayerPlan(0, Kept.chosen([4]), Kept.first(1))]), "`heads` must lie"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(plan, message):
    supernet = Supernet(toy_model("bert"))
    for use in (lambda: supernet.select(plan).__enter__(), lambda: supernet.extract(plan)):
        with pytest.raises(ConfigurationError, match=message):
            use()


@torch.no_grad()
def test_hidden_states_inside_and_after(supernet, batch):
    """transformers records hidden states with hooks that it installs once: they must not be lost on ghosts, nor doubled."""

    def depth(model):
        return len(model(**batch, output_hidden_states=True).hidden_states)

    with supernet.select(PLAN) as model:
        states = model(**batch, output_hidden_states=True).hidden_states
        assert len(states) == 3
        with supernet.select(OTHER):
            assert depth(model) == 2
        assert depth(model) == 3
        assert len(supernet.extract(OTHER)(**batch, output_hidden_states=True).hidden_states) == 2
    assert depth(supernet.model) == 4  # now the hooks are on the shared layers, and ghosts inherit them
    with supernet.select(PLAN) as model:
        again = model(**batch, output_hidden_states=True).hidden_states
        with supernet.select(OTHER):
            assert depth(model) == 2
    assert len(again) == 3
    assert all(torch.equal(a, b) for a, b in zip(states, again, strict=True))
    assert len(supernet.extract(PLAN)(**batch, output_hidden_states=True).hidden_states) == 3
    assert depth(supernet.model) == 4


@torch.no_grad()
def test_attentions_of_a_sub_network():
    supernet = Supernet(toy_model("bert", attention="eager"))
    with supernet.select(PLAN) as model:
        attentions = model(**toy_batch(model), output_attentions=True).attentions
    assert [a.shape[1] for a in attentions] == [2, 2]


def test_a_hook_set_inside_leaves_with_the_ghosts():
    supernet = Supernet(toy_model("bert"))
    before = [
        {k: len(v) for k, v in layer.__dict__.items() if "_hooks" in k and hasattr(v, "__len__")} for layer in supernet.layers
    ]
    with supernet.select(supernet.whole):
        for layer in supernet.base.encoder.layer:
            layer.register_forward_pre_hook(lambda *a: None, with_kwargs=True)
            layer.register_forward_hook(lambda *a: None, with_kwargs=True, always_call=True)
            layer.register_full_backward_hook(lambda *a: None)
    after = [
        {k: len(v) for k, v in layer.__dict__.items() if "_hooks" in k and hasattr(v, "__len__")} for layer in supernet.layers
    ]
    assert after == before


@torch.no_grad()
def test_train_mode_is_the_ghosts_mode_too():
    supernet = Supernet(toy_model("bert"))
    for module in supernet.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    batch = toy_batch(supernet.model)

    def twice():
        with supernet.select(PLAN) as model:
            return [model(**batch).logits for _ in range(2)]

    torch.manual_seed(0)
    assert torch.equal(*twice())
    supernet.model.train()
    assert not torch.equal(*twice())


@torch.no_grad()
def test_views_follow_the_shared_weights():
    """Weights changed between two contexts (an optimiser's step) are the ones that the next context runs."""
    supernet = Supernet(toy_model("bert"))
    batch = toy_batch(supernet.model)
    for plan in (PLAN, OTHER):
        with supernet.select(plan) as model:
            first = model(**batch).logits
        for parameter in supernet.model.parameters():
            parameter.mul_(1.1)
        with supernet.select(plan) as model:
            second = model(**batch).logits
        assert not torch.allclose(first, second)
        assert torch.allclose(second, logits(supernet, plan, batch), atol=1e-5)
