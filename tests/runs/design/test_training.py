"""`secateur train`: from a text to a folder that loads; it goes on exactly, and refuses what is not the same training."""

from __future__ import annotations

import json
import math
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from secateur.checkpoints import load
from secateur.checkpoints.tokenizers import load_tokenizer
from secateur.errors import ConfigurationError, DataError, Stopped, StudyError
from secateur.export import trained as trained_folders
from secateur.runs.design.training import Trained, TrainSettings, train_architecture
from secateur.spaces.decoder import architecture
from secateur.spaces.decoder_sizes import Sizes
from secateur.tasks.text import load_text, token_ids
from secateur.tasks.tokenizers import train_tokenizer
from secateur.training import text_trainer
from secateur.training.text_trainer import evaluate_text
from secateur.verbs.design import design
from secateur.verbs.resume import resume
from secateur.verbs.train import train

pytestmark = [pytest.mark.usefixtures("brief"), pytest.mark.slow]

SMALL = architecture("gpt2", 16, [2, 4], [32, 48], 8, 1)
XL = architecture("transformer_xl", 16, [2], [32])
SIZES = Sizes(vocabulary=270, positions=16)
OPTIONS: dict[str, Any] = {
    "length": 12,
    "batch_size": 4,
    "steps": 10,
    "learning_rate": 1e-2,
    "dropout": 0.1,
    "evaluations": 5,
    "checkpoints": 3,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    (folder / "train.txt").write_text("the cat sat on the mat\nand the dog sat on the log\n" * 60, encoding="utf-8")
    (folder / "valid.txt").write_text("the dog sat on the mat\n" * 8, encoding="utf-8")
    (folder / "test.txt").write_text("the cat sat on the log\n" * 8, encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=["gpt2", "transformer_xl"])
def trained(request: pytest.FixtureRequest, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    to = tmp_path_factory.mktemp("out") / "model"
    return begin(SMALL if request.param == "gpt2" else XL, text, to)


def begin(made: Any, text: Path, to: Path, sizes: Sizes = SIZES, **options: Any) -> Trained:
    if made["backbone"] == "transformer_xl":
        sizes = replace(sizes, recurrence=8)
    return train_architecture(made, sizes, TrainSettings(text=text, to=to, **{**OPTIONS, **options}))


def test_the_folder_loads_and_says_what_it_is(trained: Trained, text: Path) -> None:
    model = load(trained.folder)
    assert sum(p.numel() for p in model.parameters()) == trained.parameters
    words = load_tokenizer(trained.folder)
    tokens = token_ids(load_text(text).validation, words)
    score = evaluate_text(model, tokens, length=12, batch=4)
    assert score.perplexity == pytest.approx(trained.perplexity, rel=1e-5) == trained.curve[-1].perplexity
    assert trained.test_perplexity is not None
    assert math.isfinite(trained.test_perplexity)
    assert trained.curve[-1].validation_loss < trained.curve[0].validation_loss
    said = json.loads((trained.folder / "curve.json").read_text())
    assert [row["step"] for row in said["curve"]] == [2, 4, 6, 8, 10]
    assert said["test"] == trained.test_perplexity
    card = (trained.folder / "README.md").read_text()
    assert f"{trained.parameters:,}" in card
    assert f"{trained.test_perplexity:.2f}" in card
    assert not (trained.folder / "training").exists()
    assert f"validation {trained.perplexity:.2f}, test" in str(trained)
    assert trained.differences["reloaded"] <= 1e-5


def test_ctrl_c_and_the_same_command_again(
    trained: Trained, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = text_trainer.TextTrainer.training_step

    def interrupted(self: Any, *arguments: Any) -> Any:
        if self.state.global_step == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return usual(self, *arguments)

    given: Any = (trained.architecture, text, tmp_path / "model")
    with monkeypatch.context() as patched:
        patched.setattr(text_trainer.TextTrainer, "training_step", interrupted)
        with pytest.raises(Stopped, match=r"after step 5 of 10.*the same command"):
            begin(*given)
    with pytest.raises(StudyError, match=r"other settings \(learning_rate, seed\)"):
        begin(*given, seed=1, learning_rate=1e-3)
    with pytest.raises(StudyError, match="Run the same `secateur train` command again to continue"):
        resume(tmp_path / "model", progress=False)
    # as an earlier version would have written it
    file = tmp_path / "model" / "training" / "settings.json"
    said = json.loads(file.read_text())
    said |= {"warmup": said.pop("learning_rate_warmup"), "memory": said.pop("recurrence")}
    file.write_text(json.dumps(said))
    again = begin(*given)
    assert again.curve == trained.curve
    weights = load(again.folder).state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in load(trained.folder).state_dict().items())
    with pytest.raises(StudyError, match=r"contains no unfinished training.*secateur export .*model --onnx --int8"):
        begin(*given)


def test_a_refused_training_leaves_nothing(text: Path, tmp_path: Path) -> None:
    to = tmp_path / "model"
    with pytest.raises(DataError, match="a smaller `length`"):
        begin(SMALL, text, to, replace(SIZES, positions=300), length=200)
    with pytest.raises(ConfigurationError, match="at least 257"):
        begin(SMALL, text, to, replace(SIZES, vocabulary=200))
    assert not to.exists()
    assert begin(SMALL, text, to, steps=2).steps == 2


def test_a_folder_killed_before_its_settings_were_written_is_free(text: Path, tmp_path: Path) -> None:
    begun = tmp_path / "model" / "training" / "tokenizer"
    begun.mkdir(parents=True)
    (begun / "tokenizer.json").write_text("{", encoding="utf-8")
    assert begin(SMALL, text, tmp_path / "model", steps=2).steps == 2
    mine = tmp_path / "mine" / "training" / "notes.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine", encoding="utf-8")
    with pytest.raises(StudyError, match=r"no unfinished training\. Name another folder\.$"):
        begin(SMALL, text, tmp_path / "mine")
    assert mine.read_text(encoding="utf-8") == "mine"
    with pytest.raises(StudyError, match="cannot be written"):
        begin(SMALL, text, mine / "below")


def test_another_process_that_has_begun_meanwhile_keeps_its_settings(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "model" / "training" / "settings.json"

    def meanwhile(*given: Any) -> Any:
        settings.parent.mkdir(parents=True)
        settings.write_text('{"length": 5}', encoding="utf-8")
        return train_tokenizer(*given)

    monkeypatch.setattr("secateur.tasks.tokenizers.train_tokenizer", meanwhile)
    with pytest.raises(StudyError, match="unfinished training with other settings"):
        begin(SMALL, text, tmp_path / "model")
    assert settings.read_text(encoding="utf-8") == '{"length": 5}'


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_mixed_precision_needs_a_gpu(text: Path, tmp_path: Path, precision: str) -> None:
    with pytest.raises(ConfigurationError, match=f"`mixed_precision` {precision} needs a GPU, but `device` is cpu"):
        begin(SMALL, text, tmp_path / "a", mixed_precision=precision)
    assert not (tmp_path / "a").exists()


def test_onnx_and_int8(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxscript")
    asked: list[Any] = []
    monkeypatch.setattr(trained_folders, "write_forms", lambda *_, **options: asked.append(options) or ({"int8": 0.25}, 0.3))
    found = begin(SMALL, text, tmp_path / "model", int8=True, steps=2)
    assert asked == [{"onnx": False, "int8": True, "int4": False, "kind": "language_modelling"}]
    assert "largest difference, int8: 2.5e-01" in str(found)
    assert found.forms is not None
    assert found.forms.metric == "perplexity"
    assert found.forms.forms[0].score == pytest.approx(found.perplexity, rel=1e-4)
    assert str(found.forms.forms[0]) in str(found)
    assert found.forms.table() in (found.folder / "README.md").read_text(encoding="utf-8")


def test_a_tokenizer_that_is_given(text: Path, tmp_path: Path) -> None:
    train_tokenizer("the cat sat on the mat\n" * 20, 265).save_pretrained(tmp_path / "words")
    with pytest.raises(ConfigurationError, match="the tokenizer has 265 tokens, but `vocabulary` is only 260"):
        begin(SMALL, text, tmp_path / "small", replace(SIZES, vocabulary=260), tokenizer=str(tmp_path / "words"))
    assert not (tmp_path / "small").exists()
    found = begin(SMALL, text, tmp_path / "model", tokenizer=str(tmp_path / "words"), steps=2)
    assert len(load_tokenizer(found.folder)) == 265
    assert str(tmp_path) not in (found.folder / "curve.json").read_text()  # a folder can be handed on


def test_faults(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError) as caught:
        begin(SMALL, text, tmp_path / "a", steps=0, dropout=1.0, length=1)
    assert len(caught.value.faults) == 3
    with pytest.raises(DataError, match="does not exist"):
        begin(SMALL, text / "nowhere", tmp_path / "a")
    assert not (tmp_path / "a").exists()
    monkeypatch.setattr(text_trainer, "_loss", lambda model, *_: (sum(p.sum() for p in model.parameters()) * math.nan, None))
    with pytest.raises(StudyError, match="training diverged"):
        begin(SMALL, text, tmp_path / "a")


def test_which_architecture_of_a_run(text: Path, tmp_path: Path) -> None:
    run = design(
        to=tmp_path / "run",
        layers="1..2",
        width="16",
        inner="32..64:16",
        heads="2",
        embedding="8",
        vocabulary=270,
        cutoffs="100",
        positions=16,
        length=8,
        objectives=["decoder_parameters", "macs"],
        trials=6,
        baselines=False,
        progress=False,
    )
    options = {**OPTIONS, "steps": 2, "progress": False}
    smallest = min(run.front, key=lambda m: m.values["macs"])
    found = train(run.folder, text=text, to=tmp_path / "a", key=smallest.key, **options)
    assert found.architecture == smallest.architecture
    assert found.parameters == smallest.values["parameters"]
    bound = f"macs={smallest.values['macs']}"
    assert train(run.folder, text=text, to=tmp_path / "b", under=[bound], **options).architecture == smallest.architecture
    assert smallest.train(text, to=tmp_path / "c", **options).perplexity == found.perplexity
    with pytest.raises(ConfigurationError, match="either --under"):
        train(run.folder, text=text, to=tmp_path / "d", **options)


def test_a_pruning_run_has_nothing_to_train(pruned: Path, text: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="is a run of `secateur prune`, but `secateur train` needs one of `secateur design`"):
        train(pruned, text=text, to=tmp_path / "d", key="abc", progress=False)
