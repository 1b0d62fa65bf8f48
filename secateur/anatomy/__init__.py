"""The known model families."""

from __future__ import annotations

from typing import Any

from secateur.anatomy.base import Anatomy, Cut
from secateur.anatomy.bert_like import BERT, DISTILBERT, ROBERTA
from secateur.anatomy.gpt2_like import GPT2
from secateur.anatomy.llama_like import LLAMA, MISTRAL, QWEN3
from secateur.errors import ModelError

#: model_type → anatomy. Add a family with `register`.
ANATOMIES: dict[str, Anatomy] = {a.family: a for a in (BERT, ROBERTA, DISTILBERT, GPT2, LLAMA, MISTRAL, QWEN3)}


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
    if family not in ANATOMIES:
        known = ", ".join(sorted(ANATOMIES))
        raise ModelError(
            f"unknown model family `{family}`. Known: {known}. docs/how-to/own-model-family.md says how to add one."
        )
    return ANATOMIES[family]


__all__ = ["ANATOMIES", "Anatomy", "Cut", "anatomy_of", "register"]
