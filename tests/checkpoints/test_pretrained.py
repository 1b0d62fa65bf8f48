"""Models and tokenizers that cannot serve are refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from secateur.checkpoints.pretrained import check_model, load_model, load_tokenizer
from secateur.errors import MissingExtraError, ModelError
from secateur.testing.models import DECODERS, ENCODERS, FAMILIES, toy_model
from secateur.testing.toy_task import WORDS, toy_task_data
from secateur.testing.toy_tokenizer import toy_tokenizer

KINDS = ("classification", "regression", "multiple_choice", "language_modelling")
REFUSED = {
    **{(family, "language_modelling"): "cannot model language: .* is an encoder" for family in ENCODERS},
    **{(family, "multiple_choice"): "cannot do multiple choice: transformers has no such head" for family in DECODERS},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for every family: a model with its tokenizer."""
    made = {}
    for family in FAMILIES:
        made[family] = tmp_path_factory.mktemp("models") / family
        toy_model(family, layers=1).save_pretrained(made[family])
        toy_tokenizer(WORDS).save_pretrained(made[family])
    return made


def one_line(error: pytest.ExceptionInfo[ModelError]) -> bool:
    return "\n" not in str(error.value) and len(str(error.value)) < 300


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_does_the_kinds_that_it_can(family: str, kind: str, folders: dict[str, Path]) -> None:
    model, data = str(folders[family]), toy_task_data(kind, examples=4)
    if (family, kind) not in REFUSED:
        check_model(model, kind)
        assert load_model(model, data, seed=0, device="cpu").config.model_type == family
        return
    for refuse in (lambda: check_model(model, kind), lambda: load_model(model, data, seed=0, device="cpu")):
        with pytest.raises(ModelError, match=REFUSED[family, kind]) as error:
            refuse()
        assert f"`{model}`" in str(error.value)
        assert f"`{family}`" in str(error.value)
        assert one_line(error)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_kind_every_family_passes(family: str, folders: dict[str, Path]) -> None:
    check_model(str(folders[family]))
    assert len(load_tokenizer(str(folders[family]))) == len(WORDS) + 4


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_without_tokenizer_files(family: str, tmp_path: Path) -> None:
    toy_model(family, layers=1).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="has no tokenizer files") as error:
        load_tokenizer(str(tmp_path))
    assert one_line(error)


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2"])
def test_a_tokenizers_configuration_alone_is_no_tokenizer(family: str, tmp_path: Path) -> None:
    toy_model(family, layers=1).save_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(ModelError, match="has no tokenizer files"):
        load_tokenizer(str(tmp_path))


def test_a_vocabulary_file_of_the_older_kind_will_do(tmp_path: Path) -> None:
    toy_model("bert", layers=1).save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "yes", "no"]))
    assert load_tokenizer(str(tmp_path))("yes no")["input_ids"] == [2, 5, 6, 3]


def test_a_tokenizer_with_more_tokens_than_the_model(tmp_path: Path) -> None:
    toy_model("bert", layers=1, vocab_size=9).save_pretrained(tmp_path)
    toy_tokenizer(WORDS[:5]).save_pretrained(tmp_path)
    assert len(load_tokenizer(str(tmp_path))) == 9
    toy_tokenizer(WORDS[:6]).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="it has 10 tokens, and the model knows 9") as error:
        load_tokenizer(str(tmp_path))
    assert one_line(error)


def test_a_tokenizer_that_is_damaged(tmp_path: Path) -> None:
    toy_model("bert", layers=1).save_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_tokenizer(str(tmp_path))


def test_a_sentencepiece_tokenizer_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "tokenizer.model").write_bytes(b"")
    monkeypatch.setattr("secateur.checkpoints.pretrained.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"secateur\[sentencepiece\]"):
        load_tokenizer(str(tmp_path))
