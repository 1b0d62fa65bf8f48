"""A user's text for training from scratch: read, split into train, validation and test, and turned into tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import ConfigurationError, DataError
from secateur.paths import checked
from secateur.tasks.files import file_format, find_splits, read_text
from secateur.tasks.tokenizer_state import unchanged

Tokens = NDArray[np.int32]

#: Characters that are tokenised as one string, to the end of the line: tokenizers are slow on very long ones.
_PIECE = 20_000


@dataclass(frozen=True)
class Text:
    """The splits of a text. `test` is None where a folder holds none."""

    where: str
    train: str
    validation: str
    test: str | None = None


@dataclass(frozen=True)
class TextTokens:
    """The splits as token ids, int32 (n,) each."""

    train: Tokens
    validation: Tokens
    test: Tokens | None = None


def load_text(path: str | Path, *, validation_share: float = 0.05, test_share: float = 0.05) -> Text:
    """Text from a file (of any name but a table's, also .gz), or a folder with train, valid and test files (.txt or .txt.gz).

    A single file, or a training file alone, gives its end to test and validation, by share: text far from the training text,
    where random lines would share its subject. A folder with a validation file and no test file has no test text.
    Raises DataError where it is not there, empty, or in no known encoding; ConfigurationError for shares out of range.
    """
    shares = {"validation_share": validation_share, "test_share": test_share}
    faults = [f"`{name}` must lie between 0 and 1, got {share:g}." for name, share in shares.items() if not 0 < share < 1]
    if not faults and validation_share + test_share >= 1:
        faults.append(f"`validation_share` and `test_share` leave nothing to train on: {validation_share:g} + {test_share:g}.")
    if faults:
        raise ConfigurationError(faults)
    where = checked(path, DataError)
    if not where.exists():
        raise DataError(f"`{path}` does not exist: no such file or folder.")
    if not where.is_dir():
        _refuse_table(where)
        train, validation, test = _cut(read_text(where), where, validation_share, test_share)
        return Text(str(path), train, validation, test)
    files = find_splits(where)
    for file in (file for group in files.values() for file in group):
        _refuse_table(file)
    given = {split: "\n".join(read_text(file) for file in group) for split, group in files.items()}
    if "validation" in given:
        return Text(str(path), given["train"], given["validation"], given.get("test"))
    share = 0.0 if "test" in given else test_share
    train, validation, test = _cut(given["train"], files["train"][0], validation_share, share)
    return Text(str(path), train, validation, given.get("test", test))


def _refuse_table(file: Path) -> None:
    if file_format(file) not in (None, "text"):
        raise DataError(f"`{file}` is a table, but plain text is needed: write the text column to a file that ends in .txt.")


def _cut(text: str, path: Path, validation_share: float, test_share: float) -> tuple[str, str, str | None]:
    """Beginning, middle and end of the text, cut behind a line or, failing that, between words."""
    ends = [0]
    for share in (1 - validation_share - test_share, 1 - test_share):
        wanted = round(share * len(text))
        lines = text.rfind("\n", ends[-1], wanted) + 1
        words = text.rfind(" ", ends[-1], wanted) + 1
        ends.append(len(text) if share == 1 else next((e for e in (lines, words) if e > ends[-1]), wanted))
    train, validation, test = text[: ends[1]], text[ends[1] : ends[2]], text[ends[2] :]
    if not train.strip() or not validation.strip() or (test_share and not test.strip()):
        raise DataError(f"`{path}` has {len(text)} characters: too few to split into train, validation and test.")
    return train, validation, test if test_share else None


def encode(text: Text, tokenizer: Any, *, length: int) -> TextTokens:
    """The splits as token ids. Raises DataError for one that is shorter than a block of `length` tokens and its next token."""
    found: dict[str, Tokens | None] = {}
    for split in ("train", "validation", "test"):
        said: str | None = getattr(text, split)
        found[split] = None if said is None else token_ids(said, tokenizer)
        tokens = found[split]
        if tokens is not None and len(tokens) <= length:
            raise DataError(
                f"the {split} text of `{text.where}` has {len(tokens)} tokens, fewer than one block of {length} and the token "
                "after it. Give more text, or a smaller `length`."
            )
    train, validation = found["train"], found["validation"]
    assert train is not None
    assert validation is not None
    return TextTokens(train, validation, found["test"])


def pieces(text: str) -> Iterator[str]:
    """The text in pieces that end with a line, to be tokenised one by one."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _PIECE) + 1 or len(text)
        yield text[start:end]
        start = end


def token_ids(text: str, tokenizer: Any) -> Tokens:
    """The text as one array of token ids, int32, no special tokens added."""
    with unchanged(tokenizer):
        said = tokenizer(list(pieces(text)), add_special_tokens=False, return_attention_mask=False, verbose=False)
    parts = said["input_ids"]
    return np.concatenate([np.asarray(part, dtype=np.int32) for part in parts]) if parts else np.zeros(0, dtype=np.int32)
