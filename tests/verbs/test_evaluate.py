"""Scores of the harness against log-probabilities worked out with the model itself. Nothing is fetched."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from secateur.errors import ConfigurationError, DataError, MissingExtraError, ModelError, UnknownNameError
from secateur.verbs import evaluate as module
from secateur.verbs.evaluate import LTS14, TASK_PRESETS, Evaluation, Score, evaluate

WORDS = ("red", "green", "blue", "warm", "cold", "sky", "grass", "fire", "snow", "is")


def rows(seed: int, count: int) -> list[dict[str, Any]]:
    """Questions with choices of one and of two words."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        choices = [" ".join(rng.sample(WORDS[:5], k)) for k in (1, 2, 1)]
        made.append(
            {
                "question": f"{rng.choice(WORDS[5:9])} is {rng.choice(WORDS[:5])} is",
                "choices": choices,
                "gold": rng.randrange(3),
            }
        )
    return made


ASKED, SHOWN = rows(0, 12), rows(1, 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Task files, their data, and a GPT-2 of 2 layers with a tokenizer of the tasks' words."""
    from secateur.testing.models import toy_model
    from secateur.testing.toy_tokenizer import toy_tokenizer

    made = tmp_path_factory.mktemp("evaluate")
    for name, lines in (("asked", ASKED), ("shown", SHOWN)):
        (made / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    tasks = made / "tasks"
    tasks.mkdir()
    files = {"test": str(made / "asked.jsonl"), "train": str(made / "shown.jsonl")}
    data: dict[str, Any] = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": files, "cache_dir": str(made / "cache")},
        "test_split": "test",
        "fewshot_split": "train",
        "doc_to_text": "{{question}}",
    }
    choice = {**data, "output_type": "multiple_choice", "doc_to_choice": "{{choices}}", "doc_to_target": "{{gold}}"}
    write = {
        **data,
        "output_type": "generate_until",
        "doc_to_target": "{{choices[gold]}}",
        "metric_list": [{"metric": "exact_match"}],
    }
    missing = {
        **choice,
        "dataset_kwargs": {"data_files": {"test": str(made / "missing.jsonl")}, "cache_dir": str(made / "cache")},
    }
    for name, task in (
        ("colours", {**choice, "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}]}),
        ("never_shown", {**choice, "num_fewshot": 0, "metric_list": [{"metric": "acc"}]}),
        ("writing", {**write, "generation_kwargs": {"until": ["\n"], "max_gen_toks": 2}}),
        ("missing", missing),
        ("unsafe", {**choice, "unsafe_code": True}),
    ):
        (tasks / f"{name}.yaml").write_text(json.dumps({"task": name, **task}))  # JSON is YAML
    save(toy_model("gpt2", "causal", layers=2), made / "gpt2", toy_tokenizer(WORDS, pad=False))
    return made


def save(model: Any, to: Path, tokenizer: Any) -> None:
    model.save_pretrained(to)
    tokenizer.save_pretrained(to)


def designed(backbone: str, vocabulary: int, embedding: int = 0, factor: int = 1) -> Any:
    """A network of our own with two layers of different sizes."""
    from secateur.decoders import model_class
    from secateur.testing.models import randomise

    made = model_class(backbone)
    sizes: dict[str, Any] = {"width": 16, "heads": [2, 4], "inner": [32, 48], "vocab_size": vocabulary, "max_positions": 32}
    network = made(made.config_class(**sizes, embedding=embedding, factor=factor, cutoffs=[5] if embedding else [])).eval()
    randomise(network)
    return network


def loglikelihood(model: Any, tokenizer: Any, prompt: str, answer: str) -> float:
    """log P(answer | prompt), token by token from the whole distribution."""
    import torch

    before = tokenizer.encode(prompt, add_special_tokens=False)
    after = tokenizer.encode(answer, add_special_tokens=False)
    total = 0.0
    for place, token in enumerate(after):
        with torch.no_grad():
            scores = model(torch.tensor([before + after[:place]])).logits[0, -1].double()
        total += float(scores[token] - torch.logsumexp(scores, 0))
    return total


def accuracies(model: Any, tokenizer: Any, shot: dict[str, Any] | None = None) -> tuple[float, float]:
    """Shares of questions whose right choice is the likeliest, as such and per character."""
    shown = f"{shot['question']} {shot['choices'][shot['gold']]}\n\n" if shot else ""
    plain = normal = 0
    for row in ASKED:
        scores = [loglikelihood(model, tokenizer, shown + row["question"], " " + choice) for choice in row["choices"]]
        per_character = [score / len(choice) for score, choice in zip(scores, row["choices"], strict=True)]
        plain += scores.index(max(scores)) == row["gold"]
        normal += per_character.index(max(per_character)) == row["gold"]
    return plain / len(ASKED), normal / len(ASKED)


def loaded(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoTokenizer

    from secateur.checkpoints import load

    return load(folder), AutoTokenizer.from_pretrained(folder)


def test_without_shots_the_scores_are_those_worked_out_by_hand(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    to = tmp_path / "new" / "results.json"
    found = evaluate(str(folder / "gpt2"), task=["colours"], include=folder / "tasks", batch_size=5, device="cpu", to=to)
    plain, normal = accuracies(*loaded(folder / "gpt2"))
    assert 0 < plain < 1  # else a constant would do
    assert found.scores["colours"]["acc"].value == pytest.approx(plain)
    assert found.scores["colours"]["acc_norm"].value == pytest.approx(normal)
    # the standard error of a mean of 0s and 1s
    assert found.scores["colours"]["acc"].stderr == pytest.approx((plain * (1 - plain) / (len(ASKED) - 1)) ** 0.5)
    assert found.examples == {"colours": 12}
    assert found.shots == {"colours": 0}
    assert found.accuracy == pytest.approx(plain)
    written = json.loads(to.read_text())
    assert written == json.loads(json.dumps(found.as_dict()))
    assert written["scores"]["colours"]["acc"]["value"] == pytest.approx(plain)
    assert list(to.parent.iterdir()) == [to]
    assert f"{plain:.4f}" in str(found)


def test_with_one_shot_an_example_of_the_fewshot_split_comes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lm_eval")
    from secateur.tasks import harness

    asked: list[Any] = []
    original = harness.Adapter.loglikelihood

    def listen(self: Any, requests: Any, disable_tqdm: bool = False) -> Any:
        answers = original(self, requests, disable_tqdm)
        asked.extend(zip([r.args for r in requests], [a[0] for a in answers], strict=True))
        return answers

    monkeypatch.setattr(harness.Adapter, "loglikelihood", listen)
    found = evaluate(
        str(folder / "gpt2"), task=["colours", "never_shown"], include=folder / "tasks", shots=1, device="cpu", batch_size=7
    )
    assert found.shots == {"colours": 1, "never_shown": 0}  # a task that says 0 keeps it
    model, tokenizer = loaded(folder / "gpt2")
    solved = {f"{row['question']} {row['choices'][row['gold']]}\n\n": row for row in SHOWN}
    with_shot = [(prompt, answer, score) for (prompt, answer), score in asked if "\n\n" in prompt]
    without = [prompt for (prompt, _), _ in asked if "\n\n" not in prompt]
    assert len(with_shot) == len(without) == 3 * len(ASKED)
    for prompt, answer, score in with_shot:
        assert prompt.split("\n\n")[0] + "\n\n" in solved
        assert score == pytest.approx(loglikelihood(model, tokenizer, prompt, answer), abs=1e-4)
    # another way to the accuracy: the harness's prompts, our log-probabilities
    right = 0
    for place, row in enumerate(ASKED):
        scores = [loglikelihood(model, tokenizer, p, a) for p, a, _ in with_shot[3 * place : 3 * place + 3]]
        right += scores.index(max(scores)) == row["gold"]
    assert found.scores["colours"]["acc"].value == pytest.approx(right / len(ASKED))
    assert found.scores["never_shown"]["acc"].value == pytest.approx(accuracies(model, tokenizer)[0])


def test_a_pruned_export_is_evaluated(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    from secateur.export.checkpoint import save_checkpoint
    from secateur.spaces.pruning.plan import Plan
    from secateur.supernet.supernet import Supernet

    model, tokenizer = loaded(folder / "gpt2")
    to = tmp_path / "pruned"
    save_checkpoint(Supernet(model), Plan.uniform(2, 2, 5), to, tokenizer=tokenizer)
    assert json.loads((to / "config.json").read_text())["model_type"] == "secateur_gpt2"
    (to / "modeling_secateur.py").write_text("raise SystemExit('a checkpoint's own code was run')")
    found = evaluate(str(to), task=[str(folder / "tasks" / "colours.yaml")], device="cpu")
    from secateur.checkpoints import load

    assert found.accuracy == pytest.approx(accuracies(load(to), tokenizer)[0])


def test_a_tokenizer_that_frames_texts_is_used_without_its_frame(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    from secateur.testing.toy_tokenizer import toy_tokenizer

    model, _ = loaded(folder / "gpt2")
    save(model, tmp_path, toy_tokenizer(WORDS))
    found = evaluate(str(tmp_path), task=["colours"], include=folder / "tasks", device="cpu")
    assert found.accuracy == pytest.approx(accuracies(*loaded(tmp_path))[0])


@pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])
@pytest.mark.parametrize("embedding", [(0, 1), (8, 2)], ids=["plain", "adaptive"])
def test_networks_of_our_own_are_scored(folder: Path, tmp_path: Path, backbone: str, embedding: tuple[int, int]) -> None:
    pytest.importorskip("lm_eval")
    _, tokenizer = loaded(folder / "gpt2")
    network = designed(backbone, len(tokenizer), *embedding)
    save(network, tmp_path, tokenizer)
    found = evaluate(str(tmp_path), task=["colours"], include=folder / "tasks", device="cpu")
    assert found.accuracy == pytest.approx(accuracies(network, tokenizer)[0])


def greedy(model: Any, tokenizer: Any, prompt: str) -> str:
    """The likeliest two tokens after a prompt that stands alone."""
    import torch

    tokens = tokenizer.encode(prompt, add_special_tokens=False)
    for _ in range(2):
        with torch.no_grad():
            tokens.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
    return str(tokenizer.decode(tokens[-2:], skip_special_tokens=True)).strip()


@pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])
def test_texts_are_generated_in_batches_as_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backbone: str
) -> None:
    pytest.importorskip("lm_eval")
    from secateur.tasks import harness

    _, tokenizer = loaded(folder / "gpt2")
    model = designed(backbone, len(tokenizer))
    save(model, tmp_path / "model", tokenizer)
    written: list[tuple[str, str]] = []
    original = harness.Adapter.generate_until

    def listen(self: Any, requests: Any, **settings: Any) -> Any:
        texts = original(self, requests, **settings)
        written.extend(zip([r.args[0] for r in requests], texts, strict=True))
        return texts

    monkeypatch.setattr(harness.Adapter, "generate_until", listen)
    # prompts of different lengths: shorter ones are padded on the left
    task = json.loads((folder / "tasks" / "writing.yaml").read_text())
    (tmp_path / "uneven.yaml").write_text(
        json.dumps({**task, "task": "uneven", "doc_to_text": "{{question}}{% if gold == 0 %} red is{% endif %}"})
    )
    found = evaluate(str(tmp_path / "model"), task=["uneven"], include=tmp_path, device="cpu", limit=6, batch_size=6)
    assert found.examples == {"uneven": 6}
    assert len({len(prompt.split()) for prompt, _ in written}) > 1
    assert [text.strip() for _, text in written] == [greedy(model, tokenizer, prompt) for prompt, _ in written]
    assert len({text for _, text in written}) > 1  # else a constant would do


def test_a_model_without_generate_gets_one_line_for_such_a_task(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lm_eval")
    import transformers

    monkeypatch.setattr(transformers.GPT2LMHeadModel, "can_generate", lambda self: False)
    with pytest.raises(
        ConfigurationError, match=r"task `writing` wants generated text, and `GPT2LMHeadModel` has no `generate`"
    ):
        evaluate(str(folder / "gpt2"), task=["colours", "writing"], include=folder / "tasks", device="cpu")


def test_tasks_that_run_code_or_show_pictures_are_refused(folder: Path) -> None:
    pytest.importorskip("lm_eval")
    from secateur.tasks import harness

    model, _ = loaded(folder / "gpt2")
    tasks = harness.load_tasks(["unsafe"], include=folder / "tasks")
    with pytest.raises(ConfigurationError, match="`unsafe` runs code"):
        harness.check_tasks(tasks, model)
    tasks["unsafe"].UNSAFE_CODE, tasks["unsafe"].MULTIMODAL = False, True
    with pytest.raises(ConfigurationError, match="images or sound"):
        harness.check_tasks(tasks, model)


def test_data_that_cannot_be_had_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lm_eval")
    import datasets

    with pytest.raises(DataError, match=r"the data of task `missing` could not be loaded: .*missing\.jsonl") as caught:
        evaluate(str(folder / "gpt2"), task=["missing"], include=folder / "tasks", device="cpu")
    assert "\n" not in str(caught.value)

    def offline(path: str, *_: Any, **__: Any) -> None:
        raise ConnectionError(f"Couldn't reach '{path}' on the Hub\n(OfflineModeIsEnabled)")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    with pytest.raises(
        DataError, match=r"task `hellaswag` could not be loaded: Couldn't reach 'Rowan/hellaswag'.*hub"
    ) as caught:
        evaluate(str(folder / "gpt2"), preset="lts14", device="cpu")
    assert "\n" not in str(caught.value)


def test_the_preset_names_tasks_that_the_harness_has_all_of_multiple_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lm_eval")
    from secateur.tasks import harness

    names = TASK_PRESETS["lts14"]
    assert len(set(names)) == len(LTS14) == 14
    # found without reading all of the harness's 13,000 files, which would take 20 s
    manager = harness._index(names, None)
    assert len(manager.all_tasks) < 200
    for name in names:
        entry = manager.task_index[name].cfg
        assert entry["output_type"] == "multiple_choice"
        assert any(metric["metric"] in module._ACCURACY for metric in entry["metric_list"])


def test_an_unknown_task_is_said_with_the_nearest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lm_eval")
    from secateur.tasks import harness

    # the harness's whole index, which is read for an unknown name, takes 20 s; a part of it does here
    whole = harness.lm_eval.tasks.TaskManager

    def part(include_path: Any = None, include_defaults: bool = True) -> Any:
        return whole(include_path=[*(include_path or []), harness.STOCK / "piqa"], include_defaults=False)

    monkeypatch.setattr(harness.lm_eval.tasks, "TaskManager", part)
    with pytest.raises(ConfigurationError) as caught:
        evaluate(str(folder / "gpt2"), task=["coluors", "pikqa", "colours"], include=folder / "tasks", device="cpu")
    assert len(caught.value.faults) == 2
    assert "unknown task `coluors`. Did you mean `colours`?" in caught.value.faults[0]
    assert "Did you mean `piqa`?" in caught.value.faults[1]


def test_an_answer_longer_than_the_model_is_said(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    from secateur.testing.models import toy_model

    _, tokenizer = loaded(folder / "gpt2")
    save(toy_model("gpt2", "causal", layers=1, max_position_embeddings=6), tmp_path / "short", tokenizer)
    task = json.loads((folder / "tasks" / "colours.yaml").read_text())
    (tmp_path / "long.yaml").write_text(
        json.dumps({**task, "task": "long", "doc_to_choice": ["red " * 7, "blue"], "doc_to_target": 0})
    )
    with pytest.raises(DataError, match="has 7 tokens, and the model takes 6 at most"):
        evaluate(str(tmp_path / "short"), task=["long"], include=tmp_path, device="cpu")


def test_a_tokenizer_without_a_first_or_last_token_is_said(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    model, tokenizer = loaded(folder / "gpt2")
    tokenizer.eos_token = None
    save(model, tmp_path, tokenizer)
    with pytest.raises(ModelError, match="Set its `bos_token` or `eos_token`"):
        evaluate(str(tmp_path), task=["colours"], include=folder / "tasks", device="cpu")


def test_a_model_that_predicts_no_next_token_is_said(tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    from secateur.testing.models import toy_model
    from secateur.testing.toy_tokenizer import toy_tokenizer

    save(toy_model("bert"), tmp_path, toy_tokenizer(WORDS))
    with pytest.raises(ModelError, match="`BertForSequenceClassification`, which gives no scores of next tokens"):
        evaluate(str(tmp_path), task=["colours"], device="cpu")


def test_a_model_that_sees_the_answer_is_said() -> None:
    pytest.importorskip("lm_eval")
    from transformers import BertConfig, BertForMaskedLM

    from secateur.tasks import harness

    sizes: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    with pytest.raises(ModelError, match="sees the tokens that it would have to predict"):
        harness.check_causal(BertForMaskedLM(BertConfig(vocab_size=50, **sizes)).eval(), "bert")


def test_a_model_that_takes_no_bare_tokens_is_said() -> None:
    pytest.importorskip("lm_eval")
    from transformers import T5Config, T5ForConditionalGeneration

    from secateur.tasks import harness

    sizes: dict[str, Any] = {"d_model": 16, "d_kv": 8, "num_heads": 2, "d_ff": 32, "num_layers": 1, "vocab_size": 50}
    with pytest.raises(ModelError, match="`T5ForConditionalGeneration`, which gives no scores"):
        harness.check_causal(T5ForConditionalGeneration(T5Config(**sizes)).eval(), "t5")


@pytest.mark.parametrize("path", ["./missing", "/missing/model", "~/missing-model", "a/b/c"])
def test_a_path_that_does_not_exist_is_said(path: str) -> None:
    pytest.importorskip("lm_eval")
    with pytest.raises(ModelError, match="does not exist"):
        evaluate(path, task=["colours"], device="cpu")


def test_a_hub_name_is_fetched_or_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lm_eval")
    import transformers

    from secateur.verbs import loading

    model, tokenizer = loaded(folder / "gpt2")
    monkeypatch.setattr(loading, "load_tokenizer", lambda name: tokenizer)

    def fetch(name: str, **_: Any) -> Any:
        if name == "owner/name":
            return model
        raise OSError("no connection\nand more lines")

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", fetch)
    found = evaluate("owner/name", task=["colours"], include=folder / "tasks", device="cpu", limit=1)
    assert found.examples == {"colours": 1}
    with pytest.raises(ModelError, match="`other` could not be loaded: no connection and more lines"):
        evaluate("other", task=["colours"], device="cpu")


def test_all_faults_of_the_settings_are_reported_before_anything_loads(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(ConfigurationError) as caught:
        evaluate(
            "./missing", task=[" "], shots=-1, limit=0, batch_size=0, include=tmp_path / "none", to=tmp_path / "results.json"
        )
    assert len(caught.value.faults) == 6
    with pytest.raises(ConfigurationError, match="say which tasks"):
        evaluate("./missing")
    with pytest.raises(UnknownNameError, match=r"unknown preset `lts15`\. Did you mean `lts14`"):
        evaluate("./missing", preset="lts15")


def test_where_the_scores_go_is_tried_before_the_work_and_they_are_never_lost(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("lm_eval")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"`to` cannot be written: .*: (not a directory|file exists)"):
        evaluate("./missing", task=["colours"], to=tmp_path / "file" / "scores.json")
    options: dict[str, Any] = {"task": ["colours"], "include": str(folder / "tasks"), "device": "cpu", "limit": 2}
    found = evaluate(str(folder / "gpt2"), to=str(tmp_path / "new" / "scores.json"), **options)  # paths as strings
    assert json.loads((tmp_path / "new" / "scores.json").read_text())["limit"] == 2

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write", full)
    with pytest.raises(ConfigurationError, match=r"no space left on device\. The scores are printed instead"):
        evaluate(str(folder / "gpt2"), to=tmp_path / "b.json", **options)
    assert str(found) in capsys.readouterr().out
    assert not list(tmp_path.glob("b.json*"))


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"secateur\[lm-eval\]"):
        evaluate("./missing", task=["colours"])


def test_the_mean_counts_each_task_once() -> None:
    scores = {
        "one": {"acc": Score(0.5, 0.1), "acc_norm": Score(0.9, 0.1)},
        "two": {"f1": Score(0.3, None), "em": Score(0.2, None)},
        "three": {"word_perplexity": Score(12.0, None)},
    }
    facts = dict.fromkeys(scores, 4)
    found = Evaluation("m", scores, facts, facts, None, {})
    assert found.accuracies == {"one": 0.5, "two": 0.2}
    assert found.accuracy == pytest.approx(0.35)
    lines = str(found).splitlines()
    assert lines[-1].split() == ["mean", "accuracy", "0.3500", "2", "tasks"]
    assert len(lines) == 1 + 1 + 5 + 1
    assert Evaluation("m", {"three": scores["three"]}, facts, facts, None, {}).accuracy is None


def test_metrics_of_other_filters_keep_their_name() -> None:
    raw = {"alias": "t", "sample_len": 3, "exact_match,none": 0.5, "exact_match_stderr,none": "N/A", "exact_match,strict": 1}
    assert module._scores(raw) == {"exact_match": Score(0.5, None), "exact_match (strict)": Score(1.0, None)}


def test_the_signature_is_a_command_and_imports_nothing_heavy() -> None:
    app = typer.Typer()
    app.command()(evaluate)
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert "--preset" in shown.output
    code = "import sys, secateur.verbs.evaluate; sys.exit(any(n in sys.modules for n in ('torch', 'transformers', 'lm_eval')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0
