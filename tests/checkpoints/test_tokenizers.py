"""Tokenizers that can be read, and those that cannot: one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from secateur.checkpoints.tokenizers import load_tokenizer, tokenizer_of
from secateur.errors import DataError, MissingExtraError, ModelError
from secateur.tasks.tokenizers import train_tokenizer
from secateur.testing.models import FAMILIES, toy_model
from secateur.testing.toy_task import WORDS
from secateur.testing.toy_tokenizer import toy_tokenizer

LINES = "the cat sat on the mat\nand the dog sat on the log\n" * 20


def one_line(error: pytest.ExceptionInfo[ModelError]) -> bool:
    return "\n" not in str(error.value) and len(str(error.value)) < 300


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_without_tokenizer_files(family: str, tmp_path: Path) -> None:
    toy_model(family, layers=1).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="has no tokenizer files") as error:
        tokenizer_of(str(tmp_path))
    assert one_line(error)


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2"])
def test_a_tokenizers_configuration_alone_is_no_tokenizer(family: str, tmp_path: Path) -> None:
    toy_model(family, layers=1).save_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(ModelError, match="has no tokenizer files"):
        tokenizer_of(str(tmp_path))


def test_a_vocabulary_file_of_the_older_kind_will_do(tmp_path: Path) -> None:
    toy_model("bert", layers=1).save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "yes", "no"]))
    assert tokenizer_of(str(tmp_path))("yes no")["input_ids"] == [2, 5, 6, 3]


def test_a_tokenizer_with_more_tokens_than_the_model(tmp_path: Path) -> None:
    toy_model("bert", layers=1, vocab_size=9).save_pretrained(tmp_path)
    toy_tokenizer(WORDS[:5]).save_pretrained(tmp_path)
    assert len(tokenizer_of(str(tmp_path))) == 9
    toy_tokenizer(WORDS[:6]).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="it has 10 tokens, the model 9") as error:
        tokenizer_of(str(tmp_path))
    assert one_line(error)


def test_a_tokenizer_that_is_damaged(tmp_path: Path) -> None:
    toy_model("bert", layers=1).save_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be loaded"):
        tokenizer_of(str(tmp_path))


def test_a_sentencepiece_tokenizer_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "tokenizer.model").write_bytes(b"")
    monkeypatch.setattr("secateur.checkpoints.tokenizers.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"secateur\[sentencepiece\]"):
        tokenizer_of(str(tmp_path))


def test_what_is_saved_is_read(tmp_path: Path) -> None:
    made = train_tokenizer(LINES, 280)
    made.save_pretrained(tmp_path)
    for source in (tmp_path, str(tmp_path), tmp_path / "tokenizer.json"):
        assert load_tokenizer(source).get_vocab() == made.get_vocab()


def test_what_is_refused(tmp_path: Path) -> None:
    for nowhere in (tmp_path / "nowhere", "./nowhere", "owner/name"):
        with pytest.raises(DataError, match="there is no tokenizer"):
            load_tokenizer(nowhere)
    with pytest.raises(DataError, match="contains no tokenizer"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(DataError, match="cannot be loaded"):
        load_tokenizer(tmp_path)
