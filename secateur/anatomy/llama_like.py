"""Llama, Mistral, Qwen3: decoders with gated feed-forwards and key/value heads that groups of queries share.

A 'head' here is a whole group: one key/value head with all its queries. `head_dim` is explicit in the configuration, so a
result with equal heads and units in every layer is a plain checkpoint.
"""

from __future__ import annotations

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


LLAMA = _llama("llama")
MISTRAL = _llama("mistral")
QWEN3 = _llama("qwen3")
