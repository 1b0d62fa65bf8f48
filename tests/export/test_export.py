from __future__ import annotations

import pytest

from secateur.checkpoints import load
from secateur.errors import ExportError, MissingExtraError
from secateur.export import export
from secateur.testing.toy_tokenizer import toy_tokenizer

pytestmark = pytest.mark.slow


def test_all_but_onnx(supernet_of, plans, tmp_path):
    supernet, plan = supernet_of("bert"), plans["mixed"]()
    facts = {"base_model": "tiny-bert", "task": "glue/rte", "metric": "accuracy", "validation": 0.7, "unpruned_validation": 0.8}
    done = export(supernet, plan, tmp_path / "out", tokenizer=toy_tokenizer(["a film"]), facts=facts)
    assert (done.folder, done.form) == (tmp_path / "out", "carried")
    assert set(done.differences) == {"extracted", "reloaded"}
    assert max(done.differences.values()) <= 1e-5
    assert set(done.files) == {f.name for f in done.folder.iterdir()}
    assert {"README.md", "config.json", "model.safetensors", "modeling_secateur.py", "tokenizer.json"} <= set(done.files)
    card = (done.folder / "README.md").read_text(encoding="utf-8")
    assert "| accuracy, validation | 0.8000 | 0.7000 | 87.5 % |" in card
    assert f"| parameters | {supernet.parameters(supernet.whole):,} | {supernet.parameters(plan):,} |" in card
    assert 'AutoModelForSequenceClassification.from_pretrained("out", trust_remote_code=True)' in card
    assert "| 0 | removed | 3 |" in card
    assert f"(batch 1, length 40) | {supernet.macs(supernet.whole, 1, 40):,} | {supernet.macs(plan, 1, 40):,} |" in card
    assert load(done.folder).config.num_hidden_layers == 3
    assert len({f.stat().st_mode for f in done.folder.iterdir()}) == 1, "whoever may read the folder may read the weights"


def test_a_polished_model_in_train_mode(supernet_of, plans, tmp_path):
    import torch

    supernet, plan = supernet_of("gpt2"), plans["mixed"]()
    polished = supernet.extract(plan).train()
    with torch.no_grad():
        polished.transformer.ln_f.bias.add_(1.0)
    done = export(supernet, plan, tmp_path / "out", model=polished, kind="language_modelling")
    assert done.differences["reloaded"] <= 1e-5
    assert polished.training
    assert polished.transformer.h[0].training
    assert torch.equal(load(tmp_path / "out").transformer.ln_f.bias, polished.transformer.ln_f.bias)


def test_a_network_that_comes_back_different_is_not_exported(supernet_of, plans, tmp_path, monkeypatch):
    import torch

    def damaged(folder):
        model = load(folder)
        with torch.no_grad():
            model.classifier.bias.fill_(float("nan"))
        return model

    monkeypatch.setattr("secateur.export.load", damaged)
    with pytest.raises(ExportError, match=r"reloaded network's outputs differ .* by nan"):
        export(supernet_of("bert"), plans["mixed"](), tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_missing_library_is_told_before_anything_is_written(supernet_of, plans, tmp_path, monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnxscript" else find(name))
    with pytest.raises(MissingExtraError, match="`onnxscript` is not installed"):
        export(supernet_of("bert"), plans["mixed"](), tmp_path / "out", onnx=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_all_with_onnx_int8_and_int4(supernet_of, plans, tmp_path):
    tokenizer = toy_tokenizer(["a film"])
    done = export(supernet_of("bert"), plans["mixed"](), tmp_path / "out", tokenizer=tokenizer, int8=True, int4=True)
    assert set(done.differences) == {"extracted", "reloaded", "onnx", "int8", "int4"}
    assert done.differences["onnx"] <= 1e-4
    assert done.differences["int8"] > 0
    assert done.differences["int4"] > 0
    assert {"model.onnx", "model.int8.onnx", "model.int4.onnx"} <= set(done.files)
    card = (done.folder / "README.md").read_text(encoding="utf-8")
    assert "model.int8.onnx` is" in card
    assert "model.int4.onnx` is" in card
    assert f"{done.differences['onnx']:.1e}" in card
