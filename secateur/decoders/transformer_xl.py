# Copyright the Secateur authors. Licensed under the Apache License, Version 2.0.
"""Transformer-XL (Dai et al. 2019) with heads and inner width of their own in each layer.

Segments of a long text come one after another; each layer also attends to what it was fed in earlier segments (`mems`),
and positions are relative. This file stands alone, with its neighbours: it needs torch and transformers, not Secateur. Saved
folders carry a copy of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import GenerationMixin, PreTrainedModel
from transformers import initialization as init
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.utils.generic import ModelOutput, can_return_tuple

from .adaptive import WordHead, init_adaptive, make_embedding
from .configuration import DecoderXlConfig


@dataclass
class DecoderXlOutput(ModelOutput):
    """`mems`: what each layer was fed, (batch, kept, width) per layer, to be handed to the next segment."""

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    mems: tuple[torch.Tensor, ...] | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None


def relative_positions(longest: int, width: int, like: torch.Tensor) -> torch.Tensor:
    """Sinusoids (longest, width) of the distances longest − 1, …, 1, 0: sines, then cosines."""
    distances = torch.arange(longest - 1, -1, -1, device=like.device, dtype=torch.float32)
    rates = torch.exp(torch.arange(0, width, 2, device=like.device, dtype=torch.float32) * (-math.log(10000.0) / width))
    angles = distances[:, None] * rates[None, :]
    return torch.cat([angles.sin(), angles.cos()], dim=-1)[:, :width].to(like.dtype)


def relative_shift(scores: torch.Tensor) -> torch.Tensor:
    """Scores (batch, heads, queries, distances, the longest first) as (batch, heads, queries, keys).

    Query i of n sees key j at distance i + keys − n − j. Each row is to move left by n − 1 − i places: with one column put
    before, the whole read as if it had one more row. Entries of keys behind the query are meaningless, to be masked.
    """
    batch, heads, queries, keys = scores.shape
    padded = F.pad(scores, (1, 0)).view(batch, heads, keys + 1, queries)
    return padded[:, :, 1:].reshape(batch, heads, queries, keys)


class RelativeAttention(nn.Module):
    """score(i, j) = qᵢ·kⱼ + qᵢ·W_r R(i−j) + u·kⱼ + v·W_r R(i−j), over √(head width); u and v belong to the layer."""

    def __init__(self, config: DecoderXlConfig, layer: int) -> None:
        super().__init__()
        self.heads = config.heads[layer]
        width = config.width
        self.dropout = config.dropout
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * width, bias=False)
        self.r = nn.Linear(width, width, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.r_w_bias = nn.Parameter(torch.zeros(self.heads, width // self.heads))  # the paper's u
        self.r_r_bias = nn.Parameter(torch.zeros(self.heads, width // self.heads))  # the paper's v
        self.drop = nn.Dropout(config.dropout)

    def _split(self, states: torch.Tensor) -> torch.Tensor:
        """(batch, length, width) as (batch, heads, length, head width)."""
        batch, length, width = states.shape
        return states.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(
        self, states: torch.Tensor, mems: torch.Tensor | None, positions: torch.Tensor, hidden_keys: torch.Tensor
    ) -> torch.Tensor:
        """States (batch, length, width), mems (batch, kept, width), positions (keys, width).

        `hidden_keys` (batch or 1, 1, length, keys) is true where a query must not see a key.
        """
        context = states if mems is None else torch.cat([mems, states], dim=1)
        query = self._split(self.q(states))
        key, value = (self._split(part) for part in self.kv(context).chunk(2, dim=-1))
        distance = self._split(self.r(positions).unsqueeze(0))
        scale = query.shape[-1] ** -0.5
        by_position = (query + self.r_r_bias.unsqueeze(1)) @ distance.transpose(-1, -2) * scale
        # A finite number, since a row of −∞ alone would be NaN.
        bias = relative_shift(by_position).masked_fill(hidden_keys, torch.finfo(states.dtype).min)
        dropout = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(
            query + self.r_w_bias.unsqueeze(1), key, value, attn_mask=bias, dropout_p=dropout, scale=scale
        )
        return self.drop(self.o(mixed.transpose(1, 2).reshape(states.shape)))  # type: ignore[no-any-return]


class FeedForward(nn.Module):
    def __init__(self, config: DecoderXlConfig, layer: int) -> None:
        super().__init__()
        self.wide = nn.Linear(config.width, config.inner[layer])
        self.narrow = nn.Linear(config.inner[layer], config.width)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.drop(self.narrow(self.drop(F.relu(self.wide(states)))))  # type: ignore[no-any-return]


class Layer(GradientCheckpointingLayer):
    """Post-norm: each sub-layer's output is added to its input, and the sum normalised."""

    def __init__(self, config: DecoderXlConfig, layer: int) -> None:
        super().__init__()
        self.attention = RelativeAttention(config, layer)
        self.attention_norm = nn.LayerNorm(config.width, eps=config.layer_norm_epsilon)
        self.feed_forward = FeedForward(config, layer)
        self.feed_forward_norm = nn.LayerNorm(config.width, eps=config.layer_norm_epsilon)

    def forward(
        self, states: torch.Tensor, mems: torch.Tensor | None, positions: torch.Tensor, hidden_keys: torch.Tensor
    ) -> torch.Tensor:
        states = self.attention_norm(states + self.attention(states, mems, positions, hidden_keys))
        return self.feed_forward_norm(states + self.feed_forward(states))  # type: ignore[no-any-return]


