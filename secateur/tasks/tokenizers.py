"""Tokenizers for networks that are trained from scratch, trained on the user's text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain
from typing import Any

from secateur.errors import ConfigurationError
from secateur.tasks.text import pieces

#: The one special token: it ends a text, and pads where something has to.
END = "<|endoftext|>"
#: A byte-level vocabulary holds every byte and the end of text, so that nothing is unknown.
SMALLEST = 257
#: Characters that a tokenizer is trained on: more changes its merges little, and takes long.
_ENOUGH = 50_000_000
#: Pieces of text that are counted at once.
_AT_ONCE = 64


def train_tokenizer(text: str | Iterable[str], vocabulary: int) -> Any:
    """A byte-level BPE tokenizer (PreTrainedTokenizerFast) with at most `vocabulary` tokens, `<|endoftext|>` the first.

    Tokens are numbered by how often they occur in the text, the most frequent first: adaptive embeddings give wide vectors to
    low ids. Ties keep the order of the merges, tokens that never occur come last. There are fewer than asked for where the
    text has no more pairs to merge: `len(tokenizer)` says how many. The same text gives the same tokenizer. Raises
    ConfigurationError for a vocabulary below 257: every byte needs a token.
    """
    if vocabulary < SMALLEST:
        raise ConfigurationError(
            f"`vocabulary` must be at least {SMALLEST} (every byte, plus the end of text), got {vocabulary}."
        )
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = [t[:_ENOUGH] for t in ([text] if isinstance(text, str) else text)]
    tokenizer.train_from_iterator((line for t in texts for line in t.splitlines(keepends=True)), trainer=trainer)
    return byte_level(_by_frequency(tokenizer, texts))


def _by_frequency(tokenizer: Any, texts: Iterable[str]) -> Any:
    """The tokenizer with its tokens numbered anew by their counts in the texts; the end of text stays 0, merges stay."""
    import numpy as np
    from tokenizers import Tokenizer, models

    counts = np.zeros(tokenizer.get_vocab_size(), dtype=np.int64)
    parts = [piece for text in texts for piece in pieces(text)]
    for start in range(0, len(parts), _AT_ONCE):
        found = tokenizer.encode_batch_fast(parts[start : start + _AT_ONCE], add_special_tokens=False)
        ids = np.fromiter(chain.from_iterable(encoding.ids for encoding in found), dtype=np.int64)
        counts += np.bincount(ids, minlength=len(counts))
    model = json.loads(tokenizer.to_str())["model"]
    words = sorted(model["vocab"], key=lambda word: (word != END, -counts[model["vocab"][word]], model["vocab"][word]))
    merges = [(first, second) for first, second in model["merges"]]
    made = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=merges))
    made.add_special_tokens([END])
    return made


def check_fits(tokenizer: Any, vocabulary: int) -> None:
    """Raise ConfigurationError where the tokenizer has tokens that a network with `vocabulary` tokens does not know."""
    if len(tokenizer) > vocabulary:
        raise ConfigurationError(
            f"the tokenizer has {len(tokenizer):,} tokens, but `vocabulary` is only {vocabulary:,}. "
            "Give a smaller tokenizer, or design for a larger vocabulary."
        )


def byte_level(tokenizer: Any) -> Any:
    """A tokenizer of `tokenizers` that reads and writes bytes, as transformers wants it."""
    from tokenizers import decoders, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = {"eos_token": END, "bos_token": END, "pad_token": END} if tokenizer.token_to_id(END) is not None else {}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
