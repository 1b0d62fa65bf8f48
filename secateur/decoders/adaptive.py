# Copyright the Secateur authors. Licensed under the Apache License, Version 2.0.
"""Adaptive input embeddings (Baevski & Auli 2019) and the adaptive softmax (Grave et al. 2017) that shares their tables.

Frequent words (low ids) form the first cluster and have wide vectors, rarer clusters have narrower ones; a projection brings
each to the model's width. This file stands alone: it needs torch and transformers, not Secateur. Saved folders
carry a copy of it.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

#: The label of a token that counts in no loss.
IGNORED = -100


class Projection(nn.Linear):
    """From a cluster's width to the model's, without bias."""

    def __init__(self, narrow: int, width: int) -> None:
        super().__init__(narrow, width, bias=False)


class Vectors(nn.Module):
    """A table and, where its width is not the model's, a projection (no bias) for each cluster."""

    def __init__(self, clusters: list[tuple[int, int, int]], width: int) -> None:
        super().__init__()
        self.spans = [(start, end) for start, end, _ in clusters]
        self.tables = nn.ModuleList(nn.Embedding(end - start, narrow) for start, end, narrow in clusters)
        self.projections = nn.ModuleList(
            nn.Identity() if narrow == width else Projection(narrow, width) for _, _, narrow in clusters
        )

    def scores(self, hidden: torch.Tensor, cluster: int, bias: torch.Tensor) -> torch.Tensor:
        """Dot products (…, words) of hidden states (…, width) with the cluster's projected vectors, and `bias` (words,)."""
        projection = self.projections[cluster]
        if isinstance(projection, Projection):
            hidden = F.linear(hidden, projection.weight.t())
        return F.linear(hidden, self.tables[cluster].weight, bias)  # type: ignore[arg-type]


class AdaptiveEmbedding(Vectors):
    """Word ids (…) to vectors (…, width)."""

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        # Every cluster looks every word up, those of others as zero: narrow look-ups cost little, and the graph then depends
        # on no value, so that it runs on the meta device and exports.
        total = torch.zeros((), device=ids.device)
        for (start, end), table, projection in zip(self.spans, self.tables, self.projections, strict=True):
            if len(self.spans) == 1:
                return projection(table(ids))  # type: ignore[no-any-return]
            inside = (ids >= start) & (ids < end)
            found = table((ids - start).clamp(0, end - start - 1))
            total = total + projection(found * inside.unsqueeze(-1).to(found.dtype))
        return total


