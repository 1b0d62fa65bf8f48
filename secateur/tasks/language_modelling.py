"""Plain text as a task: tokenised and cut into blocks; the network tells the next token."""

from __future__ import annotations

from typing import Any

from secateur.errors import DataError
from secateur.tasks.examples import Examples
from secateur.tasks.splits import held_out
from secateur.tasks.text import token_ids


def blocks(text: str, tokenizer: Any, max_length: int, where: str) -> Examples:
    """`text` as examples of `max_length` tokens, the last one shorter; labels = input_ids (models and scorers shift them).

    Raises DataError where the text has fewer than two tokens: there is nothing to tell.
    """
    limit = min(max_length, tokenizer.model_max_length)
    tokens = token_ids(text, tokenizer).tolist()
    # A block of one token has no next one.
    ids = [tokens[start : start + limit] for start in range(0, len(tokens) - 1, limit)]
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
