"""Tokenizers for networks that are trained from scratch: one trained on the user's text, or one given."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from secateur.errors import ConfigurationError, DataError
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
            f"`vocabulary` must be at least {SMALLEST} (every byte, and the end of text), got {vocabulary}."
        )
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = [t[:_ENOUGH] for t in ([text] if isinstance(text, str) else text)]
    tokenizer.train_from_iterator((line for t in texts for line in t.splitlines(keepends=True)), trainer=trainer)
    return _wrapped(_by_frequency(tokenizer, texts))


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
    made.pre_tokenizer, made.decoder = tokenizer.pre_tokenizer, tokenizer.decoder
    made.add_special_tokens([END])
    return made


def load_tokenizer(source: str | Path) -> Any:
    """The tokenizer in a folder (tokenizer.json, or vocab.json with merges.txt, also as .gz), or of a name on the hub.

    Raises DataError where there is none.
    """
    folder = Path(source).expanduser()
    if not folder.exists():
        text = str(source)
        if isinstance(source, Path) or folder.is_absolute() or text.startswith((".", "~")) or text.count("/") > 1:
            raise DataError(f"there is no tokenizer `{source}`: no such folder.")
        return _from_transformers(text, text)
    folder = folder.parent if folder.is_file() else folder
    names = {path.name for path in folder.iterdir()}
    if any(name.startswith(("tokenizer", "spiece")) for name in names):
        return _from_transformers(str(folder), str(source))
    vocabulary, merges = (_either(folder, name) for name in ("vocab.json", "merges.txt"))
    if vocabulary is None or merges is None:
        raise DataError(f"`{source}` holds no tokenizer: it has neither tokenizer.json nor vocab.json with merges.txt.")
    return _from_merges(vocabulary, merges)


def check_fits(tokenizer: Any, vocabulary: int) -> None:
    """Raise ConfigurationError where the tokenizer has tokens that a network with `vocabulary` tokens does not know."""
    if len(tokenizer) > vocabulary:
        raise ConfigurationError(
            f"the tokenizer has {len(tokenizer):,} tokens, and `vocabulary` is {vocabulary:,}: it must be at least as large. "
            "Give a smaller tokenizer, or design for a larger vocabulary."
        )


def _from_transformers(name: str, said: str) -> Any:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"the tokenizer `{said}` cannot be loaded: {reason}") from error
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):  # without files transformers makes an empty one
        raise DataError(f"the tokenizer `{said}` cannot be loaded: it has no tokens.")
    return tokenizer


def _from_merges(vocabulary: Path, merges: Path) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    try:
        tokens = json.loads(_read(vocabulary))
        lines = [line for line in _read(merges).splitlines() if line and not line.startswith("#version")]
        pairs = [(first, second) for first, _, second in (line.partition(" ") for line in lines)]
        tokenizer = Tokenizer(models.BPE(vocab=tokens, merges=pairs))
    except (ValueError, OSError, EOFError, TypeError) as error:
        raise DataError(f"the tokenizer in `{vocabulary.parent}` is damaged: {' '.join(str(error).split())[:200]}") from error
    except Exception as error:  # `tokenizers` raises a bare Exception for merges of tokens that are not in the vocabulary
        if type(error) is not Exception:
            raise
        raise DataError(f"the tokenizer in `{vocabulary.parent}` is damaged: {error}") from error
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return _wrapped(tokenizer)


def _wrapped(tokenizer: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    special = {"eos_token": END, "bos_token": END, "pad_token": END} if tokenizer.token_to_id(END) is not None else {}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def _either(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _read(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