class AdaptiveHead(nn.Module):
    """Hidden states to logits (one cluster) or log-probabilities (several) over the vocabulary.

    The head's softmax covers the first cluster's words and one entry per further cluster; log p(word) = log p(cluster) +
    log p(word | cluster). Vectors are those of the input embedding when tied, own ones otherwise.
    """

    def __init__(self, clusters: list[tuple[int, int, int]], width: int, tie: bool) -> None:
        super().__init__()
        self.spans = [(start, end) for start, end, _ in clusters]
        #: Whether a loss chooses the rows that a cluster's softmax is computed for: less to do, but shapes depend on the words.
        self.chooses = True
        self.vectors = None if tie else Vectors(clusters, width)
        self.bias = nn.Parameter(torch.zeros(self.spans[-1][1]))
        if len(clusters) > 1:
            self.cluster_weight = nn.Parameter(torch.zeros(len(clusters) - 1, width))
            self.cluster_bias = nn.Parameter(torch.zeros(len(clusters) - 1))

    def _entries(self, hidden: torch.Tensor, vectors: Vectors) -> torch.Tensor:
        """Scores (…, first cluster's words + further clusters)."""
        words = vectors.scores(hidden, 0, self.bias[: self.spans[0][1]])
        rest = F.linear(hidden, self.cluster_weight, self.cluster_bias)
        return torch.cat([words, rest], dim=-1)

    def _first(self, hidden: torch.Tensor, vectors: Vectors) -> torch.Tensor:
        """Log-probabilities (…, first cluster's words + further clusters), in float32 at least."""
        return _log_softmax(self._entries(hidden, vectors))

    def _tail(self, hidden: torch.Tensor, vectors: Vectors, cluster: int) -> torch.Tensor:
        """Log-probabilities (…, words) of a further cluster's words, given the cluster."""
        start, end = self.spans[cluster]
        return _log_softmax(vectors.scores(hidden, cluster, self.bias[start:end]))

    def forward(self, hidden: torch.Tensor, embedding: Vectors) -> torch.Tensor:
        """Logits or log-probabilities (…, vocabulary)."""
        vectors = self.vectors or embedding
        if len(self.spans) == 1:
            return vectors.scores(hidden, 0, self.bias)
        # (an exported graph has no memory of its own to write into)
        if not torch.is_grad_enabled() and not torch.compiler.is_compiling():
            return self._in_place(hidden, vectors)
        first = self._first(hidden, vectors)
        words = self.spans[0][1]
        parts = [first[..., :words]]
        for cluster in range(1, len(self.spans)):
            parts.append(self._tail(hidden, vectors, cluster) + first[..., words + cluster - 1].unsqueeze(-1))
        return torch.cat(parts, dim=-1)

    def _in_place(self, hidden: torch.Tensor, vectors: Vectors) -> torch.Tensor:
        """`forward` of several clusters without gradients: in one buffer, so that parts and whole are not there at once."""
        gates = _precise(F.linear(hidden, self.cluster_weight, self.cluster_bias))
        whole = gates.new_empty(*hidden.shape[:-1], self.spans[-1][1])
        for cluster, (start, end) in enumerate(self.spans):
            part = whole[..., start:end]
            part.copy_(vectors.scores(hidden, cluster, self.bias[start:end]))
            total = _log_sum(part)
            if cluster == 0:
                total = torch.logaddexp(total, _log_sum(gates))
                gates = gates - total
            else:
                total = total - gates[..., cluster - 1].unsqueeze(-1)
            part.sub_(total)
        return whole

    def loss_sum(self, hidden: torch.Tensor, labels: torch.Tensor, embedding: Vectors) -> torch.Tensor:
        """Sum of −log p(label) over states (n, width) and labels (n,), without the (n, vocabulary) matrix.

        Each further cluster's softmax is computed for its own words only, or, where nothing is chosen, thrown away for others.
        """
        vectors = self.vectors or embedding
        if self.chooses:
            kept = (labels != IGNORED).nonzero().squeeze(1)
            hidden, labels = hidden[kept], labels[kept]
        words = self.spans[0][1]
        entry = labels
        total = torch.zeros((), device=hidden.device)
        for cluster in range(1, len(self.spans)):
            start, end = self.spans[cluster]
            inside = (labels >= start) & (labels < end)
            entry = torch.where(inside, words + cluster - 1, entry)
            states, own = hidden, torch.where(inside, labels - start, IGNORED)
            if self.chooses:
                rows = inside.nonzero().squeeze(1)
                states, own = hidden[rows], own[rows]
            # No early exit where no row is inside: every parameter then has a gradient in every step.
            total = total + _summed(vectors.scores(states, cluster, self.bias[start:end]), own)
        return total + _summed(self._entries(hidden, vectors), entry)


