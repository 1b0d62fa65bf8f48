"""What a teacher says of the training examples: asked once, where the answers are few numbers each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from secateur.rng import generator
from secateur.supernet.evaluating import evaluating
from secateur.tasks import Examples, TaskData

#: The column that holds a teacher's logits.
TOLD = "teacher_logits"


#: Share of a text's tokens that are replaced in its variants.
REPLACED = 0.15


def can_vary(data: TaskData) -> bool:
    """Whether texts can have variants that a teacher tells about."""
    return data.task.kind in ("classification", "regression")


def varied(data: TaskData, copies: int, seed: int) -> Examples:
    """The training examples, and as many variants of each: some of its tokens are replaced by tokens drawn from all texts.

    What stands where no token of a text stands (the tokenizer's own tokens) is left as it is.
    """
    if not copies:
        return data.train
    rng, columns = generator(seed, "variants"), {name: list(values) for name, values in data.train.columns.items()}
    special = set(data.tokenizer.all_special_ids)
    drawn = np.array([token for ids in data.train.columns["input_ids"] for token in ids if token not in special])
    for _ in range(copies):
        for name, values in data.train.columns.items():
            if name != "input_ids":
                columns[name] += values
        for ids in data.train.columns["input_ids"]:
            replaced = np.array(ids)
            chosen = (rng.random(len(ids)) < REPLACED) & ~np.isin(replaced, list(special))
            replaced[chosen] = rng.choice(drawn, int(chosen.sum()))
            columns["input_ids"].append(replaced.tolist())
    return Examples(columns)


def told(teacher: Any, data: TaskData, batch_size: int, examples: Examples | None = None) -> Examples:
    """The training examples, or those given, with the logits that the teacher, in eval mode, gives each. Variants of training
    examples, which come after them, are labelled by the teacher.

    Not for language models, whose logits have the size of the vocabulary at each token.
    """
    examples = data.train if examples is None else examples
    device = next(teacher.parameters()).device
    order = torch.argsort(-torch.tensor(examples.lengths), stable=True).tolist()
    answers: list[Any] = [None] * len(order)
    with evaluating(teacher):
        for start in range(0, len(order), batch_size):
            places = order[start : start + batch_size]
            batch = data.collate([examples[place] for place in places])
            inputs = {name: value.to(device) for name, value in batch.items() if name != "labels"}
            for place, row in zip(places, teacher(**inputs).logits.float().cpu().tolist(), strict=True):
                answers[place] = row
    labels, own = list(examples.labels), len(data.train)
    labels[own:] = [row[0] if len(row) == 1 else int(np.argmax(row)) for row in answers[own:]]
    return Examples({**examples.columns, "labels": labels, TOLD: answers}, examples.lengths)


def taught_by(teacher: Any, data: TaskData, batch_size: int, copies: int = 0, seed: int = 0) -> dict[str, Any]:
    """How `FineTuned` is told of a teacher: by what it says of each example, asked once, or at each step by itself."""
    if data.task.kind == "language_modelling":
        return {"teacher": teacher}
    return {"examples": lambda: told(teacher, data, batch_size, varied(data, copies, seed))}


def collating(collate: Callable[..., dict[str, torch.Tensor]]) -> Callable[..., dict[str, torch.Tensor]]:
    """The same collator for examples that may hold a teacher's logits."""

    def collated(features: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        if TOLD not in features[0]:
            return collate(features)
        batch = collate([{name: value for name, value in row.items() if name != TOLD} for row in features])
        return {**batch, TOLD: torch.tensor([row[TOLD] for row in features], dtype=torch.float32)}

    return collated
