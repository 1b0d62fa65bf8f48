"""Llama and its kin: decoders whose groups of queries share key/value heads.

A 'head' here is a whole group: one key/value head with all its queries. The modelling code reads `head_dim` from the
configuration, also where the configuration does not declare it (Qwen2, Phi), so a result with equal heads and units in every
layer is a plain checkpoint.
"""

from __future__ import annotations

from dataclasses import replace

from secateur.anatomy.base import HEADS, UNITS, Anatomy, Cut


def _llama(family: str) -> Anatomy:
    return Anatomy(
        family=family,
        layers="layers",
        cuts=(
            Cut("self_attn.q_proj", "out", HEADS),
            Cut("self_attn.k_proj", "out", HEADS),
            Cut("self_attn.v_proj", "out", HEADS),
            Cut("self_attn.o_proj", "in", HEADS),
            Cut("mlp.gate_proj", "out", UNITS),
            Cut("mlp.up_proj", "out", UNITS),
            Cut("mlp.down_proj", "in", UNITS),
        ),
        scaled=(),
        without_heads=(("self_attn", "NoAttention"), ("input_layernorm", "Identity")),
        without_units=(("mlp", "NoFeedForward"), ("post_attention_layernorm", "Identity")),
        groups_field="num_key_value_heads",
        plain=True,
        decoder=True,
    )


def _gemma(family: str) -> Anatomy:
    """Norms before and behind each sub-layer, local and global attention in turns."""
    return replace(
        _llama(family),
        without_heads=(
            ("input_layernorm", "Identity"),
            ("self_attn", "NoAttention"),
            ("post_attention_layernorm", "Identity"),
        ),
        without_units=(
            ("pre_feedforward_layernorm", "Identity"),
            ("mlp", "NoFeedForward"),
            ("post_feedforward_layernorm", "Identity"),
        ),
        sandwiched=True,
    )


LLAMA = _llama("llama")
MISTRAL = _llama("mistral")
QWEN2 = _llama("qwen2")
QWEN3 = _llama("qwen3")
GEMMA2 = _gemma("gemma2")
GEMMA3 = replace(_gemma("gemma3_text"), never_empty=True)
#: Attention and feed-forward read one norm's output, which stays as long as either of them does.
PHI = Anatomy(
    family="phi",
    layers="layers",
    cuts=(
        Cut("self_attn.q_proj", "out", HEADS),
        Cut("self_attn.k_proj", "out", HEADS),
        Cut("self_attn.v_proj", "out", HEADS),
        Cut("self_attn.dense", "in", HEADS),
        Cut("mlp.fc1", "out", UNITS),
        Cut("mlp.fc2", "in", UNITS),
    ),
    scaled=(),
    without_heads=(("self_attn", "NoAttention"),),
    without_units=(("mlp", "NoFeedForward"),),
    groups_field="num_key_value_heads",
    plain=True,
    decoder=True,
    parallel=True,
)
