"""Checkpoints are files of others: what their libraries raise becomes one line, and sizes nobody has are not even tried."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from secateur.errors import ModelError, SecateurError, of_a_file
from secateur.settings import shown

#: What the number of layers is called. Of a network that was pruned it may be 0.
LAYERS = ("num_hidden_layers", "n_layer", "n_layers")
#: Sizes that a config.json may name, by each of their names → the largest that is believed.
_SIZES = {
    **dict.fromkeys(LAYERS, 1_000),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_key_value_heads", "type_vocab_size"), 10_000),
    **dict.fromkeys(("hidden_size", "n_embd", "dim", "embedding_size", "word_embed_proj_dim"), 1_000_000),
    "num_labels": 100_000,
    **dict.fromkeys(("intermediate_size", "n_inner", "hidden_dim", "ffn_dim"), 10_000_000),
    **dict.fromkeys(("vocab_size", "max_position_embeddings", "n_positions"), 100_000_000),
}


@contextlib.contextmanager
def parsing(told: str) -> Iterator[None]:
    """Within the context a file of others is parsed. Whatever that raises becomes a ModelError, `told` and the reason."""
    try:
        yield
    except SecateurError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # what Rust's libraries raise
            raise
        raise ModelError(f"{told}: {of_a_file(error)}.") from error


def size_fault(said: Mapping[str, Any], known: bool) -> str | None:
    """What is wrong with the sizes in a config.json. Where the family is not `known`, a size may be a list: one per layer."""
    no_types = str(said.get("model_type")).removeprefix("secateur_") == "deberta-v2"  # tells no kinds of texts apart
    for name, most in _SIZES.items():
        value = said.get(name)
        if value is None or not (known or type(value) is int):
            continue
        least = 0 if name in LAYERS or (name == "type_vocab_size" and no_types) else 1
        if type(value) is not int or not least <= value <= most:
            return f"`{name}` must be a whole number from {least} to {most:,}, got {shown(value)}"
    return None


def check_weights(folder: Path, build: Callable[[], Any]) -> None:
    """Raise ModelError where the weights that lie in a folder are far too few for the network that `build` makes.

    The network is made without memory. Loading would make up what is missing, and take all memory for a size that is a slip.
    """
    import torch

    files = [file for pattern in ("*.safetensors", "*.bin") for file in folder.glob(pattern)]
    closed = [file for file in files if not os.access(file, os.R_OK)]
    if closed:  # else said to be missing
        raise ModelError(f"`{closed[0]}` cannot be read: permission denied.")
    there = sum(file.stat().st_size for file in files)
    with torch.device("meta"):
        wanted = sum(parameter.numel() for parameter in build().parameters())
    if there and wanted > 8 * there:  # not even one bit for each
        raise ModelError(
            f"the weights in `{folder}` do not match its configuration: config.json asks for {wanted:,} parameters, "
            f"and the files hold {there:,} bytes. They may be damaged."
        )
