"""Tiny random networks of every known family, and plans that the family's configuration can or cannot say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from secateur.spaces.pruning.plan import Kept, LayerPlan, Plan

CAUSAL = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen3": "Qwen3ForCausalLM"}
CLASSIFYING = {
    "bert": "BertForSequenceClassification",
    "roberta": "RobertaForSequenceClassification",
    "distilbert": "DistilBertForSequenceClassification",
}
#: Those of `toy_model`, with the kind of head.
TOYS = {
    "electra": "classification",
    "xlm-roberta": "classification",
    "mpnet": "classification",
    "deberta-v2": "classification",
    "modernbert": "classification",
    "vit": "image_classification",
    "opt": "causal",
    "gpt_neox": "causal",
    "qwen2": "causal",
    "gemma2": "causal",
    "gemma3_text": "causal",
    "phi": "causal",
}
FAMILIES = {**CLASSIFYING, **CAUSAL, **TOYS}
HEADS = {"llama": 2, "mistral": 2, "qwen3": 2}  # key/value groups


def tiny_model(family: str, class_name: str | None = None, **changes: Any) -> Any:
    import torch
    import transformers

    if family in TOYS:
        from secateur.testing.models import toy_model

        return toy_model(family, "classification" if class_name else TOYS[family], **changes)
    settings: dict[str, Any] = {"vocab_size": 40, "pad_token_id": 0}
    if family in ("bert", "roberta"):
        settings |= {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 24}
        settings |= {"max_position_embeddings": 40, "type_vocab_size": 2 if family == "bert" else 1}
        settings |= {"pad_token_id": 1} if family == "roberta" else {}
    elif family == "distilbert":
        settings |= {"dim": 16, "n_layers": 3, "n_heads": 4, "hidden_dim": 24, "max_position_embeddings": 40}
    elif family == "gpt2":
        settings |= {"n_embd": 16, "n_layer": 3, "n_head": 4, "n_positions": 40, "bos_token_id": 0, "eos_token_id": 0}
    else:
        settings |= {
            "hidden_size": 16,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 4,
        }
        settings |= {"intermediate_size": 24, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2}
        settings |= {"tie_word_embeddings": True} if family == "llama" else {}
    torch.manual_seed(0)
    name = class_name or FAMILIES[family]
    model = getattr(transformers, name)
    built = model(model.config_class(**settings | changes)).eval()
    with torch.no_grad():  # biases and norms start as constants, which would hide a wrong slice
        for parameter in built.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return built


def mixed_plan(heads: int = 4) -> Plan:
    """Layers of different sizes: chosen heads, one layer without attention, one without feed-forward."""
    return Plan.of(
        [
            LayerPlan(0, Kept.first(0), Kept.chosen([1, 2, 7])),
            LayerPlan(1, Kept.chosen([1] if heads == 2 else [1, 3]), Kept.first(0)),
            LayerPlan(2, Kept.first(1), Kept.first(8)),
        ]
    )


def no_attention_plan() -> Plan:
    return Plan.of([LayerPlan(0, Kept.first(0), Kept.first(5)), LayerPlan(2, Kept.first(0), Kept.chosen([3, 4]))])


@pytest.fixture(scope="session")
def supernet_of() -> Callable[..., Any]:
    """supernet_of(family, class_name=None, **settings): a tiny supernet, made once."""
    made: dict[Any, Any] = {}

    def make(family: str, class_name: str | None = None, **changes: Any) -> Any:
        from secateur.supernet.supernet import Supernet

        key = (family, class_name, repr(sorted(changes.items())))
        if key not in made:
            made[key] = Supernet(tiny_model(family, class_name, **changes))
        return made[key]

    return make


@pytest.fixture(scope="session")
def plans() -> dict[str, Callable[..., Plan]]:
    return {"mixed": mixed_plan, "no_attention": no_attention_plan}


@pytest.fixture(scope="session")
def heads_of() -> dict[str, int]:
    return {family: HEADS.get(family, 4) for family in FAMILIES}
