from __future__ import annotations

import warnings

import pytest
import torch

from secateur.errors import ModelError
from secateur.tasks import KINDS, Examples, Task, TaskData
from secateur.tasks.examples import prepare_tokenizer, tokenise
from secateur.testing.toy_tokenizer import toy_tokenizer


def make(kind: str, text: tuple[str, ...] = ("text",), choices: tuple[str, ...] = ()) -> Task:
    metrics, main = KINDS[kind]
    return Task("toy", kind, metrics, main, text, "label", 2, ("a", "b"), choices=choices)


def data(task: Task, examples: Examples, tokenizer) -> TaskData:
    return TaskData(task, examples, examples, examples, tokenizer, 16, task.num_labels, task.label_names)


def test_examples_are_a_list(tokenizer):
    examples = tokenise(tokenizer, make("classification"), {"text": ["good", "a bad film", "one"]}, [1, 0, 1], 16)
    assert len(examples) == 3
    assert examples.lengths == [3, 5, 3]
    assert examples[1]["labels"] == 0
    assert examples[1]["attention_mask"] == [1] * 5
    assert len(list(examples)) == 3
    assert examples[1:].lengths == [5, 3]
    assert examples.labels == [1, 0, 1]
    with pytest.raises(IndexError):
        examples[3]


def test_truncation_keeps_to_both_limits(tokenizer):
    long = {"text": ["the film was very long and not good"]}
    assert tokenise(tokenizer, make("classification"), long, [0], 6).lengths == [6]
    short = toy_tokenizer(["the"], max_length=4)
    assert tokenise(short, make("classification"), long, [0], 6).lengths == [4]


def test_pairs_have_token_types(tokenizer):
    task = make("regression", ("one", "other"))
    examples = tokenise(tokenizer, task, {"one": ["a film"], "other": ["good"]}, [0.5], 16)
    assert examples[0]["token_type_ids"] == [0, 0, 0, 0, 1, 1]
    batch = data(task, examples, tokenizer).collate([examples[0]])
    assert batch["labels"].dtype == torch.float32


def test_a_batch_is_padded_to_its_longest(tokenizer):
    task = make("classification")
    examples = tokenise(tokenizer, task, {"text": ["good", "a bad film"]}, [1, 0], 16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batch = data(task, examples, tokenizer).collate(list(examples))
    assert batch["input_ids"].shape == (2, 5)
    assert batch["input_ids"][0, 3:].tolist() == [0, 0]
    assert batch["attention_mask"].sum(1).tolist() == [3, 5]
    assert batch["labels"].tolist() == [1, 0]
    assert batch["labels"].dtype == torch.long


def test_multiple_choice_has_an_axis_of_answers(tokenizer):
    task = make("multiple_choice", ("start", "more"), ("ending0", "ending1"))
    texts = {
        "start": ["the film", "a film"],
        "more": ["was", "was"],
        "ending0": ["good", "one"],
        "ending1": ["very bad", "two"],
    }
    examples = tokenise(tokenizer, task, texts, [0, 1], 16)
    assert examples.lengths == [8, 7]
    batch = data(task, examples, tokenizer).collate(list(examples))
    assert batch["input_ids"].shape == batch["token_type_ids"].shape == (2, 2, 8)
    words = tokenizer.convert_ids_to_tokens(batch["input_ids"][0, 1].tolist())
    assert words == ["[CLS]", "the", "film", "[SEP]", "was", "very", "bad", "[SEP]"]
    alone = make("multiple_choice", ("start",), ("ending0", "ending1"))
    assert tokenise(tokenizer, alone, texts, [0, 1], 16).lengths == [7, 6]


def test_language_labels_are_padded_by_position_not_by_token():
    tokenizer = toy_tokenizer(["a b"], pad=False)
    prepare_tokenizer(tokenizer)
    end = tokenizer.pad_token_id
    examples = Examples({"input_ids": [[4, end, 5], [end, 4]], "attention_mask": [[1, 1, 1], [1, 1]], "labels": [[], []]})
    for side in ("right", "left"):
        tokenizer.padding_side = side
        batch = data(make("language_modelling"), examples, tokenizer).collate(list(examples))
        assert batch["labels"].tolist() == [[4, end, 5], [end, 4, -100]]
        assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
        assert tokenizer.padding_side == side


def test_batches_hold_every_example_once_longest_first(tokenizer):
    task = make("classification")
    texts = ["a " * (1 + i % 7) for i in range(23)]
    everything = data(task, tokenise(tokenizer, task, {"text": texts}, [i % 2 for i in range(23)], 16), tokenizer)
    batches = list(everything.batches("validation", 5))
    assert [len(b["labels"]) for b in batches] == [5, 5, 5, 5, 3]
    widths = [b["input_ids"].shape[1] for b in batches]
    assert widths == sorted(widths, reverse=True)
    assert sum(int(b["attention_mask"].sum()) for b in batches) == sum(everything.validation.lengths)
    assert sum(int(b["labels"].sum()) for b in batches) == 11
    assert len(list(everything.batches(everything.train[:4], 3))) == 2
    with pytest.raises(ValueError, match="`split` must be one of"):
        next(everything.batches("dev", 5))


def test_fingerprints_tell_data_apart(tokenizer):
    def of(texts: list[str], labels: list[int], kind: str = "classification") -> str:
        task = make(kind)
        return data(task, tokenise(tokenizer, task, {"text": texts}, labels, 16), tokenizer).fingerprint

    first = of(["a film", "good"], [0, 1])
    assert first == of(["a film", "good"], [0, 1])
    others = {of(["a film", "good"], [1, 0]), of(["a", "film good"], [0, 1]), of(["a film", "bad"], [0, 1])}
    assert len(others | {first, of(["a film", "good"], [0, 1], "regression")}) == 5


def test_a_tokenizer_without_padding_pads_with_its_end():
    tokenizer = toy_tokenizer(["a b"], pad=False)
    assert tokenizer.pad_token is None
    prepare_tokenizer(tokenizer)
    assert tokenizer.pad_token == tokenizer.eos_token == "[SEP]"
    task = make("classification")
    examples = tokenise(tokenizer, task, {"text": ["a b", " "]}, [0, 1], 8)
    assert examples[1]["input_ids"] == [tokenizer.pad_token_id]  # a blank text still is one token
    assert examples[1]["attention_mask"] == [1]


def test_a_tokenizer_with_neither():
    tokenizer = toy_tokenizer(["a b"], pad=False)
    tokenizer.eos_token = None
    with pytest.raises(ModelError, match="neither a padding token nor an end-of-text token"):
        prepare_tokenizer(tokenizer)
