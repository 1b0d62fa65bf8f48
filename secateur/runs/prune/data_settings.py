"""Settings of `secateur prune` about the data: what kind they are, how much of them is read and how they are split."""

from __future__ import annotations

from dataclasses import dataclass

from secateur.settings import MOST_EXAMPLES, MOST_TOKENS, Settings, option
from secateur.tasks import ERRORS, PAPERS
from secateur.tasks.language_modelling import SEPARATORS

_DATA = "The data"
#: Settings that only texts have.
ABOUT_TEXTS = ("text", "label", "max_length", "separator", "variants", "latency_length", "group_by_length")


@dataclass(frozen=True, kw_only=True)
class DataSettings(Settings):
    """Beside the data themselves and their columns."""

    kind: str | None = option(
        None,
        "classification, regression, multiple_choice or language_modelling; inferred from the data by default. "
        "image_classification for a model that reads images.",
        panel=_DATA,
    )
    metric: str | None = option(
        None,
        "What `error` is 1 minus of: accuracy, f1, matthews, spearman, pearson, token_accuracy, or papers (what the pruning "
        "papers report); by default the task's main metric.",
        panel=_DATA,
        known=(*dict.fromkeys(name for names in ERRORS.values() for name in names), PAPERS),
    )
    max_length: int = option(128, "Longer texts are cut to this many tokens.", panel=_DATA, least=1, most=MOST_TOKENS)
    separator: str | None = option(
        None,
        "What stands between documents in language modelling: the tokenizer's token that ends a text (eos, the usual one) or "
        "begins it (bos), or a newline. Documents are rows of tables, files, and what <|endoftext|> ends.",
        panel=_DATA,
        known=SEPARATORS,
    )
    max_train: int | None = option(None, "Train on at most this many examples.", panel=_DATA, least=1, most=MOST_EXAMPLES)
    max_validation: int | None = option(
        None, "Validate on at most this many examples.", panel=_DATA, least=1, most=MOST_EXAMPLES
    )
    max_test: int | None = option(None, "Test on at most this many examples.", panel=_DATA, least=1, most=MOST_EXAMPLES)
    validation_share: float = option(0.3, "Share of the training data used for validation.", panel=_DATA, above=0, below=1)
    test_share: float = option(0.2, "Share held out for testing if the data have no test set.", panel=_DATA, above=0, below=1)
