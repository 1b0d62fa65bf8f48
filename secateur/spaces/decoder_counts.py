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

from typing import Any

from secateur.architecture import Architecture
from secateur.spaces.decoder_sizes import Sizes

#: A whole number, or an array (n,) of them.
Number = Any


def decoder_count(backbone: str, width: Number, layers: Number, inner: Number) -> Number:
    """Decoder parameters of numbers or arrays (n,); `inner` is the sum of the layers' inner widths."""
    feed_forward = (2 * width + 1) * inner + layers * width
    if backbone == "gpt2":
        return layers * (4 * width * width + 8 * width) + feed_forward + 2 * width
    return layers * (5 * width * width + 6 * width) + feed_forward


def embedding_count(backbone: str, width: Number, embedding: int, factor: int, sizes: Sizes) -> Number:
    """Parameters outside the decoder: tables, projections, positions and output layer, for a width or widths (n,)."""
    vocabulary = sizes.vocabulary
    learnt = width * sizes.positions if backbone == "gpt2" else 0 * width
    if embedding == 0:
        return learnt + width * vocabulary + (0 if backbone == "gpt2" else vocabulary)
    parts = sizes.clusters(embedding, factor)
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


def parameters(architecture: Architecture, sizes: Sizes) -> int:
    """All trainable parameters, tied ones once."""
    backbone, width, inner, embedding, factor = _of(architecture)
    outside = embedding_count(backbone, width, embedding, factor, sizes)
    return int(decoder_count(backbone, width, len(inner), sum(inner)) + outside)


def macs(architecture: Architecture, sizes: Sizes, batch: int, length: int) -> int:
    """Multiply-accumulates of one forward pass over (batch, length) tokens, to the log-probabilities of every token.

    Counted: all matrix products, attention over the whole square of positions (masked ones too, as they are computed), and the
    output layer over the whole vocabulary. Transformer-XL attends to `recurrence` further positions, whose keys and values are
    computed again; its relative positions are projected once for the batch. An adaptive input projects every token by every
    cluster, as the networks do. Norms, activations, biases and the look-up of embeddings are not counted.
    """
    backbone, width, inner, embedding, factor = _of(architecture)
    return int(macs_count(backbone, width, len(inner), sum(inner), embedding, factor, sizes, batch, length))


def macs_count(
    backbone: str,
    width: int,
    layers: int,
    inner: Number,
    embedding: int,
    factor: int,
    sizes: Sizes,
    batch: int,
    length: int,
) -> Number:
    """`macs` of numbers or arrays (n,); `inner` is the sum of the layers' inner widths."""
    tokens = batch * length
    if backbone == "gpt2":
        attention = tokens * (4 * width * width + 2 * width * length)
    else:
        seen = length + sizes.recurrence
        attention = tokens * 2 * width * width + batch * seen * 2 * width * width + seen * width * width
        attention += 3 * tokens * seen * width
    total = layers * attention + tokens * 2 * width * inner
    if embedding == 0:
        return total + tokens * width * sizes.vocabulary
    parts = sizes.clusters(embedding, factor)
    projections = sum(width * narrow for _, narrow in parts if narrow != width)  # on the way in, and again on the way out
    scores = sum(size * narrow for size, narrow in parts) + (len(parts) - 1) * width
    return total + tokens * (2 * projections + scores)
