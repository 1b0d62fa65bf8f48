"""`secateur evaluate` on checkpoints; what it computes is tested with `secateur.tasks.lm_scores`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from secateur.errors import ConfigurationError, MissingExtraError, ModelError
from secateur.tasks.lm_scores import Score, Scores
from secateur.verbs import evaluate as module
from secateur.verbs.evaluate import evaluate

WORDS = ("red", "green", "blue")
FOUND = Scores("owner/name", {"colours": {"acc": Score(0.5, None)}}, {"colours": 2}, {"colours": 0}, 2, {})


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The networks that were to be scored; no harness, and any hub name is a toy."""
    import transformers

    from secateur.checkpoints import tokenizers
    from secateur.testing.models import toy_model

    def fetch(name: str, **_: Any) -> Any:
        if name == "owner/name":
            return toy_model("gpt2", "causal", layers=1)
        raise OSError("no connection\nand more lines")

    seen: list[Any] = []
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", fetch)
    monkeypatch.setattr(tokenizers, "tokenizer_of", lambda name: None)
    monkeypatch.setattr(module, "find_spec", lambda name: True)
    monkeypatch.setattr(module, "score_network", lambda *given: seen.append(given) or FOUND)
    return seen


def test_a_pruned_export_is_evaluated_and_its_code_is_not_run(tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    from secateur.export.checkpoint import save_checkpoint
    from secateur.spaces.pruning.plan import Plan
    from secateur.supernet.supernet import Supernet
    from secateur.testing.models import toy_model
    from secateur.testing.toy_tokenizer import toy_tokenizer

    model, to = tmp_path / "pruned", tmp_path / "new" / "results.json"
    supernet = Supernet(toy_model("gpt2", "causal", layers=2))
    assert save_checkpoint(supernet, Plan.uniform(2, 2, 5), model, tokenizer=toy_tokenizer(WORDS, pad=False)) == "carried"
    (model / "modeling_secateur.py").write_text("raise SystemExit('a checkpoint's own code was run')")
    (tmp_path / "asked.jsonl").write_text('{"question": "red is", "gold": 0}\n{"question": "blue is", "gold": 1}\n')
    data = {"data_files": {"test": str(tmp_path / "asked.jsonl")}, "cache_dir": str(tmp_path / "cache")}
    task = {"task": "colours", "dataset_path": "json", "dataset_kwargs": data, "test_split": "test"}
    task |= {"output_type": "multiple_choice", "doc_to_text": "{{question}}", "doc_to_target": "{{gold}}"}
    task |= {"doc_to_choice": ["red", "green blue"], "metric_list": [{"metric": "acc"}]}
    (tmp_path / "colours.yaml").write_text(json.dumps(task))
    found = evaluate(str(model), task=[str(tmp_path / "colours.yaml")], device="cpu", to=str(to))  # type: ignore[arg-type]
    assert found.examples == {"colours": 2}
    assert set(found.versions) == {"lm_eval", "colours"}
    assert json.loads(to.read_text()) == json.loads(json.dumps(found.as_dict()))
    assert list(to.parent.iterdir()) == [to]


def test_a_hub_name_is_fetched_or_said(scored: list[Any]) -> None:
    assert evaluate("owner/name", task=["colours"], device="cpu", limit=1) is FOUND
    ((network, _, name, questions),) = scored
    assert (type(network).__name__, name, questions.limit) == ("GPT2LMHeadModel", "owner/name", 1)
    with pytest.raises(ModelError, match=r"`other` is neither a folder nor a model .*: no connection and more lines"):
        evaluate("other", task=["colours"], device="cpu")
    with pytest.raises(ModelError, match="does not exist"):
        evaluate("./missing", task=["colours"], device="cpu")


def test_all_faults_of_the_settings_are_reported_before_anything_loads(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("{}")
    wrong: dict[str, Any] = {"shots": -1, "limit": 0, "batch": 0, "include": tmp_path / "none"}
    with pytest.raises(ConfigurationError) as caught:
        evaluate("./missing", task=[" "], **wrong, to=tmp_path / "results.json")
    assert len(caught.value.faults) == 6
    with pytest.raises(ConfigurationError, match="say which tasks"):
        evaluate("./missing")
    with pytest.raises(ConfigurationError, match=r"unknown preset `lts15`\. Did you mean `lts14`"):
        evaluate("./missing", preset="lts15")


def test_where_the_scores_go_is_tried_before_the_work_and_they_are_never_lost(
    scored: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"`to` cannot be written: .*: (not a directory|file exists)"):
        evaluate("./missing", task=["colours"], to=tmp_path / "file" / "scores.json")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ConfigurationError, match=r"no space left on device\. The scores are printed instead"):
        evaluate("owner/name", task=["colours"], device="cpu", to=tmp_path / "b.json")
    assert str(FOUND) in capsys.readouterr().out
    assert not (tmp_path / "b.json").exists()


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"secateur\[lm-eval\]"):
        evaluate("./missing", task=["colours"])


def test_the_signature_is_a_command() -> None:
    app = typer.Typer()
    app.command()(evaluate)
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert "--preset" in shown.output
