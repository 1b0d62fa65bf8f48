from __future__ import annotations

from secateur.testing.toy_tokenizer import toy_tokenizer


def test_words_come_after_the_special_tokens_and_pairs_are_framed():
    tokenizer = toy_tokenizer(["b a", "a c"])
    assert tokenizer("a b", "c")["input_ids"] == [2, 4, 5, 3, 6, 3]
    assert tokenizer("a b", "c")["token_type_ids"] == [0, 0, 0, 0, 1, 1]
    assert tokenizer("unknown")["input_ids"] == [2, 1, 3]
    assert tokenizer.pad_token_id == 0


def test_without_a_padding_token():
    tokenizer = toy_tokenizer(["b a"], pad=False)
    assert tokenizer("a b")["input_ids"] == [4, 5]
    assert tokenizer.pad_token is None
    assert tokenizer.eos_token_id == 3
