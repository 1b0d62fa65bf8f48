"""GPT-2, OPT, GPT-NeoX (Pythia): decoders with as many key/value heads as queries, and a feed-forward without a gate."""

from __future__ import annotations

from secateur.anatomy.base import HEADS, UNITS, Anatomy, Cut

#: One fused query-key-value projection, whose weights are stored (in, out).
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
#: The feed-forward's modules are the layer's own. One size (350m) normalises after its sub-layers, the others before.
OPT = Anatomy(
    family="opt",
    layers="decoder.layers",
    cuts=(
        Cut("self_attn.q_proj", "out", HEADS),
        Cut("self_attn.k_proj", "out", HEADS),
        Cut("self_attn.v_proj", "out", HEADS),
        Cut("self_attn.out_proj", "in", HEADS),
        Cut("fc1", "out", UNITS),
        Cut("fc2", "in", UNITS),
    ),
    scaled=(("self_attn", "num_heads", HEADS),),
    without_heads=(("self_attn", "NoAttention"), ("self_attn_layer_norm", "Identity")),
    without_units=(("fc1", "Identity"), ("fc2", "NoFeedForward"), ("final_layer_norm", "Identity")),
    units_field="ffn_dim",
    decoder=True,
)
#: The fused projection holds query, key and value of one head after the other, so its rows are cut as one block.
GPT_NEOX = Anatomy(
    family="gpt_neox",
    layers="layers",
    cuts=(
        Cut("attention.query_key_value", "out", HEADS),
        Cut("attention.dense", "in", HEADS),
        Cut("mlp.dense_h_to_4h", "out", UNITS),
        Cut("mlp.dense_4h_to_h", "in", UNITS),
    ),
    scaled=(),
    without_heads=(("attention", "NoAttention"), ("input_layernorm", "Identity")),
    without_units=(("mlp", "NoFeedForward"), ("post_attention_layernorm", "Identity")),
    decoder=True,
    parallel="use_parallel_residual",
)
