"""Text as a task: documents packed into blocks without padding; the network tells the next token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secateur.errors import ConfigurationError, DataError
from secateur.tasks.examples import Examples
from secateur.tasks.splits import held_out
from secateur.tasks.text import Tokens, token_ids

#: What can stand between two documents: the tokenizer's token that ends a text, the one that begins it, or a new line.
SEPARATORS = ("eos", "bos", "newline")
#: What ends a document in files of plain text, as in those of GPT-2's kind and of TinyStories.
END_OF_TEXT = "<|endoftext|>"


def documents(text: str) -> list[str]:
    """The documents of a plain text: its parts between the marks `<|endoftext|>`, without the line breaks around these."""
    if END_OF_TEXT not in text:
        return [text]
    return [part for part in (part.strip("\r\n") for part in text.split(END_OF_TEXT)) if part.strip()]


def separator_token(tokenizer: Any, separator: str | None) -> int | None:
    """The id of what stands between documents, None for a new line. By default the end-of-text token, where there is one.

    Raises ConfigurationError where the tokenizer has no such token.
    """
    if separator == "newline":
        return None
    token: int | None = getattr(tokenizer, f"{separator or 'eos'}_token_id")
    if token is None and separator is not None:
        raise ConfigurationError(
            f"`separator` is {separator}, but the tokenizer has no such token: choose another of {', '.join(SEPARATORS)}."
        )
    return token


def packed(texts: Sequence[str], tokenizer: Any, separator: str | None = None) -> Tokens:
    """The documents one after the other, blank ones left out, with the separator between them: int32 (n,)."""
    token = separator_token(tokenizer, separator)
    said = [text for text in texts if text.strip()]
    if token is None:
        said = ["\n".join(said)] if said else []
    parts: list[Tokens] = [np.zeros(0, dtype=np.int32)]
    for text in said:
        parts += [np.array([token or 0], dtype=np.int32), token_ids(text, tokenizer)]
    return np.concatenate([parts[0], *parts[2:]])


def blocks(texts: Sequence[str], tokenizer: Any, max_length: int, where: str, separator: str | None = None) -> Examples:
    """The packed documents as examples of `max_length` tokens, the last one shorter; labels = input_ids (models and scorers
    shift them).

    A block begins with the last token of the one before: so every token of the text but its first is told exactly once.
    Raises DataError where there are fewer than two tokens: there is nothing to tell.
    """
    limit = min(max_length, tokenizer.model_max_length)
    tokens = packed(texts, tokenizer, separator).tolist()
    ids = [tokens[start : start + limit] for start in range(0, len(tokens) - 1, limit - 1)]
    if not ids:
        raise DataError(f"`{where}` has {len(tokens)} tokens: at least two are needed.")
    return Examples({"input_ids": ids, "attention_mask": [[1] * len(block) for block in ids], "labels": [list(b) for b in ids]})


def cut(examples: Examples, share: float, where: str) -> tuple[Examples, Examples]:
    """All but the last `share` of the blocks, and those.

    The end of the text, not random blocks of it: neighbouring blocks share their subject, which would flatter the score.
    """
    if len(examples) < 2:
        raise DataError(
            f"`{where}` has too little text to split: {len(examples)} block. Give more text or a smaller `max_length`."
        )
    head = len(examples) - held_out(share, len(examples))
    return examples[:head], examples[head:]
