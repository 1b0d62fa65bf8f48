"""The known model families."""

from __future__ import annotations

from typing import Any

from secateur.anatomy.base import Anatomy, Cut, HeadBias
from secateur.anatomy.bert_like import BERT, DEBERTA_V2, DISTILBERT, ELECTRA, MPNET, ROBERTA, XLM_ROBERTA
from secateur.anatomy.gpt2_like import GPT2, GPT_NEOX, OPT
from secateur.anatomy.llama_like import GEMMA2, GEMMA3, LLAMA, MISTRAL, PHI, QWEN2, QWEN3
from secateur.anatomy.modernbert_like import MODERNBERT, VIT
from secateur.errors import ModelError

_ENCODERS = (BERT, ROBERTA, XLM_ROBERTA, ELECTRA, DISTILBERT, MPNET, DEBERTA_V2, MODERNBERT, VIT)
_DECODERS = (GPT2, OPT, GPT_NEOX, LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA2, GEMMA3, PHI)
#: model_type → anatomy. Add a family with `register`.
ANATOMIES: dict[str, Anatomy] = {a.family: a for a in (*_ENCODERS, *_DECODERS)}

_TWO_STACKS = (
    "it has two stacks, an encoder and a decoder that attends to it, and a plan describes one; and the first layer of each "
    "stack computes the position bias of all its heads, so it could neither go nor lose a head that a later layer keeps"
)
#: model_type → why a family that one might bring cannot be pruned.
REFUSED: dict[str, str] = {
    "albert": "all its layers are one and the same, so a head or unit that one layer loses is lost to all of them",
    "t5": _TWO_STACKS,
    "mt5": _TWO_STACKS,
    "gemma3": "it reads images and texts with a stack for each; save its text model, which is of the family `gemma3_text`",
}


def register(anatomy: Anatomy) -> None:
    """Make a family known."""
    ANATOMIES[anatomy.family] = anatomy


def anatomy_of(config: Any) -> Anatomy:
    """The anatomy of a model, by its configuration. Raises ModelError for an unknown family."""
    family = config.model_type
    if family.startswith("secateur_"):
        raise ModelError(
            f"this model has already been pruned by Secateur (`{family}`), and its layers differ in size. "
            "Prune the original model instead."
        )
    if family in REFUSED and family not in ANATOMIES:
        raise ModelError(f"models of the family `{family}` cannot be pruned: {REFUSED[family]}.")
    if family not in ANATOMIES:
        known = ", ".join(sorted(ANATOMIES))
        raise ModelError(
            f"unknown model family `{family}`. Known: {known}. docs/how-to/own-model-family.md says how to add one."
        )
    return ANATOMIES[family]


__all__ = ["ANATOMIES", "REFUSED", "Anatomy", "Cut", "HeadBias", "anatomy_of", "register"]
