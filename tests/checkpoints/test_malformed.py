"""Models of others that are not as they should be: one line each, no code of theirs is run, nothing is made up silently."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from secateur.checkpoints import load
from secateur.checkpoints.pretrained import check_model, load_any, load_causal, load_model
from secateur.checkpoints.tokenizers import load_tokenizer, tokenizer_of
from secateur.errors import DataError, ModelError
from secateur.testing.models import toy_model
from secateur.testing.toy_task import WORDS, toy_task_data
from secateur.testing.toy_tokenizer import toy_tokenizer

DATA = {kind: toy_task_data(kind, examples=4) for kind in ("classification", "language_modelling")}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {name: tmp_path_factory.mktemp("models") / name for name in ("bert", "gpt2")}
    toy_model("bert", layers=1).save_pretrained(made["bert"])
    toy_model("gpt2", "causal", layers=1).save_pretrained(made["gpt2"])
    for folder in made.values():
        toy_tokenizer(WORDS).save_pretrained(folder)
    return made


@pytest.fixture
def model(models: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(models["bert"], tmp_path / "model"))


def prepared(folder: Path, kind: str = "classification") -> Any:
    """What `secateur prune` does with a model before it trains."""
    check_model(str(folder), kind)
    tokenizer_of(str(folder))
    return load_model(str(folder), DATA[kind], seed=0, device="cpu")


def refused(act: Callable[[], Any], message: str | None = None) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        act()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def edit(folder: Path, name: str = "config.json", **changes: Any) -> None:
    said = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps({**said, **changes}))


CONFIGS: dict[str, tuple[dict[str, Any], str]] = {
    "a word for a number": ({"hidden_size": "wide"}, "`hidden_size` must be a whole number from 1 to 1,000,000, got 'wide'"),
    "a list for a number": ({"num_hidden_layers": [1, 2]}, r"`num_hidden_layers` must be a whole number.*got \[1, 2\]"),
    "a fraction": ({"num_attention_heads": 2.5}, "`num_attention_heads` must be a whole number"),
    "true for a number": ({"vocab_size": True}, "`vocab_size` must be a whole number"),
    "no heads": ({"num_attention_heads": 0}, "`num_attention_heads` must be a whole number from 1"),
    "less than none": ({"intermediate_size": -5}, "`intermediate_size` must be a whole number from 1"),
    "no layers": ({"num_hidden_layers": 0}, "has no layers: there is nothing to prune"),
    "no positions": ({"max_position_embeddings": 0}, "`max_position_embeddings` must be"),
    "heads that do not divide the width": ({"num_attention_heads": 3}, "not a multiple|divisible"),
    "layers beyond reason": ({"num_hidden_layers": 10**9}, "from 0 to 1,000, got 1000000000"),
    "labels beyond reason": ({"num_labels": 10**9}, "`num_labels` must be"),
    "a vocabulary that no memory holds": (
        {"vocab_size": 90_000_000},
        r"config\.json asks for 1,440,\d+,\d+ parameters, and the files",
    ),
    "a name of thousands of digits": ({"hidden_size": 10**30}, "`hidden_size` must be"),
    "an activation nobody knows": ({"hidden_act": "dream"}, "cannot be loaded.*dream"),
    "a list for an activation": ({"hidden_act": ["gelu"]}, "cannot be loaded"),
    "dropout beyond reason": ({"hidden_dropout_prob": 7}, "cannot be loaded.*dropout"),
    "padding beyond the vocabulary": ({"pad_token_id": 10_000}, "cannot be loaded"),
    "an epsilon that makes no numbers": ({"layer_norm_eps": -9.0}, "its outputs are not finite"),
    "what is no number": ({"attention_probs_dropout_prob": float("nan")}, "NaN is not a number"),
    "a family nobody knows": ({"model_type": "dream"}, "unknown model family `dream`"),
    "a list for a family": ({"model_type": ["bert"]}, "names no `model_type`"),
    "text types that are none": ({"type_vocab_size": 0}, "`type_vocab_size` must be"),
    "another size than the weights": ({"intermediate_size": 10}, "do not match its configuration"),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_a_configuration_that_cannot_be(case: str, model: Path) -> None:
    changes, message = CONFIGS[case]
    edit(model, **changes)
    refused(lambda: prepared(model), message)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"model_type": ' + b"[" * 100_000, b"\0" * 99]
)
def test_what_is_no_configuration(content: bytes, model: Path) -> None:
    (model / "config.json").write_bytes(content)
    for act in (prepared, load_any, load_causal):
        refused(lambda act=act: act(model), r"config\.json` is damaged")  # type: ignore[misc]
    (model / "config.json").unlink()
    (model / "config.json").mkdir()
    refused(lambda: prepared(model), "it has no config.json")


@pytest.mark.parametrize("act", [prepared, load_any, load_causal])
def test_weights_that_are_none(act: Callable[[Any], Any], model: Path) -> None:
    weights = model / "model.safetensors"
    whole = weights.read_bytes()
    for content in (
        whole[: len(whole) // 2],
        b"\0" * len(whole),
        b"\xff" * 8 + whole[8:],
        whole[:100] + b"?" * 50 + whole[150:],
    ):
        weights.write_bytes(content)
        refused(lambda: act(str(model)), "cannot be loaded|could not be loaded")
    weights.unlink()
    refused(lambda: act(str(model)), "cannot be loaded|could not be loaded")


@pytest.mark.parametrize("act", [prepared, load_any, load_causal])
def test_weights_that_cannot_be_read(act: Callable[[Any], Any], model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "safetensors" not in str(path) and usual(path, mode))
    refused(lambda: act(str(model)), r"model\.safetensors` cannot be read: permission denied")


def test_weights_that_are_not_numbers(model: Path) -> None:
    weights = load_file(model / "model.safetensors")
    save_file({name: tensor * float("nan") for name, tensor in weights.items()}, model / "model.safetensors", {"format": "pt"})
    refused(lambda: prepared(model), "its outputs are not finite. Its weights may be damaged")


class Harmful:
    """What a pickle could do to whoever loads it."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self) -> Any:
        return Path.touch, (self.victim,)


