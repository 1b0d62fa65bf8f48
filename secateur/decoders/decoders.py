"""From an architecture of the space `decoder` to its configuration and network, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, UnknownNameError
from secateur.spaces import decoder
from secateur.spaces.decoder_counts import checked_cutoffs
from secateur.spaces.decoder_options import BACKBONES


def model_class(backbone: str) -> Any:
    """The network's class of a backbone."""
    if backbone == "gpt2":
        from secateur.decoders.gpt2 import DecoderGpt2ForCausalLM

        return DecoderGpt2ForCausalLM
    if backbone == "transformer_xl":
        from secateur.decoders.transformer_xl import DecoderXlForCausalLM

        return DecoderXlForCausalLM
    raise UnknownNameError("backbone", backbone, BACKBONES)


def is_decoder(model_type: str) -> bool:
    """Whether a configuration's `model_type` is one of these networks'."""
    return model_type.startswith("secateur_decoder_")


def config_of(
    architecture: Architecture,
    *,
    vocabulary: int,
    cutoffs: Sequence[int] | None = None,
    positions: int = 1024,
    memory: int = 0,
    dropout: float = 0.0,
    tie: bool = True,
    **more: Any,
) -> Any:
    """The DecoderConfig of an architecture.

    `vocabulary`: number of words; `cutoffs`: ids where the clusters of an adaptive embedding end (None: the default ones of
    `spaces.decoder_counts`; without effect where there is one cluster: plain, or factor 1); `positions`: the longest text
    (gpt2); `memory`: hidden states kept from earlier segments (transformer_xl). `more` goes to the configuration.
    """
    choices: dict[str, Any] = dict(architecture.choices)
    if architecture.space != "decoder":
        raise ConfigurationError(f"`space` must be `decoder` for a decoder network, got `{architecture.space}`.")
    ends = checked_cutoffs(cutoffs, vocabulary)
    clustered = choices["embedding"] and choices["factor"] > 1
    sizes: dict[str, Any] = {name: list(value) if isinstance(value, tuple) else value for name, value in choices.items()}
    config_class = model_class(sizes.pop("backbone")).config_class
    try:
        return config_class(
            **sizes,
            vocab_size=vocabulary,
            cutoffs=list(ends) if clustered else [],
            max_positions=positions,
            memory=memory,
            dropout=dropout,
            tie=tie,
            **more,
        )
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def architecture_of(config: Any) -> Architecture:
    """The architecture of a DecoderConfig: `config_of` turned round."""
    return decoder.architecture(config.backbone, config.width, config.heads, config.inner, config.embedding, config.factor)


def build(
    architecture: Architecture,
    *,
    vocabulary: int,
    cutoffs: Sequence[int] | None = None,
    positions: int = 1024,
    memory: int = 0,
    dropout: float = 0.0,
    seed: int = 0,
    **more: Any,
) -> Any:
    """A randomly initialised network (a transformers PreTrainedModel on the CPU, in eval mode); equal seeds give equal weights.

    Arguments are those of `config_of`. The global random state is left as it was.
    """
    import torch

    config = config_of(
        architecture,
        vocabulary=vocabulary,
        cutoffs=cutoffs,
        positions=positions,
        memory=memory,
        dropout=dropout,
        **more,
    )
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed the GPUs' generators as well
        return model_class(config.backbone)(config).eval()
