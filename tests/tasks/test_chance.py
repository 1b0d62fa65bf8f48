"""Chance, computed by hand and by counting."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from secateur.tasks import Examples, Task, TaskData
from secateur.tasks.chance import chance
from secateur.tasks.metrics import Scorer


def data(kind: str, metrics: tuple[str, ...], main: str, train: list, held_out: list, classes: int | None = None) -> TaskData:
    task = Task("toy", kind, metrics, main, ("text",), "label", classes)
    ids = {"input_ids": [[1, 2]] * len(train), "attention_mask": [[1, 1]] * len(train)}
    other = {name: values[:1] * len(held_out) for name, values in ids.items()}
    splits = Examples({**ids, "labels": train}), *(Examples({**other, "labels": held_out}) for _ in range(2))
    return TaskData(task, *splits, tokenizer=None, max_length=8, num_labels=classes)


def test_the_majority_class_of_the_training_data() -> None:
    found = chance(data("classification", ("accuracy", "f1"), "accuracy", [0, 0, 1], [1, 1, 0, 1], 2), "validation")
    assert found == {"accuracy": 0.25, "f1": 0.0, "error": 0.75}


def test_by_another_metric_the_best_constant_is_another() -> None:
    """The majority has no F1 at all: always saying 1 has 2 · ½ · 1 / (½ + 1)."""
    found = chance(data("classification", ("f1", "accuracy"), "f1", [0, 0, 1], [1, 0], 2), "test")
    assert found["f1"] == pytest.approx(2 / 3)


def test_thousands_of_classes_take_no_longer_than_two(monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[Task] = []

    class Counted(Scorer):
        def __init__(self, task: Task) -> None:
            super().__init__(task)
            scored.append(task)

    monkeypatch.setattr("secateur.tasks.chance.Scorer", Counted)
    labels = [*range(1500), 700, 700]
    found = chance(data("classification", ("accuracy", "f1"), "accuracy", labels, labels, 1500), "validation")
    assert found["accuracy"] == 3 / 1502
    assert len(scored) == 3  # two candidates on the training data, the better one on the split


def test_a_class_that_training_lacks() -> None:
    assert chance(data("classification", ("accuracy",), "accuracy", [0, 0], [2, 0], 3), "test")["accuracy"] == 0.5


def test_the_mean_tells_nothing_of_the_order() -> None:
    found = chance(data("regression", ("spearman", "pearson"), "spearman", [1.0, 2.0], [3.0, 1.0, 2.0], 1), "validation")
    assert found == {"spearman": 0.0, "pearson": 0.0, "error": 1.0}


def test_unigrams() -> None:
    class Words:
        def __len__(self) -> int:
            return 5

    task = Task("toy", "language_modelling", ("token_accuracy", "perplexity"), "token_accuracy", ("text",), None)
    train, held_out = [[0, 1, 1, 2], [3, 1]], [[1, 1, 2, 4], [0, 1]]

    def examples(rows: list[list[int]]) -> Examples:
        return Examples({"input_ids": rows, "attention_mask": [[1] * len(row) for row in rows]})

    found = chance(TaskData(task, examples(train), examples(held_out), examples(held_out), Words(), 8), "validation")
    counts = Counter([1, 1, 2, 1])  # the first token of a block is not predicted
    scored = [1, 2, 4, 1]
    nll = -sum(math.log((counts[token] + 1) / (4 + 5)) for token in scored)
    assert found["perplexity"] == pytest.approx(math.exp(nll / 4))
    assert found["token_accuracy"] == 0.5
    assert found["error"] == 0.5
