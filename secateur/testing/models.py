"""Tiny random models of every known family, and batches for them. Biases and norms are random too, so that mistakes show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secateur.anatomy.inputs import image_size
from secateur.errors import ConfigurationError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

ENCODERS = ("bert", "roberta", "xlm-roberta", "electra", "distilbert", "mpnet", "deberta-v2", "modernbert")
DECODERS = ("gpt2", "opt", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi")
#: Families that read texts, and those that read images.
FAMILIES = (*ENCODERS, *DECODERS)
VISION = ("vit",)
#: Families whose attention transformers has one implementation of.
_EAGER = ("mpnet", "deberta-v2")

#: kind → the transformers class that builds it from a configuration.
_CLASSES = {
    "classification": "AutoModelForSequenceClassification",
    "regression": "AutoModelForSequenceClassification",
    "causal": "AutoModelForCausalLM",
    "multiple_choice": "AutoModelForMultipleChoice",
    "image_classification": "AutoModelForImageClassification",
}
VOCABULARY = 50


def _sizes(family: str, layers: int) -> dict[str, Any]:
    """16 wide; 4 heads of 4, or 8 heads of 4 that share keys and values in pairs; 12 units."""
    if family == "distilbert":
        return {"dim": 16, "n_layers": layers, "n_heads": 4, "hidden_dim": 12}
    if family == "gpt2":
        return {"n_embd": 16, "n_layer": layers, "n_head": 4, "n_inner": 12}
    sizes: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": layers, "num_attention_heads": 4, "intermediate_size": 12}
    if family in ("llama", "mistral", "qwen3", "gemma2", "gemma3_text"):
        sizes |= {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 4}
    return sizes | _PARTICULARS.get(family, {})


#: Settings that bring out what is particular to a family: windows shorter than a toy text, embeddings of another width.
_PARTICULARS: dict[str, dict[str, Any]] = {
    "electra": {"embedding_size": 8},
    "deberta-v2": {
        "relative_attention": True,
        "position_buckets": 4,
        "max_relative_positions": 64,
        "pos_att_type": ["p2c", "c2p"],
        "share_att_key": True,
        "norm_rel_ebd": "layer_norm",
        "position_biased_input": False,
        "conv_kernel_size": 3,
        "conv_act": "tanh",
    },
    "modernbert": {"local_attention": 4, "global_attn_every_n_layers": 2, "cls_token_id": 1, "sep_token_id": 2},
    "opt": {"ffn_dim": 12, "word_embed_proj_dim": 8, "dropout": 0.0},
    "gpt_neox": {"rotary_pct": 0.5},
    "qwen2": {"num_attention_heads": 8, "num_key_value_heads": 4},
    # The norm behind a sub-layer of few units divides by next to nothing, and would blow up rounding.
    "gemma2": {"sliding_window": 3, "query_pre_attn_scalar": 4, "rms_norm_eps": 0.01},
    "gemma3_text": {"sliding_window": 3, "query_pre_attn_scalar": 4, "sliding_window_pattern": 2, "rms_norm_eps": 0.01},
    "vit": {"image_size": 8, "patch_size": 4},
}


def toy_model(
    family: str, kind: str | None = None, layers: int = 3, seed: int = 0, attention: str = "sdpa", **settings: Any
) -> PreTrainedModel:
    """A model of `family` in eval mode, without dropout.

    `kind` is classification (3 labels), regression, causal (decoders only), multiple_choice (encoders only) or, for families
    that read images and no other, image_classification; `attention` is sdpa or eager, where the family has both; `settings` go
    to the family's configuration.
    """
    import torch
    import transformers

    if family not in (*FAMILIES, *VISION):
        raise ConfigurationError(f"`family` must be one of {', '.join((*FAMILIES, *VISION))}, got `{family}`.")
    kind = kind or ("image_classification" if family in VISION else "classification")
    if kind not in _CLASSES:
        raise ConfigurationError(f"`kind` must be one of {', '.join(_CLASSES)}, got `{kind}`.")
    odd = (kind == "causal" and family in ENCODERS) or (kind == "multiple_choice" and family in DECODERS)
    if odd or (kind == "image_classification") != (family in VISION):
        raise ConfigurationError(f"there is no toy model of kind `{kind}` in the family `{family}`.")
    given: dict[str, Any] = {}
    if family not in VISION:
        given = {"vocab_size": VOCABULARY, "max_position_embeddings": 64, "pad_token_id": 0}
        given |= {"bos_token_id": 1, "eos_token_id": None}
    given |= {"num_labels": 1 if kind == "regression" else 3, **_sizes(family, layers), **settings}
    config = transformers.AutoConfig.for_model(family, **given)
    with torch.random.fork_rng(devices=[]):
        model: PreTrainedModel = getattr(transformers, _CLASSES[kind]).from_config(
            config, attn_implementation="eager" if family in _EAGER else attention
        )
    randomise(model, seed)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    model.eval()
    return model


def randomise(model: torch.nn.Module, seed: int = 0) -> None:
    """Draw every parameter anew, in place: what norms multiply by around 1, all others around 0."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    from_one = type(model).__name__.startswith("Gemma")  # its norms multiply by 1 + weight
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            values = torch.randn(parameter.shape, generator=generator) * 0.3
            is_norm = parameter.dim() == 1 and name.endswith("weight")
            parameter.copy_(values + 1 if is_norm and not from_one else values)


def toy_batch(
    model: Any, batch: int = 3, length: int = 7, padding: str | None = "right", seed: int = 0, labels: bool = True
) -> dict[str, torch.Tensor]:
    """Random tokens (batch, length), mask and labels that fit the model; (batch, 2, length) for multiple choice; random images
    for a model that reads images.

    With `padding` (right, left or None) every row but the first is shorter than the batch, each by one token more, down to 2.
    """
    import torch

    if padding not in ("right", "left", None):
        raise ConfigurationError(f"`padding` must be right, left or None, got `{padding}`.")
    generator = torch.Generator().manual_seed(seed)
    kind = type(model).__name__
    if "ImageClassification" in kind:
        found = {"pixel_values": torch.randn(batch, model.config.num_channels, *image_size(model.config), generator=generator)}
        if labels:
            found["labels"] = torch.randint(0, model.config.num_labels, (batch,), generator=generator)
        return found
    rows = 2 * batch if "MultipleChoice" in kind else batch
    tokens = torch.randint(2, VOCABULARY, (rows, length), generator=generator)
    mask = torch.ones_like(tokens)
    if padding:
        lengths = torch.clamp(length - torch.arange(rows), min=min(2, length))
        places = torch.arange(length)
        keep = places < lengths[:, None] if padding == "right" else places >= length - lengths[:, None]
        tokens, mask = tokens * keep, mask * keep
    made = {"input_ids": tokens, "attention_mask": mask}
    if "MultipleChoice" in kind:
        made = {name: tensor.view(batch, 2, length) for name, tensor in made.items()}
    if labels:
        if "MultipleChoice" in kind:
            made["labels"] = torch.randint(0, 2, (batch,), generator=generator)
        elif "SequenceClassification" in kind:
            one = model.config.num_labels == 1
            drawn = torch.randn(batch, generator=generator)
            made["labels"] = drawn if one else torch.randint(0, model.config.num_labels, (batch,), generator=generator)
        else:
            made["labels"] = tokens.masked_fill(mask == 0, -100)
    return made
