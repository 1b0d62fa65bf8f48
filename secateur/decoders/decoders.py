"""From an architecture of the space `decoder` to its configuration and network, and back."""

from __future__ import annotations

from typing import Any

from secateur.architecture import Architecture
from secateur.catalogue import find
from secateur.errors import ConfigurationError
from secateur.spaces import decoder
from secateur.spaces.decoder_sizes import Sizes


def model_class(backbone: str) -> Any:
    """The network's class of a backbone. Raises UnknownNameError."""
    return find("backbone", backbone)


def is_decoder(model_type: str) -> bool:
    """Whether a configuration's `model_type` is one of these networks'."""
    return model_type.startswith("secateur_decoder_")


def config_of(architecture: Architecture, sizes: Sizes, *, dropout: float = 0.0, tie: bool = True, **more: Any) -> Any:
    """The DecoderConfig of an architecture with these sizes. `more` goes to the configuration."""
    choices: dict[str, Any] = dict(architecture.choices)
    if architecture.space != "decoder":
        raise ConfigurationError(f"`space` must be `decoder` for a decoder network, got `{architecture.space}`.")
    clustered = choices["embedding"] and choices["factor"] > 1
    chosen: dict[str, Any] = {name: list(value) if isinstance(value, tuple) else value for name, value in choices.items()}
    config_class = model_class(chosen.pop("backbone")).config_class
    try:
        return config_class(
            **chosen,
            vocab_size=sizes.vocabulary,
            cutoffs=list(sizes.cutoffs or ()) if clustered else [],
            max_positions=sizes.positions,
            recurrence=sizes.recurrence,
            dropout=dropout,
            tie=tie,
            **more,
        )
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def architecture_of(config: Any) -> Architecture:
    """The architecture of a DecoderConfig: `config_of` turned round."""
    return decoder.architecture(config.backbone, config.width, config.heads, config.inner, config.embedding, config.factor)


def build(architecture: Architecture, sizes: Sizes, *, dropout: float = 0.0, seed: int = 0, **more: Any) -> Any:
    """A randomly initialised network (a transformers PreTrainedModel on the CPU, in eval mode); equal seeds give equal weights.

    Arguments are those of `config_of`. The global random state is left as it was.
    """
    import torch

    config = config_of(architecture, sizes, dropout=dropout, **more)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed the GPUs' generators as well
        return model_class(config.backbone)(config).eval()
