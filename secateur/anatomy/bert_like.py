"""BERT and its kin: encoders that normalise after each sub-layer."""

from __future__ import annotations

from typing import Any

from secateur.anatomy.base import HEADS, UNITS, Anatomy, Cut, HeadBias

_FEED_FORWARD = (Cut("intermediate.dense", "out", UNITS), Cut("output.dense", "in", UNITS))
_WITHOUT_UNITS = (("intermediate", "Identity"), ("output", "PassResidual"))


def _bert(family: str) -> Anatomy:
    return Anatomy(
        family=family,
        layers="encoder.layer",
        cuts=(
            Cut("attention.self.query", "out", HEADS),
            Cut("attention.self.key", "out", HEADS),
            Cut("attention.self.value", "out", HEADS),
            Cut("attention.output.dense", "in", HEADS),
            *_FEED_FORWARD,
        ),
        scaled=(("attention.self", "num_attention_heads", HEADS), ("attention.self", "all_head_size", HEADS)),
        without_heads=(("attention", "PassAttention"),),
        without_units=_WITHOUT_UNITS,
    )


BERT = _bert("bert")
ROBERTA = _bert("roberta")
XLM_ROBERTA = _bert("xlm-roberta")
ELECTRA = _bert("electra")
DISTILBERT = Anatomy(
    family="distilbert",
    layers="transformer.layer",
    cuts=(
        Cut("attention.q_lin", "out", HEADS),
        Cut("attention.k_lin", "out", HEADS),
        Cut("attention.v_lin", "out", HEADS),
        Cut("attention.out_lin", "in", HEADS),
        Cut("ffn.lin1", "out", UNITS),
        Cut("ffn.lin2", "in", UNITS),
    ),
    scaled=(("attention", "n_heads", HEADS),),
    without_heads=(("attention", "NoAttention"), ("sa_layer_norm", "Identity")),
    without_units=(("ffn", "NoFeedForward"), ("output_layer_norm", "Identity")),
    units_field="hidden_dim",
)
MPNET = Anatomy(
    family="mpnet",
    layers="encoder.layer",
    cuts=(
        Cut("attention.attn.q", "out", HEADS),
        Cut("attention.attn.k", "out", HEADS),
        Cut("attention.attn.v", "out", HEADS),
        Cut("attention.attn.o", "in", HEADS),
        *_FEED_FORWARD,
    ),
    scaled=(("attention.attn", "num_attention_heads", HEADS), ("attention.attn", "all_head_size", HEADS)),
    without_heads=(("attention", "PassAttention"),),
    without_units=_WITHOUT_UNITS,
    head_bias=HeadBias("encoder.relative_attention_bias", "attention", "position_bias"),
)


def _disentangled(config: Any, width: int) -> tuple[int, int]:
    """Each layer projects the embeddings of relative positions, and multiplies them by queries and by keys."""
    if not config.relative_attention:
        return 0, 0
    longest = config.max_relative_positions if config.max_relative_positions >= 1 else config.max_position_embeddings
    buckets = getattr(config, "position_buckets", -1)
    positions = 2 * (buckets if buckets > 0 else longest)
    products = len({"c2p", "p2c"} & set(config.pos_att_type or []))
    # Layers that share their projections with the contents compute both, whatever is used.
    projections = 2 if getattr(config, "share_att_key", False) else products
    return projections * positions * config.hidden_size * width, products * positions * width


#: DeBERTa v2 and v3. A table of relative positions is shared by all layers; each projects it with rows of its own heads.
DEBERTA_V2 = Anatomy(
    family="deberta-v2",
    layers="encoder.layer",
    cuts=(
        Cut("attention.self.query_proj", "out", HEADS),
        Cut("attention.self.key_proj", "out", HEADS),
        Cut("attention.self.value_proj", "out", HEADS),
        Cut("attention.self.pos_key_proj", "out", HEADS, optional=True, reads_tokens=False),
        Cut("attention.self.pos_query_proj", "out", HEADS, optional=True, reads_tokens=False),
        Cut("attention.output.dense", "in", HEADS),
        *_FEED_FORWARD,
    ),
    scaled=(("attention.self", "num_attention_heads", HEADS), ("attention.self", "all_head_size", HEADS)),
    without_heads=(("attention", "PassAttention"),),
    without_units=_WITHOUT_UNITS,
    after_first="encoder.conv",
    position_macs=_disentangled,
)
