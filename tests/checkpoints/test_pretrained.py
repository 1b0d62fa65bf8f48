"""Models and tokenizers that cannot serve are refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from secateur.checkpoints.pretrained import check_model, load_any, load_model
from secateur.checkpoints.tokenizers import tokenizer_of
from secateur.errors import ModelError
from secateur.testing.models import DECODERS, ENCODERS, FAMILIES, toy_model
from secateur.testing.toy_task import WORDS, toy_task_data
from secateur.testing.toy_tokenizer import toy_tokenizer

KINDS = ("classification", "regression", "multiple_choice", "language_modelling")
REFUSED = {
    **{(family, "language_modelling"): "cannot be a language model: .* is an encoder" for family in ENCODERS},
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_reads_images_does_no_task_on_texts(kind: str, tmp_path: Path) -> None:
    toy_model("vit", layers=1).save_pretrained(tmp_path)
    check_model(str(tmp_path))
    data = toy_task_data(kind, examples=4)
    for refuse in (lambda: check_model(str(tmp_path), kind), lambda: load_model(str(tmp_path), data, seed=0, device="cpu")):
        with pytest.raises(ModelError, match=r"reads images, and .* is a task on texts") as error:
            refuse()
        assert one_line(error)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_kind_every_family_passes(family: str, folders: dict[str, Path]) -> None:
    check_model(str(folders[family]))
    assert len(tokenizer_of(str(folders[family]))) == len(WORDS) + 4 + (family == "qwen2")  # its tokenizer adds an end of text


def edited(checkpoint: Path, folder: Path, **changes: Any) -> str:
    """A copy of the checkpoint with other entries in its config.json."""
    config = json.loads((checkpoint / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    (folder / "model.safetensors").write_bytes((checkpoint / "model.safetensors").read_bytes())
    return str(folder)


def test_chunks_of_the_feed_forward_part_are_left_out(folders: dict[str, Path], tmp_path: Path) -> None:
    """Else a batch whose length they do not divide would fail in the middle of a run."""
    data = toy_task_data("classification", examples=4)
    chunked = load_model(edited(folders["bert"], tmp_path, chunk_size_feed_forward=5), data, seed=0, device="cpu")
    whole = load_model(str(folders["bert"]), data, seed=0, device="cpu")
    batch = next(data.batches("train", 4))
    assert chunked.config.chunk_size_feed_forward == 0
    assert chunked(**batch).logits.equal(whole(**batch).logits)


def test_any_model_is_loaded_as_the_class_it_names(folders: dict[str, Path], tmp_path: Path) -> None:
    assert type(load_any(str(folders["bert"]))).__name__ == "BertForSequenceClassification"
    assert type(load_any(edited(folders["bert"], tmp_path, architectures=None))).__name__ == "BertModel"
    with pytest.raises(ModelError, match="`BertForDreaming`, which transformers"):
        load_any(edited(folders["bert"], tmp_path, architectures=["BertForDreaming"]))


def test_the_code_of_a_stranger_is_not_run(folders: dict[str, Path], tmp_path: Path) -> None:
    table = {"AutoConfig": "modeling_stranger.Config", "AutoModel": "modeling_stranger.Model"}
    (tmp_path / "modeling_stranger.py").write_text("raise SystemExit('a checkpoint's own code was run')")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_any(edited(folders["bert"], tmp_path, auto_map=table, model_type="stranger"))


def test_damaged_weights_are_said(folders: dict[str, Path], tmp_path: Path) -> None:
    model, data = edited(folders["bert"], tmp_path), toy_task_data("classification", examples=4)
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 10_000)
    for refuse in (lambda: load_any(model), lambda: load_model(model, data, seed=0, device="cpu")):
        with pytest.raises(ModelError, match="cannot be loaded") as error:
            refuse()
        assert one_line(error)


def test_weights_that_do_not_fit_are_said(folders: dict[str, Path], tmp_path: Path) -> None:
    model, data = edited(folders["bert"], tmp_path, intermediate_size=10), toy_task_data("classification", examples=4)
    with pytest.raises(ModelError, match=r"do not match its configuration: bert.* more are wrong"):
        load_model(model, data, seed=0, device="cpu")


def test_a_hub_name_that_cannot_be_had_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import transformers

    def refuse(name: str, **_: Any) -> None:
        raise OSError(f"no connection for {name}\nand more lines")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", refuse)
    check_model("owner/name")
    with pytest.raises(ModelError, match=r"`owner/name` is neither .*: no connection for owner/name and more lines\.$"):
        load_any("owner/name")


def test_a_model_for_images_is_no_language_model(tmp_path: Path) -> None:
    from secateur.checkpoints.pretrained import load_causal

    toy_model("vit").save_pretrained(tmp_path / "vit")
    with pytest.raises(ModelError, match="reads images: it is no language model"):
        load_causal(str(tmp_path / "vit"))
