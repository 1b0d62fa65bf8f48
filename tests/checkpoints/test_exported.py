from __future__ import annotations

import json
import shutil

import pytest

from secateur.checkpoints import load
from secateur.errors import ModelError
from secateur.export.checkpoint import save_checkpoint
from secateur.spaces.pruning.plan import Kept, LayerPlan, Plan
from secateur.supernet import Supernet
from secateur.testing.models import toy_model


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good") / "out"
    plan = Plan.of([LayerPlan(0, Kept.first(0), Kept.chosen([1, 2, 7])), LayerPlan(2, Kept.first(1), Kept.first(8))])
    assert save_checkpoint(Supernet(toy_model("bert")), plan, folder) == "carried"
    return folder


@pytest.fixture
def folder(good, tmp_path):
    shutil.copytree(good, tmp_path / "copy")
    return tmp_path / "copy"


def refused(folder, words):
    with pytest.raises(ModelError, match=words) as caught:
        load(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)


def test_load_is_in_eval_mode_and_runs_no_code_of_the_folder(folder):
    (folder / "modeling_secateur.py").write_text("raise SystemExit('ran')")
    assert not load(str(folder)).training


def test_missing(tmp_path, folder):
    refused(tmp_path / "nothing", "is not a folder")
    (folder / "config.json").unlink()
    refused(folder, "is not a checkpoint folder: it has no config.json")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"architectures": []}'])
def test_damaged_config(folder, text):
    (folder / "config.json").write_text(text)
    refused(folder, "config.json` is damaged")


@pytest.mark.parametrize(
    ("family", "name"),
    [("secateur_bert", "SecateurNothing"), ("bert", "Nothing"), ("secateur_bert", "put"), ("bert", None)],
)
def test_unknown_class(folder, family, name):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": family, "architectures": name and [name]}))
    refused(folder, f"unknown class `{name}`")


def test_truncated_weights(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-200])
    refused(folder, "could not be loaded, it may be damaged")


def test_missing_weights_file(folder):
    (folder / "model.safetensors").unlink()
    refused(folder, "could not be loaded, it may be damaged")


def test_missing_and_misshapen_weights_are_not_made_up(folder):
    from safetensors.torch import load_file, save_file

    state = load_file(folder / "model.safetensors")
    bias = state.pop("classifier.bias")
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    refused(folder, "1 of its weights are missing or have another size .`classifier.bias`")
    save_file({**state, "classifier.bias": bias[:1].clone()}, folder / "model.safetensors", {"format": "pt"})
    refused(folder, "1 of its weights are missing or have another size .`classifier.bias`")