@pytest.mark.parametrize("act", [prepared, load_any, load_causal])
def test_a_pickle_that_would_run_code_is_not_loaded(act: Callable[[Any], Any], model: Path, tmp_path: Path) -> None:
    weights = load_file(model / "model.safetensors")
    (model / "model.safetensors").unlink()
    torch.save({**weights, "more": Harmful(tmp_path / "was-here")}, model / "pytorch_model.bin")
    refused(lambda: act(str(model)), "a pickle that is damaged or would run code, so it is not loaded")
    (model / "pytorch_model.bin").write_bytes(b"no pickle at all" * 999)
    refused(lambda: act(str(model)), "cannot be loaded|could not be loaded")
    assert not (tmp_path / "was-here").exists()
    torch.save(weights, model / "pytorch_model.bin")
    assert act(str(model)) is not None


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[1]", b"\xff\xfe", b'{"model": {"type": "BPE", "vocab": 3}}', b'{"version": "1.0", "model": null}'],
)
def test_a_tokenizer_that_is_none(content: bytes, model: Path) -> None:
    (model / "tokenizer.json").write_bytes(content)
    refused(lambda: tokenizer_of(str(model)))
    with pytest.raises(DataError, match="there is no tokenizer") as caught:
        load_tokenizer(model)
    assert "\n" not in str(caught.value)


def test_a_tokenizer_whose_tokens_the_model_does_not_know(model: Path) -> None:
    said = json.loads((model / "tokenizer.json").read_text())
    for token in said["post_processor"]["special_tokens"].values():
        token["ids"] = [9_999]
    (model / "tokenizer.json").write_text(json.dumps(said))
    refused(lambda: tokenizer_of(str(model)), "adds the token 9999, and the model knows 50")


@pytest.mark.parametrize("length", ["long", 0, -1, [1], True])
def test_a_tokenizer_with_a_length_that_is_none(length: Any, model: Path) -> None:
    edit(model, "tokenizer_config.json", model_max_length=length)
    refused(lambda: tokenizer_of(str(model)), "model_max_length|cannot be loaded")


@pytest.mark.parametrize("name", ["m" * 300, "a/b\nc", "a\x1b[31m", "mod\udce9l", "~nobody-of-this-name/model", "", " "])
@pytest.mark.parametrize("act", [check_model, load_any, load_causal, tokenizer_of, load])
def test_names_that_no_folder_should_have(act: Callable[[Any], Any], name: str) -> None:
    with pytest.raises(ModelError) as caught:
        act(name)
    assert str(caught.value).isprintable()
    assert str(caught.value).encode()
