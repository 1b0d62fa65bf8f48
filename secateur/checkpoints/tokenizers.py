"""Reading tokenizers: the one that comes with a model, or one for a network that is trained from scratch."""

from __future__ import annotations

import gzip
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from secateur.checkpoints.folders import local
from secateur.checkpoints.pretrained import reading
from secateur.errors import DataError, MissingExtraError, ModelError, one_line
from secateur.tasks.tokenizer_state import unchanged
from secateur.tasks.tokenizers import byte_level

#: What the names of tokenizer files look like, of all families.
_FILES = ("tokenizer*", "vocab*", "*.model", "*.tiktoken", "tekken.json")


def tokenizer_of(model: str) -> Any:
    """The tokenizer that comes with a model. Raises ModelError where there is none, or one that the model has no words for."""
    from transformers import AutoConfig, AutoTokenizer

    missing = f"`{model}` has no tokenizer files. Save the model's tokenizer beside it: tokenizer.save_pretrained(...)."
    folder = local(model)
    if folder is not None:
        if not any(file for pattern in _FILES for file in folder.glob(pattern)):
            raise ModelError(missing)
        one_file = (folder / "tokenizer.model").is_file() and not (folder / "tokenizer.json").is_file()
        if one_file and not find_spec("sentencepiece"):
            raise MissingExtraError("sentencepiece", "sentencepiece")
    with reading(model) as source:
        tokenizer = AutoTokenizer.from_pretrained(source)
        words = getattr(AutoConfig.from_pretrained(source), "vocab_size", None)
        if _empty(tokenizer):
            raise ModelError(missing)
        _try(tokenizer, words)
    if words is not None and len(tokenizer) > words:
        raise ModelError(
            f"the tokenizer of `{model}` does not match the model: it has {len(tokenizer)} tokens, the model {words}. "
            "Use the tokenizer that the model was trained with."
        )
    return _plain(tokenizer)


def load_tokenizer(source: str | Path) -> Any:
    """The tokenizer in a folder (tokenizer.json, or vocab.json with merges.txt, also as .gz), or of a name on the hub.

    Raises DataError where there is none.
    """
    try:
        folder = local(source)
        if folder is not None:
            folder = folder.parent if folder.is_file() else folder
            if not any(path.name.startswith(("tokenizer", "spiece")) for path in folder.iterdir()):
                return _from_merges(folder)
        with reading(str(folder or source)) as where:
            from transformers import AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(where, trust_remote_code=False)
            if _empty(tokenizer):
                raise ModelError("it has no tokens.")
            _try(tokenizer)
    except ModelError as error:
        raise DataError(f"there is no tokenizer `{source}`: {error}") from error
    return _plain(tokenizer)


def _plain(tokenizer: Any) -> Any:
    """A tokenizer that is saved as its files are: transformers would save how it was loaded, too."""
    for name in ("is_local", "local_files_only"):
        tokenizer.init_kwargs.pop(name, None)
    return tokenizer


def _try(tokenizer: Any, words: int | None = None) -> None:
    """Tokenise a word and a pair: raises ValueError, or what `tokenizers` raises, for a tokenizer that cannot be used."""
    length = tokenizer.model_max_length
    if isinstance(length, bool) or not isinstance(length, int | float) or length < 2:
        raise ValueError(f"`model_max_length` of its tokenizer must be a number of at least 2, got {length!r}")
    texts = (("word",), ("word", "word"))
    with unchanged(tokenizer):
        framed = [token for text in texts for token in tokenizer(*text, truncation=True, max_length=8)["input_ids"]]
    framed.append(tokenizer.pad_token_id or 0)
    if words is not None and not all(0 <= token < words for token in framed):
        raise ValueError(f"its tokenizer adds the token {max(framed)}, and the model knows {words}")


def _empty(tokenizer: Any) -> bool:
    """Whether it has special tokens only: that is what transformers makes where there are no files."""
    return len(tokenizer) <= len(set(tokenizer.all_special_ids))


def _from_merges(folder: Path) -> Any:
    """A byte-level BPE tokenizer as GPT-2's was first given away."""
    from tokenizers import Tokenizer, models

    vocabulary, merges = (_either(folder, name) for name in ("vocab.json", "merges.txt"))
    if vocabulary is None or merges is None:
        raise DataError(f"`{folder}` contains no tokenizer: it has neither tokenizer.json nor vocab.json with merges.txt.")
    try:
        tokens = json.loads(_read(vocabulary))
        lines = [line for line in _read(merges).splitlines() if line and not line.startswith("#version")]
        pairs = [(first, second) for first, _, second in (line.partition(" ") for line in lines)]
        return byte_level(Tokenizer(models.BPE(vocab=tokens, merges=pairs)))
    except Exception as error:  # `tokenizers` raises a bare Exception for merges of tokens that are not in the vocabulary
        raise DataError(f"the tokenizer in `{folder}` is damaged: {one_line(error)}.") from error


def _either(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _read(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
