"""BERT, RoBERTa, DistilBERT: encoders that normalise after each sub-layer."""

from __future__ import annotations

from secateur.anatomy.base import HEADS, UNITS, Anatomy, Cut


def _bert(family: str) -> Anatomy:
    return Anatomy(
        family=family,
        layers="encoder.layer",
        cuts=(
            Cut("attention.self.query", "out", HEADS),
            Cut("attention.self.key", "out", HEADS),
            Cut("attention.self.value", "out", HEADS),
            Cut("attention.output.dense", "in", HEADS),
            Cut("intermediate.dense", "out", UNITS),
            Cut("output.dense", "in", UNITS),
        ),
        scaled=(("attention.self", "num_attention_heads", HEADS), ("attention.self", "all_head_size", HEADS)),
        without_heads=(("attention", "PassAttention"),),
        without_units=(("intermediate", "Identity"), ("output", "PassResidual")),
    )


BERT = _bert("bert")
ROBERTA = _bert("roberta")
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
