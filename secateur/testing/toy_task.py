"""Toy data of every kind of task, made up of a few words: for tests of training and of estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secateur.errors import ConfigurationError
from secateur.rng import Generator, generator
from secateur.tasks.examples import Examples, TaskData, tokenise
from secateur.tasks.task import KINDS, TEXT_KINDS, Task
from secateur.testing.toy_tokenizer import toy_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

WORDS = tuple(f"word{i}" for i in range(40))  # with the special tokens they fit the toy models' vocabulary
CHOICES = ("first", "second")


def toy_task_data(
    kind: str = "classification", *, examples: int = 24, seed: int = 0, shortest: int = 2, longest: int = 9
) -> TaskData:
    """A task of `kind` with `examples` training examples and as many for validation and for test.

    Texts have `shortest` to `longest` words. What is to be told can be learned: the class is in the first word (of three
    classes), the number is a sum over the words, the right answer repeats the question's first word, and texts count upwards.
    """
    if kind not in TEXT_KINDS:
        raise ConfigurationError(f"`kind` must be one of {', '.join(TEXT_KINDS)}, got `{kind}`.")
    metrics, main = KINDS[kind]
    labels = {"classification": 3, "regression": 1, "multiple_choice": len(CHOICES)}.get(kind)
    task = Task(
        f"toy {kind}",
        kind,
        metrics,
        main,
        ("text",),
        None if kind == "language_modelling" else "label",
        num_labels=labels,
        choices=CHOICES if kind == "multiple_choice" else (),
    )
    tokenizer = toy_tokenizer(WORDS, max_length=32)
    train, validation, test = (
        _examples(task, tokenizer, examples, generator(seed, "toy", split), shortest, longest)
        for split in ("train", "validation", "test")
    )
    return TaskData(task, train, validation, test, tokenizer=tokenizer, max_length=32, num_labels=labels)


def _examples(
    task: Task, tokenizer: PreTrainedTokenizerFast, size: int, rng: Generator, shortest: int, longest: int
) -> Examples:
    """The examples of one split."""
    drawn = [rng.integers(0, len(WORDS), size=int(rng.integers(shortest, longest + 1))) for _ in range(size)]
    texts = {"text": [" ".join(WORDS[i] for i in row) for row in drawn]}
    if task.kind == "language_modelling":
        rows = [[4 + int(row[0] + i) % len(WORDS) for i in range(len(row))] for row in drawn]
        return Examples({"input_ids": rows, "attention_mask": [[1] * len(row) for row in rows], "labels": rows})
    if task.kind == "classification":
        return tokenise(tokenizer, task, texts, [int(row[0]) % 3 for row in drawn], task_length(longest))
    if task.kind == "regression":
        return tokenise(tokenizer, task, texts, [float(row.sum()) / 100 for row in drawn], task_length(longest))
    right = [int(rng.integers(0, 2)) for _ in drawn]
    for place, name in enumerate(CHOICES):
        texts[name] = [
            WORDS[int(row[0]) if place == r else (int(row[0]) + 7) % len(WORDS)] for row, r in zip(drawn, right, strict=True)
        ]
    return tokenise(tokenizer, task, texts, right, task_length(longest))


def task_length(longest: int) -> int:
    """Tokens that hold a text of `longest` words with an answer and its frame."""
    return longest + 4
