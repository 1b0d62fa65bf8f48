"""What can be had without a network: the score of an answer that never looks at its input."""

from __future__ import annotations

import numpy as np

from secateur.tasks.examples import Examples, TaskData
from secateur.tasks.metrics import Scorer, perplexity
from secateur.tasks.task import Task

#: Examples that are scored at once.
_ROWS = 1024
#: What is answered, per kind of task.
ABOUT = {
    "classification": "always the same class",
    "multiple_choice": "always the same answer",
    "regression": "always the mean",
    "language_modelling": "each token by its frequency",
    "image_classification": "always the same class",
}


def chance(data: TaskData, split: str) -> dict[str, float]:
    """Every metric of the task and the `error`, on a split, of the best answer that ignores its input.

    The class that scores best on the training data (the majority class by accuracy), the training data's mean, or the
    training text's token frequencies, each token counted once more than it is there.
    """
    task, examples = data.task, data.split(split)
    if task.kind == "language_modelling":
        found = _unigrams(data, examples)
    elif task.kind == "regression":
        found = _always(task, np.array([np.mean(_labels(data.train))]), examples)
    else:
        # Of two classes either may be best, as in F1; of more it is the most frequent, by every metric.
        classes, counts = np.unique(_labels(data.train).astype(int), return_counts=True)
        frequent = sorted(classes[np.argsort(-counts, kind="stable")][:2].tolist())
        best = max(frequent, key=lambda label: _constant(task, label, data.train)[task.main])
        found = _constant(task, best, examples)
    return {**found, "error": 1 - found[task.main]}


def _constant(task: Task, label: int, examples: Examples) -> dict[str, float]:
    logits = np.zeros(1 + max(label, int(_labels(examples).max())))
    logits[label] = 1.0
    return _always(task, logits, examples)


def _always(task: Task, outputs: np.ndarray, examples: Examples) -> dict[str, float]:
    """The metrics of the same outputs for every example, given in parts: there may be thousands of classes."""
    scorer, labels = Scorer(task), _labels(examples)
    for start in range(0, len(labels), _ROWS):
        part = labels[start : start + _ROWS]
        scorer.update(np.tile(outputs, (len(part), 1)), part)
    return scorer.compute()


def _labels(examples: Examples) -> np.ndarray:
    return np.asarray(examples.labels)


def _unigrams(data: TaskData, examples: Examples) -> dict[str, float]:
    """Of the tokens that a network is scored on: all but each block's first."""
    train, held_out = (
        np.concatenate([np.asarray(row["input_ids"], dtype=np.int64)[1:] for row in part]) for part in (data.train, examples)
    )
    size = max(len(data.tokenizer), int(train.max()) + 1, int(held_out.max()) + 1)
    counts = np.bincount(train, minlength=size) + 1.0
    logs = np.log(counts / counts.sum())
    found = {
        "token_accuracy": float(np.mean(held_out == counts.argmax())),
        "perplexity": perplexity(-float(logs[held_out].sum()), len(held_out)),
    }
    return {name: found[name] for name in data.task.metrics}
