"""GPT-2: a decoder with one fused query-key-value projection, whose weights are stored (in, out)."""

from __future__ import annotations

from secateur.anatomy.base import HEADS, UNITS, Anatomy, Cut

GPT2 = Anatomy(
    family="gpt2",
    layers="h",
    cuts=(
        Cut("attn.c_attn", "out", HEADS, blocks=3),
        Cut("attn.c_proj", "in", HEADS),
        Cut("mlp.c_fc", "out", UNITS),
        Cut("mlp.c_proj", "in", UNITS),
    ),
    scaled=(("attn", "num_heads", HEADS), ("attn", "split_size", HEADS)),
    without_heads=(("attn", "NoAttention"), ("ln_1", "Identity")),
    without_units=(("mlp", "NoFeedForward"), ("ln_2", "Identity")),
    units_field="n_inner",
    decoder=True,
)
