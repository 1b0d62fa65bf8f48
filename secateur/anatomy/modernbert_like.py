"""ModernBERT and ViT: encoders that normalise before each sub-layer."""

from __future__ import annotations

from secateur.anatomy.base import HEADS, UNITS, Anatomy, Cut

#: One fused query-key-value projection, a gated feed-forward whose two inputs are fused, local and global attention in turns.
MODERNBERT = Anatomy(
    family="modernbert",
    layers="layers",
    cuts=(
        Cut("attn.Wqkv", "out", HEADS, blocks=3),
        Cut("attn.Wo", "in", HEADS),
        Cut("mlp.Wi", "out", UNITS, blocks=2),
        Cut("mlp.Wo", "in", UNITS),
    ),
    scaled=(),
    without_heads=(("attn", "NoAttention"), ("attn_norm", "Identity")),
    without_units=(("mlp", "NoFeedForward"), ("mlp_norm", "Identity")),
    never_empty=True,
    first_lacks=(("attn_norm", "mlp_norm"),),
)
#: Patches instead of tokens.
VIT = Anatomy(
    family="vit",
    layers="layers",
    cuts=(
        Cut("attention.q_proj", "out", HEADS),
        Cut("attention.k_proj", "out", HEADS),
        Cut("attention.v_proj", "out", HEADS),
        Cut("attention.o_proj", "in", HEADS),
        Cut("mlp.fc1", "out", UNITS),
        Cut("mlp.fc2", "in", UNITS),
    ),
    scaled=(("attention", "num_attention_heads", HEADS),),
    without_heads=(("attention", "NoAttention"), ("layernorm_before", "Identity")),
    without_units=(("mlp", "NoFeedForward"), ("layernorm_after", "Identity")),
    plain=True,
    images=True,
)
