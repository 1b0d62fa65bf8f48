"""What the networks of a table are built and scored with: sizes, initial weights and a batch of texts."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.errors import ConfigurationError, DataError
from secateur.rng import generator
from secateur.spaces import decoder_counts
from secateur.spaces.decoder_sizes import Sizes
from secateur.tables import Table

_NO_VOCABULARY = "`vocabulary` must be given: the table has no column of that name. Use --vocabulary."


@dataclass(frozen=True)
class Material:
    """`batch`: token ids (examples, length). `data` says where those come from.

    `vocabulary` None: unknown, so that only what needs none can be scored. `cutoffs` None: those of the vocabulary's size.
    """

    batch: np.ndarray
    data: str
    vocabulary: int | None
    positions: int = 1024
    cutoffs: tuple[int, ...] | None = None
    seed: int = 0

    @property
    def fingerprint(self) -> str:
        tokens = np.ascontiguousarray(self.batch, dtype=np.int64)
        sizes = (self.batch.shape, self.vocabulary, self.positions, self.cutoffs, self.seed)
        return digest("proxies 1", str(sizes), tokens.tobytes())

    @property
    def size(self) -> tuple[int, int]:
        """Examples, and tokens in each."""
        return self.batch.shape[0], self.batch.shape[1]

    @cached_property
    def sizes(self) -> Sizes:
        """What the networks have beside their architecture; positions for the batch at least."""
        if self.vocabulary is None:
            raise ConfigurationError(_NO_VOCABULARY)
        return Sizes(vocabulary=self.vocabulary, cutoffs=self.cutoffs, positions=max(self.positions, self.size[1]))

    @cached_property
    def _trained(self) -> Sizes:
        """Those that the networks were trained with, however long the batch's texts are."""
        return replace(self.sizes, positions=self.positions)

    def parameters(self, architecture: Architecture) -> int:
        """All parameters of an architecture as it was trained."""
        return decoder_counts.parameters(architecture, self._trained)


def gather(
    table: Table, text: str | None, tokenizer: str | None, vocabulary: int | None, batch: int, length: int, seed: int
) -> Material:
    """Sizes from the table where it says them, tokens from the text or drawn."""
    known = vocabulary or _agreed(table, "vocabulary")
    if known is not None and known < 2:
        raise DataError(f"`{table.where}`: `vocabulary` must be at least 2, got {known}.")
    positions = _agreed(table, "positions") or 1024
    rng = generator(seed, "batch")
    if text is None:
        ids = rng.integers(0, known or 2, size=(batch, length))
        return Material(ids, f"random tokens (seed {seed})", known, positions, _cutoffs(table), seed)
    from secateur.checkpoints.tokenizers import load_tokenizer
    from secateur.tasks.text import load_text, token_ids
    from secateur.tasks.tokenizers import check_fits, train_tokenizer

    said = load_text(text).train
    if known is None and tokenizer is None:
        raise ConfigurationError(_NO_VOCABULARY)
    reader = load_tokenizer(tokenizer) if tokenizer is not None else train_tokenizer(said, known or 0)
    known = known or len(reader)
    check_fits(reader, known)
    # A few million characters hold enough texts to draw from.
    tokens = token_ids(said[:4_000_000], reader)
    if len(tokens) < length:
        raise DataError(
            f"`{text}` has {len(tokens)} tokens, fewer than one text of {length}. Give more text, or a smaller --length."
        )
    starts = rng.integers(0, len(tokens) - length + 1, size=batch)
    ids = np.stack([tokens[start : start + length] for start in starts]).astype(np.int64)
    return Material(ids, f"{batch} texts of {length} tokens from `{text}`", known, positions, _cutoffs(table), seed)


def _agreed(table: Table, name: str) -> int | None:
    """A whole number that a column of the table gives, alike in every row."""
    numbers = table.column(name)
    if name not in table.extra and np.isnan(numbers).all():
        return None
    if name in table.extra or (numbers != numbers[0]).any() or not float(numbers[0]).is_integer():
        shown = sorted({str(value) for value in table.extra.get(name, numbers)})[:4]
        raise DataError(f"`{table.where}`: `{name}` must be the same whole number in all rows, got {shown}.")
    return int(numbers[0])


def _cutoffs(table: Table) -> tuple[int, ...] | None:
    """The clusters' ends that the table's column `cutoffs` (a list, or its JSON) gives; None where there is none."""
    column = table.extra["cutoffs"] if "cutoffs" in table.extra else table.columns.get("cutoffs", ())
    given = next((value for value in column if value is not None), None)
    if given is None:
        return None
    try:
        return tuple(int(c) for c in (json.loads(given) if isinstance(given, str) else given))
    except (TypeError, ValueError):
        raise DataError(f"`{table.where}`: `cutoffs` must be a list of whole numbers, got `{given}`.") from None
