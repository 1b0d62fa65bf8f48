"""Parameters and multiply-accumulates of decoder language models, in closed form: nothing is built.

The rules that the networks follow, with width d, inner width i of a layer, vocabulary V, embedding's width e and factor k:

- GPT-2 layer: attention 4d² + 4d, feed-forward 2di + i + d, two norms 4d; the final norm 2d.
- Transformer-XL layer: attention 5d² (queries, keys, values, relative positions, output; no biases) and two position biases 2d,
  feed-forward 2di + i + d, two norms 4d; no final norm.
- Plain embedding (e = 0): a table V × d, tied with the output. GPT-2 has no output bias, Transformer-XL has one of V.
- Adaptive embedding: the vocabulary is cut into clusters (one where k is 1). Cluster j has a table size_j × max(1, e // k^j)
  and a projection to d without bias unless it is as wide as d. The output uses the same tables and projections, a bias of V,
  and for each cluster but the first a vector of d and a bias that score it.
- GPT-2 has positions × d for its learnt positions, Transformer-XL none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError

#: A whole number, or an array (n,) of them.
Number = Any

#: Where the clusters of an adaptive embedding end unless one says otherwise: those of Baevski & Auli (2019) for words.
CUTOFFS = (20_000, 40_000, 200_000)


def default_cutoffs(vocabulary: int) -> tuple[int, ...]:
    """Where the clusters of a vocabulary end, the last one (at `vocabulary`) not named; empty for a small vocabulary."""
    return tuple(c for c in CUTOFFS if c < vocabulary)


def checked_cutoffs(cutoffs: Sequence[int] | None, vocabulary: int) -> tuple[int, ...]:
    """The cutoffs, the default ones for None. Raises ConfigurationError unless they ascend within the vocabulary."""
    if vocabulary < 1:
        raise ConfigurationError(f"`vocabulary` must be at least 1, got {vocabulary}.")
    if cutoffs is None:
        return default_cutoffs(vocabulary)
    found = tuple(cutoffs)
    if any(a >= b for a, b in zip((0, *found), (*found, vocabulary), strict=True)):
        raise ConfigurationError(f"`cutoffs` must ascend between 1 and the vocabulary's {vocabulary} − 1, got {list(found)}.")
    return found


def clusters(embedding: int, factor: int, vocabulary: int, cutoffs: Sequence[int] | None) -> list[tuple[int, int]]:
    """The (size, width) of each cluster of an adaptive embedding; one cluster where the factor is 1."""
    ends = checked_cutoffs(cutoffs, vocabulary) if factor > 1 else ()
    edges = (0, *ends, vocabulary)
    return [(edges[j + 1] - edges[j], max(1, embedding // factor**j)) for j in range(len(edges) - 1)]


def decoder_count(backbone: str, width: Number, layers: Number, inner: Number) -> Number:
    """Decoder parameters of numbers or arrays (n,); `inner` is the sum of the layers' inner widths."""
    feed_forward = (2 * width + 1) * inner + layers * width
    if backbone == "gpt2":
        return layers * (4 * width * width + 8 * width) + feed_forward + 2 * width
    return layers * (5 * width * width + 6 * width) + feed_forward


def embedding_count(
    backbone: str, width: Number, embedding: int, factor: int, vocabulary: int, positions: int, cutoffs: Sequence[int] | None
) -> Number:
    """Parameters outside the decoder: tables, projections, positions and output layer, for a width or widths (n,)."""
    learnt = width * positions if backbone == "gpt2" else 0 * width
    if embedding == 0:
        return learnt + width * vocabulary + (0 if backbone == "gpt2" else vocabulary)
    parts = clusters(embedding, factor, vocabulary, cutoffs)
    projections = sum((width != narrow) * width * narrow for _, narrow in parts)
    tables = sum(size * narrow for size, narrow in parts)
    return learnt + tables + projections + vocabulary + (len(parts) - 1) * (width + 1)


def _of(architecture: Architecture) -> tuple[str, int, tuple[int, ...], int, int]:
    choices: dict[str, Any] = dict(architecture.choices)
    return choices["backbone"], choices["width"], choices["inner"], choices["embedding"], choices["factor"]


def decoder_parameters(architecture: Architecture) -> int:
    """Parameters of attention, feed-forward and norms with all biases; embeddings and output layer left out."""
    backbone, width, inner, _, _ = _of(architecture)
    return int(decoder_count(backbone, width, len(inner), sum(inner)))


def parameters(architecture: Architecture, vocabulary: int, positions: int = 1024, cutoffs: Sequence[int] | None = None) -> int:
    """All trainable parameters, tied ones once. `positions` are GPT-2's; `cutoffs` None are the default ones."""
    backbone, width, inner, embedding, factor = _of(architecture)
    outside = embedding_count(backbone, width, embedding, factor, vocabulary, positions, cutoffs)
    return int(decoder_count(backbone, width, len(inner), sum(inner)) + outside)


def macs(
    architecture: Architecture,
    batch: int,
    length: int,
    vocabulary: int,
    cutoffs: Sequence[int] | None = None,
    memory: int = 0,
) -> int:
    """Multiply-accumulates of one forward pass over (batch, length) tokens, to the log-probabilities of every token.

    Counted: all matrix products, attention over the whole square of positions (masked ones too, as they are computed), and the
    output layer over the whole vocabulary. Transformer-XL attends to `memory` further positions, whose keys and values are
    computed again; its relative positions are projected once for the batch. An adaptive input projects every token by every
    cluster, as the networks do. Norms, activations, biases and the look-up of embeddings are not counted.
    """
    backbone, width, inner, embedding, factor = _of(architecture)
    layers, tokens = len(inner), batch * length
    if backbone == "gpt2":
        attention = tokens * (4 * width * width + 2 * width * length)
    else:
        seen = length + memory
        attention = tokens * 2 * width * width + batch * seen * 2 * width * width + seen * width * width
        attention += 3 * tokens * seen * width
    total = layers * attention + tokens * 2 * width * sum(inner)
    if embedding == 0:
        return total + tokens * width * vocabulary
    parts = clusters(embedding, factor, vocabulary, cutoffs)
    projections = sum(width * narrow for _, narrow in parts if narrow != width)  # on the way in, and again on the way out
    scores = sum(size * narrow for size, narrow in parts) + (len(parts) - 1) * width
    return total + tokens * (2 * projections + scores)