def _summed(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The sum of −log p(label) over scores (n, words) and labels (n,)."""
    return F.cross_entropy(_precise(scores), labels, ignore_index=IGNORED, reduction="sum")


def _log_softmax(scores: torch.Tensor) -> torch.Tensor:
    return F.log_softmax(_precise(scores), dim=-1)


def _log_sum(scores: torch.Tensor) -> torch.Tensor:
    """log Σ exp over the last dimension, kept. Spelt out: torch's own hides what it needs from those who count memory."""
    largest = scores.amax(dim=-1, keepdim=True)
    return (scores - largest).exp_().sum(dim=-1, keepdim=True).log_() + largest


def _precise(scores: torch.Tensor) -> torch.Tensor:
    """In float32 at least: half precision is too coarse for a softmax over a vocabulary."""
    return scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores


def make_embedding(config: Any) -> nn.Module:
    """The input embedding that a configuration asks for: a plain table, or an adaptive one."""
    if not config.embedding:
        return nn.Embedding(config.vocab_size, config.width)
    return AdaptiveEmbedding(config.clusters, config.width)


def make_head(config: Any) -> nn.Module:
    """The output layer that goes with it. A plain GPT-2 has no output bias, all others have one."""
    if not config.embedding:
        return nn.Linear(config.width, config.vocab_size, bias=config.backbone != "gpt2")
    return AdaptiveHead(config.clusters, config.width, config.tie)


def init_adaptive(module: nn.Module, spread: float) -> bool:
    """Initialise a part of these layers; False for any other module.

    Projections keep the scale: a projected vector and a score vary as those of a plain table do, whatever the cluster.
    """
    if isinstance(module, Projection):
        init.normal_(module.weight, mean=0.0, std=module.in_features**-0.5)
    elif isinstance(module, AdaptiveHead):
        init.zeros_(module.bias)
        if len(module.spans) > 1:
            init.normal_(module.cluster_weight, mean=0.0, std=spread)
            init.zeros_(module.cluster_bias)
    else:
        return False
    return True


def _several(head: nn.Module) -> TypeGuard[AdaptiveHead]:
    """Whether a head has several clusters: then it gives log-probabilities, and tells a loss without them."""
    return isinstance(head, AdaptiveHead) and len(head.spans) > 1


def predict(head: nn.Module, embedding: nn.Module, hidden: torch.Tensor) -> torch.Tensor:
    """Logits or log-probabilities (…, vocabulary) of hidden states (…, width)."""
    return head(hidden, embedding) if isinstance(head, AdaptiveHead) else head(hidden)  # type: ignore[no-any-return]


def loss_and_logits(
    head: nn.Module, embedding: nn.Module, hidden: torch.Tensor, labels: torch.Tensor, items: Any = None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The next-word loss of states (batch, length, width) and labels (batch, length), and the logits where they were made.

    Label t + 1 is the target of state t; −100 is ignored. The loss is the mean over targets, or their sum over `items` where
    that number is given (gradient accumulation). An adaptive softmax of several clusters makes no logits.
    """
    if _several(head) and hidden.device.type != "meta":
        targets = labels[:, 1:].reshape(-1).to(hidden.device)
        states = hidden[:, :-1].reshape(-1, hidden.shape[-1])
        total = head.loss_sum(states, targets, embedding)  # type: ignore[arg-type]
        # With no target at all the mean is 0/0, as in torch's own cross-entropy.
        return total / ((targets != IGNORED).sum() if items is None else items), None
    logits = predict(head, embedding, hidden)
    # The last state has no target. Leaving it out would copy all the others' logits.
    targets = F.pad(labels[:, 1:], (0, 1), value=IGNORED).reshape(-1).to(hidden.device)
    scores = _precise(logits.reshape(-1, logits.shape[-1]))
    if items is None:
        return F.cross_entropy(scores, targets, ignore_index=IGNORED), logits
    return F.cross_entropy(scores, targets, ignore_index=IGNORED, reduction="sum") / items, logits


class WordHead:
    """What the networks have in common around their stack of layers; comes before PreTrainedModel."""

    #: What the stack calls its input embedding.
    embedding_name: str
    base_model_prefix = "transformer"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    config: Any
    post_init: Any
    #: Whether a head that gives logits gives log-probabilities instead, as adaptive ones do: networks that are measured beside
    #: each other must give the same.
    normalises = False

    def make_around(self, stack: nn.Module) -> None:
        self.transformer: Any = stack
        self.lm_head = make_head(self.config)
        if self.config.embedding:  # an adaptive head reads the input's tables itself: there is no second copy to tie
            self._tied_weights_keys: dict[str, str] = {}
        self.post_init()

    def get_input_embeddings(self) -> Any:
        return getattr(self.transformer, self.embedding_name)

    def set_input_embeddings(self, value: nn.Module) -> None:
        setattr(self.transformer, self.embedding_name, value)

    def get_output_embeddings(self) -> Any:
        return self.lm_head

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        self.lm_head = new_embeddings

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> Any:
        if self.config.embedding:
            raise ValueError("An adaptive embedding cannot be resized: build a network of the other vocabulary instead.")
        return super().resize_token_embeddings(*args, **kwargs)  # type: ignore[misc]

    def loss_and_logits(
        self, hidden: torch.Tensor, labels: torch.Tensor | None, items: Any, logits_to_keep: int | torch.Tensor
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """With labels as the function of this name; without, no loss and the logits of the last states or of those named."""
        embedding = self.get_input_embeddings()
        if labels is not None:
            return loss_and_logits(self.lm_head, embedding, hidden, labels, items)
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        scores = predict(self.lm_head, embedding, hidden[:, kept])
        return None, F.log_softmax(scores, dim=-1) if self.normalises and not _several(self.lm_head) else scores