class Stack(nn.Module):
    """The embedding and the layers: what transformers calls the base model."""

    def __init__(self, config: DecoderXlConfig) -> None:
        super().__init__()
        self.embedding = make_embedding(config)
        self.scale = config.width**0.5
        self.drop = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(Layer(config, layer) for layer in range(len(config.heads)))


class DecoderXlForCausalLM(WordHead, PreTrainedModel, GenerationMixin):
    """Word ids in, logits over the vocabulary out (log-probabilities where the softmax is adaptive with several clusters)."""

    config_class = DecoderXlConfig
    embedding_name = "embedding"
    _no_split_modules = ["Layer"]  # noqa: RUF012
    _tied_weights_keys = {"lm_head.weight": "transformer.embedding.weight"}  # noqa: RUF012

    def __init__(self, config: DecoderXlConfig) -> None:
        super().__init__(config)
        self.make_around(Stack(config))

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Normal 0.02 all over, biases zero; u and v normal too."""
        spread = self.config.initializer_range
        if isinstance(module, RelativeAttention):
            init.normal_(module.r_w_bias, mean=0.0, std=spread)
            init.normal_(module.r_r_bias, mean=0.0, std=spread)
        elif not init_adaptive(module, spread):
            super()._init_weights(module)

    def decoder_modules(self) -> list[nn.Module]:
        """What holds exactly the decoder parameters: the layers, no embeddings and no softmax."""
        return list(self.transformer.layers)

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        mems: tuple[torch.Tensor, ...] | list[torch.Tensor] | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Any = None,
        **kwargs: Any,
    ) -> DecoderXlOutput:
        """`input_ids` and `labels` (batch, length); `mems`: those of the segment before, (batch, kept, width) per layer.

        `attention_mask` (batch, length or kept + length), 1 = a word, 0 = padding; without its part for the `mems`, all of
        that is seen. Returned `mems` are the last `config.recurrence` states, or with `use_cache=True` all (as `generate` needs
        them); None where that is none. Labels are shifted inside (give `labels=input_ids`), −100 is ignored; with labels and
        several clusters, `logits` is None.
        """
        length = input_ids.shape[1]
        seen = 0 if mems is None else mems[0].shape[1]
        stack = self.transformer
        states = stack.drop(stack.embedding(input_ids) * stack.scale)
        positions = stack.drop(relative_positions(seen + length, self.config.width, states))
        unseen = hidden_keys(attention_mask, length, seen, input_ids.device)
        limit = None if use_cache else self.config.recurrence
        asked = output_hidden_states or self.config.output_hidden_states
        fed = []  # kept only where the next segment or the caller needs them: they would all stay in memory
        for place, layer in enumerate(stack.layers):
            fed += [states] if asked or limit != 0 else []
            states = layer(states, None if mems is None else mems[place], positions, unseen)
        loss, logits = self.loss_and_logits(stack.drop(states), labels, num_items_in_batch, logits_to_keep)
        return DecoderXlOutput(
            loss=loss,
            logits=logits,
            mems=self._next_mems(fed, mems, limit),
            hidden_states=(*fed, states) if asked else None,
        )

    def _next_mems(
        self, fed: list[torch.Tensor], mems: tuple[torch.Tensor, ...] | list[torch.Tensor] | None, limit: int | None
    ) -> tuple[torch.Tensor, ...] | None:
        """What each layer was fed, earlier segments included, cut to the last `limit` states (None: all), without gradients."""
        if limit == 0:
            return None
        joined = fed if mems is None else [torch.cat(pair, dim=1) for pair in zip(mems, fed, strict=True)]
        return tuple((states if limit is None else states[:, -limit:]).detach() for states in joined)

    # `generate`: `mems` stand where other models have their key/value cache.

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False

    def prepare_inputs_for_generation(  # type: ignore[override]
        self, input_ids: torch.Tensor, past_key_values: Any = None, attention_mask: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        if not kwargs.get("use_cache", True):
            past_key_values = None  # the whole text again: `config.recurrence` need not reach back to its beginning
        if past_key_values is not None:
            input_ids = input_ids[:, past_key_values[0].shape[1] :]
        return {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "mems": past_key_values,
            "use_cache": kwargs.get("use_cache", True),
            "logits_to_keep": 1,
        }

    @staticmethod
    def _reorder_cache(past_key_values: Any, beam_idx: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(states.index_select(0, beam_idx.to(states.device)) for states in past_key_values)


def hidden_keys(attention_mask: torch.Tensor | None, length: int, seen: int, device: torch.device) -> torch.Tensor:
    """Which keys each query must not see, as booleans (batch or 1, 1, length, seen + length). Every query sees itself."""
    at = torch.arange(seen, seen + length, device=device).unsqueeze(1)
    keys = torch.arange(seen + length, device=device).unsqueeze(0)
    later = (keys > at)[None, None]
    if attention_mask is None:
        return later
    padding = attention_mask == 0
    if seen and padding.shape[1] == length:
        padding = F.pad(padding, (seen, 0), value=False)
    return (later | padding[:, None, None, :]) & (keys != at)[None, None]


DecoderXlForCausalLM.register_for_auto_class("AutoModelForCausalLM")
