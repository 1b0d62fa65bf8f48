# Copyright the Secateur authors. Licensed under the Apache License, Version 2.0.
"""The configuration of a decoder whose layers differ in heads and inner width.

This file stands alone: it needs transformers, not Secateur. Saved folders carry a copy of it.
"""

from __future__ import annotations

import itertools
from typing import Any

from transformers import PretrainedConfig


class DecoderConfig(PretrainedConfig):
    """Sizes of a decoder language model.

    `heads` and `inner` have one entry per layer. `embedding` 0 means a plain table as wide as the model; otherwise the words
    are split at `cutoffs` (ids where a cluster ends; [] = one cluster), and cluster j has vectors of `embedding // factor**j`.
    `max_positions` is for gpt2, `recurrence` (hidden states kept from earlier segments, 0 = none) for transformer_xl; older
    checkpoints call that `memory`.
    """

    backbone = "gpt2"
    attribute_map = {  # noqa: RUF012 - the name and kind that transformers reads
        "hidden_size": "width",
        "max_position_embeddings": "max_positions",
        "tie_word_embeddings": "tie",
    }

    def __init__(
        self,
        width: int = 128,
        heads: list[int] | tuple[int, ...] = (2, 2),
        inner: list[int] | tuple[int, ...] = (256, 256),
        embedding: int = 0,
        factor: int = 1,
        vocab_size: int = 50257,
        cutoffs: list[int] | tuple[int, ...] = (),
        max_positions: int = 1024,
        recurrence: int = 0,
        dropout: float = 0.0,
        tie: bool = True,
        initializer_range: float = 0.02,
        layer_norm_epsilon: float = 1e-5,
        use_cache: bool = True,
        bos_token_id: int | None = None,
        eos_token_id: int | list[int] | None = None,
        pad_token_id: int | None = None,
        **kwargs: Any,
    ) -> None:
        backbone = kwargs.pop("backbone", type(self).backbone)
        self.width = width
        self.heads = list(heads)
        self.inner = list(inner)
        self.embedding = embedding
        self.factor = factor
        self.vocab_size = vocab_size
        self.cutoffs = list(cutoffs)
        self.max_positions = max_positions
        self.recurrence = kwargs.pop("memory", recurrence)
        self.dropout = dropout
        self.tie = kwargs.pop("tie_word_embeddings", tie)
        self.initializer_range = initializer_range
        self.layer_norm_epsilon = layer_norm_epsilon
        self.use_cache = use_cache
        self.bos_token_id = bos_token_id
        self.eos_token_id = eos_token_id
        self.pad_token_id = pad_token_id
        super().__init__(**kwargs)
        self.backbone = backbone
        self._check()

    def _check(self) -> None:
        if self.backbone != type(self).backbone:
            raise ValueError(f"`backbone` must be `{type(self).backbone}` in a {type(self).__name__}, got `{self.backbone}`.")
        if not self.heads or len(self.heads) != len(self.inner):
            raise ValueError(
                f"`heads` and `inner` need one entry per layer, at least one: got {len(self.heads)} and {len(self.inner)}."
            )
        if min(self.width, self.vocab_size, *self.heads, *self.inner) < 1 or min(self.embedding, self.recurrence) < 0:
            raise ValueError(
                "`width`, `vocab_size`, `heads` and `inner` must be at least 1, `embedding` and `recurrence` at least 0."
            )
        bad = [h for h in self.heads if self.width % h]
        if bad:
            raise ValueError(f"`heads` must divide `width` {self.width}, got {bad[0]}.")
        if self.factor < 1 or (self.factor > 1 and not self.embedding):
            raise ValueError(f"`factor` must be at least 1, and 1 for a plain table (`embedding` 0), got {self.factor}.")
        ends = [0, *self.cutoffs, self.vocab_size]
        if any(a >= b for a, b in itertools.pairwise(ends)):
            raise ValueError(f"`cutoffs` must rise and lie in 1…{self.vocab_size - 1}, got {self.cutoffs}.")
        if self.cutoffs and not self.embedding:
            raise ValueError("`cutoffs` need an adaptive embedding; a plain table (`embedding` 0) is one cluster.")

    @property
    def num_hidden_layers(self) -> int:
        return len(self.heads)

    @property
    def clusters(self) -> list[tuple[int, int, int]]:
        """Of each cluster: first word, word after the last, and width of its vectors."""
        starts, ends = [0, *self.cutoffs], [*self.cutoffs, self.vocab_size]
        wide = self.embedding or self.width
        return [(a, b, max(1, wide // self.factor**j)) for j, (a, b) in enumerate(zip(starts, ends, strict=True))]


class DecoderGpt2Config(DecoderConfig):
    """Of a GPT-2 with layers of different sizes."""

    backbone = "gpt2"
    model_type = "secateur_decoder_gpt2"
    keys_to_ignore_at_inference = ["past_key_values"]  # noqa: RUF012

    def __init__(self, **kwargs: Any) -> None:  # transformers makes one from the annotations of a class without
        super().__init__(**kwargs)


class DecoderXlConfig(DecoderConfig):
    """Of a Transformer-XL with layers of different sizes."""

    backbone = "transformer_xl"
    model_type = "secateur_decoder_xl"
    keys_to_ignore_at_inference = ["mems"]  # noqa: RUF012

    def __init__(self, **kwargs: Any) -> None:  # transformers makes one from the annotations of a class without
        super().__init__(**kwargs)


DecoderGpt2Config.register_for_auto_class()
DecoderXlConfig.register_for_auto_class()
