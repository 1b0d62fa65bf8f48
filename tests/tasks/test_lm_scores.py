"""Scores of the harness against log-probabilities worked out with the model itself. Nothing is fetched."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from secateur.errors import ConfigurationError, DataError, ModelError
from secateur.tasks.lm_scores import ACCURACY, LTS14, TASK_PRESETS, Questions, Score, Scores, metrics_of, score_network

WORDS = ("red", "green", "blue", "warm", "cold", "sky", "grass", "fire", "snow", "is")


def rows(seed: int, count: int) -> list[dict[str, Any]]:
    """Questions with choices of one and of two words."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        choices = [" ".join(rng.sample(WORDS[:5], k)) for k in (1, 2, 1)]
        question = f"{rng.choice(WORDS[5:9])} is {rng.choice(WORDS[:5])} is"
        made.append({"question": question, "choices": choices, "gold": rng.randrange(3)})
    return made


ASKED, SHOWN = rows(0, 12), rows(1, 4)


@pytest.fixture(scope="module")
def include(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of task files, with their data beside it."""
    made = tmp_path_factory.mktemp("harness")
    for name, lines in (("asked", ASKED), ("shown", SHOWN)):
        (made / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = {"test": str(made / "asked.jsonl"), "train": str(made / "shown.jsonl")}
    data: dict[str, Any] = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": files, "cache_dir": str(made / "cache")},
        "test_split": "test",
        "fewshot_split": "train",
        "doc_to_text": "{{question}}",
    }
    choice = {**data, "output_type": "multiple_choice", "doc_to_choice": "{{choices}}", "doc_to_target": "{{gold}}"}
    # prompts of different lengths: shorter ones are padded on the left
    write = {**data, "output_type": "generate_until", "doc_to_target": "{{choices[gold]}}"}
    write["doc_to_text"] += "{% if gold == 0 %} red is{% endif %}"
    write |= {"generation_kwargs": {"until": ["\n"], "max_gen_toks": 2}, "metric_list": [{"metric": "exact_match"}]}
    missing = {"data_files": {"test": str(made / "missing.jsonl")}, "cache_dir": str(made / "cache")}
    tasks = {
        "colours": {**choice, "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}]},
        "never_shown": {**choice, "num_fewshot": 0, "metric_list": [{"metric": "acc"}]},
        "writing": write,
        "missing": {**choice, "dataset_kwargs": missing},
        "long": {**choice, "doc_to_choice": ["red " * 7, "blue"], "doc_to_target": 0},
        "unsafe": {**choice, "unsafe_code": True},
    }
    folder = made / "tasks"
    folder.mkdir()
    for name, task in tasks.items():
        (folder / f"{name}.yaml").write_text(json.dumps({"task": name, **task}))  # JSON is YAML
    return folder


@pytest.fixture(scope="module")
def harness() -> Any:
    pytest.importorskip("lm_eval")
    from secateur.tasks import harness

    return harness


@pytest.fixture(scope="module")
def gpt2() -> Any:
    from secateur.testing.models import toy_model

    return toy_model("gpt2", "causal", layers=2)


def tokenizer(**settings: Any) -> Any:
    from secateur.testing.toy_tokenizer import toy_tokenizer

    return toy_tokenizer(WORDS, **settings)


@pytest.fixture
def words() -> Any:
    return tokenizer(pad=False)


def designed(backbone: str, vocabulary: int, embedding: int = 0, factor: int = 1) -> Any:
    """A network of our own with two layers of different sizes."""
    from secateur.decoders import Sizes, build
    from secateur.spaces.decoder import architecture
    from secateur.testing.models import randomise

    sizes = Sizes(vocabulary=vocabulary, positions=32, cutoffs=(5,))
    network = build(architecture(backbone, 16, [2, 4], [32, 48], embedding, factor), sizes)
    randomise(network)
    return network


def asking(include: Path, *tasks: str, **settings: Any) -> Questions:
    return Questions(task=list(tasks), include=include, **settings).check()


def loglikelihood(model: Any, tokenizer: Any, prompt: str, answer: str) -> float:
    """log P(answer | prompt), from the whole distribution at each token."""
    import torch

    before, after = (tokenizer.encode(said, add_special_tokens=False) for said in (prompt, answer))
    with torch.no_grad():
        scores = model(torch.tensor([before + after])).logits[0, len(before) - 1 : -1].double()
    return float(scores.log_softmax(-1)[range(len(after)), after].sum())


def accuracies(model: Any, tokenizer: Any) -> tuple[float, float]:
    """Shares of questions whose right choice is the likeliest, as such and per character."""
    plain = normal = 0
    for row in ASKED:
        scores = [loglikelihood(model, tokenizer, row["question"], " " + choice) for choice in row["choices"]]
        per_character = [score / len(choice) for score, choice in zip(scores, row["choices"], strict=True)]
        plain += scores.index(max(scores)) == row["gold"]
        normal += per_character.index(max(per_character)) == row["gold"]
    return plain / len(ASKED), normal / len(ASKED)


def test_without_shots_the_scores_are_those_worked_out_by_hand(harness: Any, include: Path, gpt2: Any, words: Any) -> None:
    found = score_network(gpt2, words, "toy", asking(include, str(include / "colours.yaml"), batch=5))
    plain, normal = accuracies(gpt2, words)
    assert 0 < plain < 1  # else a constant would do
    assert found.scores["colours"]["acc"].value == pytest.approx(plain)
    assert found.scores["colours"]["acc_norm"].value == pytest.approx(normal)
    # the standard error of a mean of 0s and 1s
    assert found.scores["colours"]["acc"].stderr == pytest.approx((plain * (1 - plain) / (len(ASKED) - 1)) ** 0.5)
    assert (found.examples, found.shots) == ({"colours": 12}, {"colours": 0})
    assert found.accuracy == pytest.approx(plain)
    assert f"{plain:.4f}" in str(found)


def test_with_one_shot_an_example_of_the_fewshot_split_comes_first(
    harness: Any, include: Path, gpt2: Any, words: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    original = harness.Adapter.loglikelihood

    def listen(self: Any, requests: Any, disable_tqdm: bool = False) -> Any:
        answers = original(self, requests, disable_tqdm)
        asked.extend(zip([r.args for r in requests], [a[0] for a in answers], strict=True))
        return answers

    monkeypatch.setattr(harness.Adapter, "loglikelihood", listen)
    found = score_network(gpt2, words, "toy", asking(include, "colours", "never_shown", shots=1, batch=7))
    assert found.shots == {"colours": 1, "never_shown": 0}  # a task that says 0 keeps it
    solved = {f"{row['question']} {row['choices'][row['gold']]}\n\n": row for row in SHOWN}
    with_shot = [(prompt, answer, score) for (prompt, answer), score in asked if "\n\n" in prompt]
    without = [prompt for (prompt, _), _ in asked if "\n\n" not in prompt]
    assert len(with_shot) == len(without) == 3 * len(ASKED)
    for prompt, answer, score in with_shot:
        assert prompt.split("\n\n")[0] + "\n\n" in solved
        assert score == pytest.approx(loglikelihood(gpt2, words, prompt, answer), abs=1e-4)
    # another way to the accuracy: the harness's prompts, our log-probabilities
    right = 0
    for place, row in enumerate(ASKED):
        scores = [loglikelihood(gpt2, words, p, a) for p, a, _ in with_shot[3 * place : 3 * place + 3]]
        right += scores.index(max(scores)) == row["gold"]
    assert found.scores["colours"]["acc"].value == pytest.approx(right / len(ASKED))
    assert found.scores["never_shown"]["acc"].value == pytest.approx(accuracies(gpt2, words)[0])


def test_a_tokenizer_that_frames_texts_is_used_without_its_frame(harness: Any, include: Path, gpt2: Any) -> None:
    framing = tokenizer()
    found = score_network(gpt2, framing, "toy", asking(include, "colours"))
    assert found.accuracy == pytest.approx(accuracies(gpt2, framing)[0])


@pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])
@pytest.mark.parametrize("embedding", [(0, 1), (8, 2)], ids=["plain", "adaptive"])
def test_networks_of_our_own_are_scored(
    harness: Any, include: Path, words: Any, backbone: str, embedding: tuple[int, int]
) -> None:
    network = designed(backbone, len(words), *embedding)
    found = score_network(network, words, "toy", asking(include, "colours"))
    assert found.accuracy == pytest.approx(accuracies(network, words)[0])


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
    harness: Any, include: Path, words: Any, monkeypatch: pytest.MonkeyPatch, backbone: str
) -> None:
    model = designed(backbone, len(words))
    written: list[tuple[str, str]] = []
    original = harness.Adapter.generate_until

    def listen(self: Any, requests: Any, **settings: Any) -> Any:
        texts = original(self, requests, **settings)
        written.extend(zip([r.args[0] for r in requests], texts, strict=True))
        return texts

    monkeypatch.setattr(harness.Adapter, "generate_until", listen)
    found = score_network(model, words, "toy", asking(include, "writing", limit=6, batch=6))
    assert found.examples == {"writing": 6}
    assert len({len(prompt.split()) for prompt, _ in written}) > 1
    assert [text.strip() for _, text in written] == [greedy(model, words, prompt) for prompt, _ in written]
    assert len({text for _, text in written}) > 1  # else a constant would do


def test_tasks_that_a_model_cannot_do_are_refused(
    harness: Any, include: Path, gpt2: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = harness.load_tasks(["unsafe", "writing"], include=include)
    monkeypatch.setattr(gpt2, "can_generate", lambda: False)
    with pytest.raises(ConfigurationError) as caught:
        harness.check_tasks(tasks, gpt2)
    assert "task `unsafe` runs code" in caught.value.faults[0]
    assert "task `writing` needs generated text, but `GPT2LMHeadModel` has no `generate`" in caught.value.faults[1]
    tasks["unsafe"].UNSAFE_CODE, tasks["unsafe"].MULTIMODAL = False, True
    with pytest.raises(ConfigurationError, match="images or sound"):
        harness.check_tasks(tasks, gpt2)


def test_data_that_cannot_be_had_is_one_line(harness: Any, include: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    with pytest.raises(DataError, match=r"the data of task `missing` could not be loaded: .*missing\.jsonl") as caught:
        harness.load_tasks(["missing"], include=include)
    assert "\n" not in str(caught.value)

    def offline(path: str, *_: Any, **__: Any) -> None:
        raise ConnectionError(f"Couldn't reach '{path}' on the Hub\n(OfflineModeIsEnabled)")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    told = r"task `hellaswag` could not be loaded: Couldn't reach 'Rowan/hellaswag'.*hub"
    with pytest.raises(DataError, match=told) as caught:
        harness.load_tasks(Questions(preset="lts14").names)
    assert "\n" not in str(caught.value)


def test_the_preset_names_tasks_that_the_harness_has_all_of_multiple_choice(harness: Any) -> None:
    names = TASK_PRESETS["lts14"]
    assert len(set(names)) == len(LTS14) == 14
    # found without reading all of the harness's 13,000 files, which would take 20 s
    manager = harness._index(names, None)
    assert len(manager.all_tasks) < 200
    for name in names:
        entry = manager.task_index[name].cfg
        assert entry["output_type"] == "multiple_choice"
        assert any(metric["metric"] in ACCURACY for metric in entry["metric_list"])


def test_an_unknown_task_is_said_with_the_nearest(harness: Any, include: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the harness's whole index, which is read for an unknown name, takes 20 s; a part of it does here
    whole = harness.lm_eval.tasks.TaskManager

    def part(include_path: Any = None, include_defaults: bool = True) -> Any:
        return whole(include_path=[*(include_path or []), harness.STOCK / "piqa"], include_defaults=False)

    monkeypatch.setattr(harness.lm_eval.tasks, "TaskManager", part)
    with pytest.raises(ConfigurationError) as caught:
        harness.load_tasks(["coluors", "pikqa", "colours"], include=include)
    assert len(caught.value.faults) == 2
    assert "unknown task `coluors`. Did you mean `colours`?" in caught.value.faults[0]
    assert "Did you mean `piqa`?" in caught.value.faults[1]


def test_an_answer_longer_than_the_model_is_said(harness: Any, include: Path, words: Any) -> None:
    from secateur.testing.models import toy_model

    short = toy_model("gpt2", "causal", layers=1, max_position_embeddings=6)
    with pytest.raises(DataError, match="has 7 tokens, and the model takes at most 6"):
        score_network(short, words, "short", asking(include, "long"))


def test_a_tokenizer_without_a_first_or_last_token_is_said(harness: Any, gpt2: Any, words: Any) -> None:
    words.eos_token = None
    with pytest.raises(ModelError, match="Set its `bos_token` or `eos_token`"):
        harness.Adapter(gpt2, words, 1)


BERT = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 50}
T5 = {"d_model": 16, "d_kv": 8, "num_heads": 2, "d_ff": 32, "num_layers": 1, "vocab_size": 50}


@pytest.mark.parametrize(
    ("name", "sizes", "told"),
    [
        ("BertForSequenceClassification", BERT, "does not score next tokens"),
        ("BertForMaskedLM", BERT, "sees the tokens it would have to predict"),
        ("T5ForConditionalGeneration", T5, "does not score"),
    ],
)
def test_a_model_that_predicts_no_next_token_is_said(harness: Any, name: str, sizes: dict[str, int], told: str) -> None:
    import transformers

    made = getattr(transformers, name)
    with pytest.raises(ModelError, match=f"`a` is a `{name}`, which {told}"):
        harness.check_causal(made(made.config_class(**sizes)).eval(), "a")


def test_the_mean_counts_each_task_once() -> None:
    scores = {
        "one": {"acc": Score(0.5, 0.1), "acc_norm": Score(0.9, 0.1)},
        "two": {"f1": Score(0.3, None), "em": Score(0.2, None)},
        "three": {"word_perplexity": Score(12.0, None)},
    }
    facts = dict.fromkeys(scores, 4)
    found = Scores("m", scores, facts, facts, None, {})
    assert found.accuracies == {"one": 0.5, "two": 0.2}
    assert found.accuracy == pytest.approx(0.35)
    lines = str(found).splitlines()
    assert lines[2].split() == ["one", "acc", "0.5000", "±", "0.1000", "4", "4"]
    assert lines[-1].split() == ["mean", "accuracy", "0.3500", "2", "tasks"]
    assert len(lines) == 1 + 1 + 5 + 1
    assert Scores("m", {"three": scores["three"]}, facts, facts, None, {}).accuracy is None


def test_metrics_of_other_filters_keep_their_name() -> None:
    raw = {"alias": "t", "sample_len": 3, "exact_match,none": 0.5, "exact_match_stderr,none": "N/A", "exact_match,strict": 1}
    assert metrics_of(raw) == {"exact_match": Score(0.5, None), "exact_match (strict)": Score(1.0, None)}
