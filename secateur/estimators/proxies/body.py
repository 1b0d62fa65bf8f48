"""Which part of a network a proxy looks at: its body, without embeddings and without the softmax over a vocabulary.

An embedding is a look-up: its weights multiply nothing. The projection to the vocabulary is as large as the vocabulary,
and would drown what the layers say (Javaheripi et al. 2022, section 3.1). A classifier's head, with its few labels, stays.
"""

from __future__ import annotations

from typing import Any

from torch import nn


def decoder_modules(network: nn.Module) -> list[nn.Module]:
    """The modules that a decoder of ours names as its body, in the order in which they run; empty for other networks."""
    find = getattr(network, "decoder_modules", None)
    return list(find()) if callable(find) else []


def output_embeddings(network: nn.Module) -> nn.Module | None:
    """The projection to the vocabulary of a language model from transformers, or None."""
    find: Any = getattr(network, "get_output_embeddings", None)
    found = find() if callable(find) else None
    return found if isinstance(found, nn.Module) else None


def input_lookup(network: nn.Module) -> nn.Module | None:
    """The module that turns token ids into vectors: what the network names, else its first table; None where it has none."""
    find: Any = getattr(network, "get_input_embeddings", None)
    if callable(find):
        try:
            found = find()
        except NotImplementedError:  # transformers' way to say that a network has none
            found = None
        if isinstance(found, nn.Module):
            return found
    return next((module for module in network.modules() if isinstance(module, nn.Embedding)), None)


def body_parameters(network: nn.Module) -> dict[str, nn.Parameter]:
    """Name → parameter of the body, in the network's order, each once.

    It is what `network.decoder_modules()` names; without it, all parameters but those of embeddings (positions too), of the
    module that `get_input_embeddings` names and of the one that `get_output_embeddings` names.
    """
    named = dict(network.named_parameters())
    chosen = decoder_modules(network)
    if chosen:
        inside = {id(p) for module in chosen for p in module.parameters()}
        return {name: p for name, p in named.items() if id(p) in inside}
    left_out: list[nn.Module] = [m for m in network.modules() if isinstance(m, nn.Embedding | nn.EmbeddingBag)]
    left_out += [m for m in (output_embeddings(network), input_lookup(network)) if m is not None]
    outside = {id(p) for module in left_out for p in module.parameters()}
    return {name: p for name, p in named.items() if id(p) not in outside}


def is_language_model(network: nn.Module) -> bool:
    """Whether the network's output is over a vocabulary, so that the body ends before it."""
    return bool(decoder_modules(network)) or output_embeddings(network) is not None
