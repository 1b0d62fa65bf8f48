"""Exported folders in a process that cannot import Secateur, and through `secateur.auto`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from secateur.export.checkpoint import save_checkpoint
from secateur.export.verify import padded_batch
from secateur.spaces.pruning.plan import Plan
from secateur.testing.toy_tokenizer import toy_tokenizer

AUTO = {
    "bert": "AutoModelForSequenceClassification",
    "roberta": "AutoModelForSequenceClassification",
    "distilbert": "AutoModelForSequenceClassification",
    "BertForMultipleChoice": "AutoModelForMultipleChoice",
    "BertForMaskedLM": "AutoModelForMaskedLM",
    "gpt2": "AutoModelForCausalLM",
    "llama": "AutoModelForCausalLM",
    "LlamaForSequenceClassification": "AutoModelForSequenceClassification",
    "mistral": "AutoModelForCausalLM",
    "qwen3": "AutoModelForCausalLM",
}

STOCK = """
import json, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "secateur":
            raise ModuleNotFoundError("No module named 'secateur'", name="secateur")
sys.meta_path.insert(0, Blocked())
import torch, transformers
from pathlib import Path
from safetensors.torch import load_file
transformers.utils.logging.set_verbosity_error()
result = {}
for said in json.loads(sys.argv[1]):
    folder, auto = said["folder"], getattr(transformers, said["auto"])
    model = auto.from_pretrained(folder, trust_remote_code=True).eval()
    files = load_file(Path(folder).parent / (Path(folder).name + ".batch"))
    logits = files.pop("logits")
    with torch.no_grad():
        found = {"difference": float((model(**files).logits - logits).abs().max()), "class": type(model).__name__}
    if said["auto"] == "AutoModelForCausalLM":
        options = dict(max_new_tokens=4, do_sample=False, eos_token_id=None)
        ids = files["input_ids"][:2, :5]
        mask = torch.ones_like(ids)
        mask[1, :2] = 0
        with_cache = model.generate(ids, attention_mask=mask, **options)
        found["generates"] = torch.equal(with_cache, model.generate(ids, attention_mask=mask, use_cache=False, **options))
        tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
        found["tied"] = tied == bool(model.config.tie_word_embeddings)
    model.save_pretrained(folder + "-again")
    again = auto.from_pretrained(folder + "-again", trust_remote_code=True).eval()
    with torch.no_grad():
        found["again"] = float((again(**files).logits - logits).abs().max())
    if said["tokenizer"]:
        found["tokens"] = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)("a good film")["input_ids"]
    result[Path(folder).name] = found
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def folders(supernet_of, plans, heads_of, tmp_path_factory):
    """name → what to load it with, for carried networks of all kinds, some without attention, and plain ones."""
    import torch
    from safetensors.torch import save_file

    root = tmp_path_factory.mktemp("exported")
    said = {}
    for name, auto in AUTO.items():
        family = next(f for f in heads_of if name.lower().startswith(f))
        supernet = supernet_of(family, None if name in heads_of else name)
        forms = {"mixed": plans["mixed"](heads_of[family]), "plain": Plan.uniform(2, supernet.shape.heads, 9)}
        if name in ("gpt2", "llama"):
            forms |= {"no_attention": plans["no_attention"](), "empty": Plan.of([])}
        for form, plan in forms.items():
            folder = root / f"{name}-{form}"
            tokenizer = toy_tokenizer(["a good film"]) if name in ("bert", "gpt2") and form == "mixed" else None
            saved = save_checkpoint(supernet, plan, folder, tokenizer=tokenizer)
            assert saved == ("plain" if form == "plain" else "carried")
            batch = padded_batch(supernet.model, "multiple_choice" if "Choice" in name else "classification")
            with torch.no_grad():
                logits = supernet.extract(plan).eval()(**batch).logits
            save_file({**batch, "logits": logits.contiguous()}, root / f"{folder.name}.batch")
            said[folder.name] = {"folder": str(folder), "auto": auto, "tokenizer": tokenizer is not None, "form": saved}
    return said


@pytest.mark.slow
def test_stock_transformers_loads_saves_and_generates_without_secateur(folders, tmp_path):
    command = [sys.executable, "-I", "-c", STOCK, json.dumps(list(folders.values()))]
    environment = {"HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert set(result) == set(folders)
    for name, found in result.items():
        assert found["difference"] <= 1e-5, name
        assert found["again"] <= 1e-5, name
        assert found.get("generates", True), name
        assert found.get("tied", True), name
        assert found["class"].startswith("Secateur") == (folders[name]["form"] == "carried")
        if folders[name]["tokenizer"]:
            assert len(found["tokens"]) == 5
    for said in folders.values():
        assert (tmp_path / (said["folder"] + "-again") / "modeling_secateur.py").exists() == (said["form"] == "carried")


@pytest.mark.slow
def test_auto_classes_load_plainly(folders):
    import torch
    import transformers
    from safetensors.torch import load_file

    import secateur.auto

    secateur.auto.register_families()  # twice does no harm
    for name, said in folders.items():
        model = getattr(transformers, said["auto"]).from_pretrained(said["folder"]).eval()
        files = load_file(said["folder"] + ".batch")
        logits = files.pop("logits")
        with torch.no_grad():
            assert float((model(**files).logits - logits).abs().max()) <= 1e-5, name
    config = transformers.AutoConfig.from_pretrained(folders["bert-mixed"]["folder"])
    assert config.model_type == "secateur_bert"
