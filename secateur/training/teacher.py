"""What a teacher says of the training examples: asked once, where the answers are few numbers each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from secateur.supernet.evaluating import evaluating
from secateur.tasks import Examples, TaskData

#: The column that holds a teacher's logits.
TOLD = "teacher_logits"


def told(teacher: Any, data: TaskData, batch_size: int) -> Examples:
    """The training examples with the logits that the teacher, in eval mode, gives each.

    Not for language models, whose logits have the size of the vocabulary at each token.
    """
    device = next(teacher.parameters()).device
    order = torch.argsort(-torch.tensor(data.train.lengths), stable=True).tolist()
    answers: list[Any] = [None] * len(order)
    with evaluating(teacher):
        for start in range(0, len(order), batch_size):
            places = order[start : start + batch_size]
            batch = data.collate([data.train[place] for place in places])
            inputs = {name: value.to(device) for name, value in batch.items() if name != "labels"}
            for place, row in zip(places, teacher(**inputs).logits.float().cpu().tolist(), strict=True):
                answers[place] = row
    return Examples({**data.train.columns, TOLD: answers})


def taught_by(teacher: Any, data: TaskData, batch_size: int) -> dict[str, Any]:
    """How `FineTuned` is told of a teacher: by what it says of each example, asked once, or at each step by itself."""
    if data.task.kind == "language_modelling":
        return {"teacher": teacher}
    return {"examples": partial(told, teacher, data, batch_size)}


def collating(collate: Callable[..., dict[str, torch.Tensor]]) -> Callable[..., dict[str, torch.Tensor]]:
    """The same collator for examples that may hold a teacher's logits."""

    def collated(features: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        if TOLD not in features[0]:
            return collate(features)
        batch = collate([{name: value for name, value in row.items() if name != TOLD} for row in features])
        return {**batch, TOLD: torch.tensor([row[TOLD] for row in features], dtype=torch.float32)}

    return collated
