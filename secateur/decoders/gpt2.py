# Copyright the Secateur authors. Licensed under the Apache License, Version 2.0.
"""GPT-2 (Radford et al. 2019) with heads and inner width of their own in each layer.

Names and layouts of parameters are those of transformers' GPT-2. This file stands alone, with its neighbours: it needs torch
and transformers, not Secateur. Saved folders carry a copy of it.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import DynamicCache, GenerationMixin, PreTrainedModel
from transformers import initialization as init
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.pytorch_utils import Conv1D
from transformers.utils.generic import can_return_tuple

from .adaptive import WordHead, init_adaptive, make_embedding
from .configuration import DecoderGpt2Config


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, config: DecoderGpt2Config, layer: int) -> None:
        super().__init__()
        self.heads = config.heads[layer]
        self.dropout = config.dropout
        self.layer = layer
        self.c_attn = Conv1D(3 * config.width, config.width)
        self.c_proj = Conv1D(config.width, config.width)
        self.c_proj.onto_residual = True  # type: ignore[assignment]
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, states: torch.Tensor, visible: torch.Tensor | None, is_causal: bool, past: Any) -> torch.Tensor:
        """States (batch, length, width); `visible` (batch, 1, length, past + length) says which keys a query sees."""
        batch, length, width = states.shape
        parts = self.c_attn(states).split(width, dim=2)
        query, key, value = (p.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for p in parts)
        if past is not None:
            key, value = past.update(key, value, self.layer)
        dropout = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=visible, dropout_p=dropout, is_causal=is_causal)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        return self.resid_dropout(self.c_proj(mixed))  # type: ignore[no-any-return]


class FeedForward(nn.Module):
    def __init__(self, config: DecoderGpt2Config, layer: int) -> None:
        super().__init__()
        self.c_fc = Conv1D(config.inner[layer], config.width)
        self.c_proj = Conv1D(config.width, config.inner[layer])
        self.c_proj.onto_residual = True  # type: ignore[assignment]
        self.act = nn.GELU(approximate="tanh")  # GPT-2's gelu_new, in one pass instead of eight
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.c_proj(self.act(self.c_fc(states))))  # type: ignore[no-any-return]


class Block(GradientCheckpointingLayer):
    """Pre-norm: each sub-layer normalises its input and adds its output to it."""

    def __init__(self, config: DecoderGpt2Config, layer: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.width, eps=config.layer_norm_epsilon)
        self.attn = Attention(config, layer)
        self.ln_2 = nn.LayerNorm(config.width, eps=config.layer_norm_epsilon)
        self.mlp = FeedForward(config, layer)

    def forward(
        self, states: torch.Tensor, visible: torch.Tensor | None, is_causal: bool, past_key_values: Any = None
    ) -> torch.Tensor:
        states = states + self.attn(self.ln_1(states), visible, is_causal, past_key_values)
        return states + self.mlp(self.ln_2(states))  # type: ignore[no-any-return]


class Stack(nn.Module):
    """Embeddings, blocks and the final norm: what transformers calls the base model."""

    def __init__(self, config: DecoderGpt2Config) -> None:
        super().__init__()
        self.wte = make_embedding(config)
        self.wpe = nn.Embedding(config.max_positions, config.width)
        self.drop = nn.Dropout(config.dropout)
        self.h = nn.ModuleList(Block(config, layer) for layer in range(len(config.heads)))
        self.ln_f = nn.LayerNorm(config.width, eps=config.layer_norm_epsilon)


class DecoderGpt2ForCausalLM(WordHead, PreTrainedModel, GenerationMixin):
    """Word ids in, logits over the vocabulary out (log-probabilities where the softmax is adaptive with several clusters)."""

    config_class = DecoderGpt2Config
    embedding_name = "wte"
    _no_split_modules = ["Block"]  # noqa: RUF012
    _skip_keys_device_placement = ["past_key_values"]  # noqa: RUF012
    _tied_weights_keys = {"lm_head.weight": "transformer.wte.weight"}  # noqa: RUF012

    def __init__(self, config: DecoderGpt2Config) -> None:
        super().__init__(config)
        self.make_around(Stack(config))

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """As GPT-2: normal 0.02, projections onto the residual stream scaled by 1/√(2 layers)."""
        spread = self.config.initializer_range
        if isinstance(module, Conv1D):
            # By the mark, not from the parent: transformers does not initialise a weight twice.
            onto_residual = getattr(module, "onto_residual", False)
            init.normal_(
                module.weight, mean=0.0, std=spread / math.sqrt(2 * len(self.config.heads)) if onto_residual else spread
            )
            init.zeros_(module.bias)
        elif not init_adaptive(module, spread):
            super()._init_weights(module)

    def decoder_modules(self) -> list[nn.Module]:
        """What holds exactly the decoder parameters: the blocks and the final norm, no embeddings and no softmax."""
        return [*self.transformer.h, self.transformer.ln_f]

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        past_key_values: Any = None,
        position_ids: torch.Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Any = None,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast:
        """`input_ids` and `labels` (batch, length), `attention_mask` (batch, past + length), 1 = a word, 0 = padding.

        Labels are shifted inside (give `labels=input_ids`), −100 is ignored; with labels and several clusters there are
        no logits.
        """
        length = input_ids.shape[1]
        if use_cache is None:
            use_cache = self.config.use_cache and not self.training
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache()
        seen = 0 if past_key_values is None else past_key_values.get_seq_length()
        # (tracing has no concrete length to check)
        if not torch.compiler.is_compiling() and seen + length > self.config.max_positions:
            raise ValueError(
                f"a text of {seen + length} tokens is longer than the model's {self.config.max_positions} positions."
            )
        if position_ids is None:
            position_ids = torch.arange(seen, seen + length, device=input_ids.device).unsqueeze(0)
        visible = visible_keys(attention_mask, length, seen, input_ids.device)
        is_causal = visible is None and (seen == 0)
        stack = self.transformer
        states = stack.drop(stack.wte(input_ids) + stack.wpe(position_ids))
        asked = output_hidden_states or self.config.output_hidden_states
        every = []  # kept only where asked for: they would all stay in memory
        for block in stack.h:
            every += [states] if asked else []
            states = block(states, visible, is_causal, past_key_values=past_key_values)
        states = stack.ln_f(states)
        every += [states] if asked else []
        loss, logits = self.loss_and_logits(states, labels, num_items_in_batch, logits_to_keep)
        return CausalLMOutputWithPast(
            loss=loss,  # type: ignore[arg-type]
            logits=logits,  # type: ignore[arg-type]
            past_key_values=past_key_values if use_cache else None,
            hidden_states=tuple(every) if asked else None,
        )

    def as_stock(self) -> Any:
        """transformers' own GPT2LMHeadModel with a copy of these weights, or None where it cannot say this network."""
        from transformers import GPT2Config, GPT2LMHeadModel

        config = self.config
        if config.embedding or len(set(config.heads)) > 1 or len(set(config.inner)) > 1:
            return None
        stock = GPT2Config(
            vocab_size=config.vocab_size,
            n_positions=config.max_positions,
            n_embd=config.width,
            n_layer=len(config.heads),
            n_head=config.heads[0],
            n_inner=config.inner[0],
            resid_pdrop=config.dropout,
            embd_pdrop=config.dropout,
            attn_pdrop=config.dropout,
            layer_norm_epsilon=config.layer_norm_epsilon,
            initializer_range=config.initializer_range,
            tie_word_embeddings=config.tie,
            bos_token_id=config.bos_token_id,
            eos_token_id=config.eos_token_id,
            pad_token_id=config.pad_token_id,
        )
        model: Any = GPT2LMHeadModel(stock)
        model.to(device=self.device, dtype=self.dtype)
        model.load_state_dict(self.state_dict())
        return model.train(self.training)


def visible_keys(attention_mask: torch.Tensor | None, length: int, seen: int, device: torch.device) -> torch.Tensor | None:
    """Which keys each query sees, as booleans (batch or 1, 1, length, seen + length); None where causality alone says it.

    Every query sees itself, padding included: a row without any key would be NaN in some attention kernels.
    """
    if attention_mask is None and (seen == 0 or length == 1):
        return None
    at = torch.arange(seen, seen + length, device=device).unsqueeze(1)
    keys = torch.arange(seen + length, device=device).unsqueeze(0)
    causal = (keys <= at)[None, None]
    if attention_mask is None:
        return causal
    return (causal & (attention_mask != 0)[:, None, None, :]) | (keys == at)[None, None]


DecoderGpt2ForCausalLM.register_for_auto_class("AutoModelForCausalLM")
