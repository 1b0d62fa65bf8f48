"""Heads and units sorted by importance, for every method that slices from the front."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import torch
from safetensors.numpy import save_file

from secateur.methods.base import Bench
from secateur.rng import generator
from secateur.supernet import Importance, importance, reorder
from secateur.supernet.order import ORDER
from secateur.tasks import Examples
from secateur.writing import whole

#: Examples of a batch, at most.
BATCH = 32


def scored_part(bench: Bench, count: int) -> Examples:
    """A random part of the training data: they may be sorted by label."""
    some = generator(bench.c.seed, "order").permutation(len(bench.data.train))[:count]
    return bench.data.train.chosen(some)


@contextlib.contextmanager
def scored_batches(bench: Bench, title: str, count: int) -> Iterator[Iterator[Mapping[str, torch.Tensor]]]:
    """Such a part in batches on the bench's device, with a bar of this title.

    A language model's batches are no larger than in training: each token has the logits of a whole vocabulary.
    """
    examples = scored_part(bench, count)
    size = min(BATCH, bench.c.batch_size) if bench.data.task.kind == "language_modelling" else BATCH
    total = -(-len(examples) // size)
    with bench.progress.bar(title) as advance:

        def batches() -> Iterator[Mapping[str, torch.Tensor]]:
            for done, batch in enumerate(bench.data.batches(examples, size)):
                advance(done + 1, total)
                yield {name: value.to(bench.device) for name, value in batch.items()}

        yield batches()


def order_by_importance(bench: Bench) -> None:
    """Sort every layer's heads and units of the bench's network by importance. The permutation and the scores are kept."""
    with scored_batches(bench, "scoring heads and units", bench.c.importance_examples) as batches:
        scores: Importance = importance(bench.supernet, batches)
    bias = bench.supernet.anatomy.head_bias
    if bias:
        bench.note(f"Heads are ordered alike in all layers, which share `{bias.table}`, a table with a column for each head.")
    order = scores.order(alike=bench.supernet.heads_alike)
    with whole(bench.networks / ORDER) as draft:
        save_file({**scores.as_arrays(), **order.as_arrays()}, draft)
    reorder(bench.supernet, order)
