"""One long array of tokens as training examples: shuffled windows, or rows that go on from one batch to the next.

A window of `length` tokens gives `length − 1` next tokens to tell, and begins with the last token of the one before it: so
every token but the first is told exactly once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from secateur.errors import DataError
from secateur.tasks.text import Tokens

#: The label of a token that does not count.
IGNORED = -100


class Windows:
    """Windows of `length` tokens, int32 (length,) each, in any order. A rest that fills no window is left out."""

    def __init__(self, tokens: Tokens, length: int) -> None:
        _check(tokens, 1, length)
        self.tokens, self.length, self.stride = tokens, length, length - 1
        self.size = (len(tokens) - 1) // self.stride

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Tokens:
        start = index * self.stride
        return self.tokens[start : start + self.length]


class Streams:
    """The text as `rows` equal parts, side by side: example b · rows + r is the b-th window of part r.

    Read in order in batches of `rows`, row r of a batch goes on where row r of the batch before ended.
    """

    def __init__(self, tokens: Tokens, length: int, rows: int) -> None:
        _check(tokens, rows, length)
        self.tokens, self.length, self.stride, self.rows = tokens, length, length - 1, rows
        self.part = (len(tokens) - 1) // rows

    @property
    def batches(self) -> int:
        return self.part // self.stride

    def __len__(self) -> int:
        return self.batches * self.rows

    def __getitem__(self, index: int) -> Tokens:
        batch, row = divmod(index, self.rows)
        start = row * self.part + batch * self.stride
        return self.tokens[start : start + self.length]


def collate(windows: Sequence[Tokens]) -> dict[str, Any]:
    """Windows as a batch: `input_ids` and `labels` are the same int64 tensor (batch, length); networks shift the labels."""
    import torch

    ids = torch.from_numpy(np.stack(windows).astype(np.int64))
    return {"input_ids": ids, "labels": ids}


def scored(tokens: Tokens, length: int, rows: int, *, in_order: bool) -> Iterator[tuple[Tokens, Tokens]]:
    """Batches (input_ids, labels), int32 (rows, length) each, in which every token but the first is told exactly once.

    `in_order`: as Streams, so that a recurrent network can carry its hidden states on. What fills a window up is labelled −100.
    Raises DataError where there is no token to tell.
    """
    _check_length(length)
    if len(tokens) < 2:
        raise DataError(f"the text has {len(tokens)} tokens: at least two are needed, one to predict the other.")
    stride, told = length - 1, len(tokens) - 1
    windows = -(-told // stride)
    rows = max(1, min(rows, windows))
    across = -(-windows // rows)  # windows in a row
    for batch in range(across):
        order = range(batch, windows, across) if in_order else range(batch * rows, min((batch + 1) * rows, windows))
        parts = [tokens[w * stride : w * stride + length] for w in order]
        ids = np.zeros((len(parts), length), dtype=np.int32)
        labels = np.full((len(parts), length), IGNORED, dtype=np.int32)
        for row, part in enumerate(parts):
            ids[row, : len(part)] = labels[row, : len(part)] = part
        yield ids, labels


def _check(tokens: Tokens, rows: int, length: int) -> None:
    _check_length(length)
    if (len(tokens) - 1) // rows < length - 1:
        raise DataError(
            f"the text has {len(tokens)} tokens: too few for {rows} rows of {length}. "
            "Give more text, a smaller `length` or a smaller batch."
        )


def _check_length(length: int) -> None:
    if length < 2:
        raise DataError(f"`length` must be at least 2 tokens, got {length}.")
