"""A word-level tokenizer made of the texts at hand: no download, for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


def toy_tokenizer(texts: Iterable[str], *, pad: bool = True, max_length: int = 512) -> PreTrainedTokenizerFast:
    """A fast tokenizer whose vocabulary is the words of `texts`, after `[PAD] [UNK] [CLS] [SEP]` (0 to 3).

    It frames texts and pairs as BERT does, with token types. `pad=False` gives one like GPT-2's: no frame, no padding token,
    and `[SEP]` as the end of a text.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = sorted({word for text in texts for word in text.split()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: index for index, word in enumerate([*special, *(w for w in words if w not in special)])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if not pad:
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, unk_token="[UNK]", eos_token="[SEP]", model_max_length=max_length
        )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=max_length,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
