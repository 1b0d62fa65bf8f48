"""The two trainings in which an architecture is found: of the super-network, and of the masks on it (Yan 2022, algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from secateur.cells.supernet import CellSupernet
from secateur.errors import DataError, EvaluationFailure
from secateur.spaces.cells.darts import ROLES
from secateur.tasks.image_data import ImageData, Images
from secateur.training.augmentation import Augmentation
from secateur.training.cells.bilevel import Batch, first_order, loss_of, second_order
from secateur.training.cells.settings import JOINT, SECOND, CellTraining
from secateur.training.images import cosine

#: Gradients of weights with a longer norm are shortened to it, as DARTS does.
CLIP = 5.0
#: Told the epoch, from 1 on, and its mean loss.
AfterEpoch = Callable[[int, float], None]


def train_supernet(
    supernet: CellSupernet, data: ImageData, settings: CellTraining, seed: int, after_epoch: AfterEpoch | None = None
) -> list[float]:
    """Train weights and architecture in place, and return the mean loss of each epoch.

    Weights are trained on the training images but for `held_out` of them, on which the architecture is; with the order `joint`
    both on all of them. Raises EvaluationFailure where the loss is no number.
    """
    generator = torch.Generator().manual_seed(seed)
    own, others = data.train, None
    if settings.order != JOINT:
        own, others = divided(data.train, settings.held_out, generator)
    augment = settings.part(Augmentation) if settings.pad or settings.flip else None
    given: dict[str, Any] = {"generator": generator, "augment": augment, "whole": True}
    endless = None if others is None else _again(lambda: data.batches(others, settings.batch, **given))
    weights, parameters = supernet.weights(), supernet.architecture_parameters()
    sgd = torch.optim.SGD(weights, settings.learning_rate, momentum=settings.momentum, weight_decay=settings.weight_decay)
    adam = torch.optim.Adam(
        parameters, settings.architecture_rate, betas=(0.5, 0.999), weight_decay=settings.architecture_decay
    )
    per_epoch = max(len(own) // settings.batch, 1)
    steps, waiting, done = settings.epochs * per_epoch, settings.warm_up * per_epoch, 0
    fall = torch.optim.lr_scheduler.LambdaLR(sgd, lambda step: cosine(step, steps, 0))

    def one(batch: Batch) -> torch.Tensor:
        nonlocal done
        likely = settings.probability(done, steps, waiting)
        moved = likely > 0 and float(torch.rand((), generator=generator)) < likely
        if moved and endless is not None:
            _into(parameters, _architecture_gradient(supernet, batch, next(endless), sgd, settings))
            adam.step()
        loss = loss_of(supernet, batch)
        both = [*weights, *parameters] if moved and endless is None else weights
        _into(both, torch.autograd.grad(loss, both))
        nn.utils.clip_grad_norm_(weights, CLIP)
        sgd.step()
        if moved and endless is None:
            adam.step()
        fall.step()
        done += 1
        return loss

    return _epochs(supernet, settings.epochs, lambda: data.batches(own, settings.batch, **given), one, after_epoch)


def train_masks(
    supernet: CellSupernet, data: ImageData, settings: CellTraining, seed: int, after_epoch: AfterEpoch | None = None
) -> list[float]:
    """Give a trained super-network masks and learn them, in place, on all training images; weights and architecture stay as
    they are. Returns the mean loss of each epoch. Raises EvaluationFailure where the loss is no number."""
    generator = torch.Generator().manual_seed(seed)
    supernet.add_masks(settings.mask_start, settings.threshold)
    scores = [*supernet.operation_scores.values(), *supernet.edge_scores.values()]
    weights = supernet.masks()
    per_epoch = max(len(data.train) // settings.batch, 1)
    falls = math.ceil(settings.mask_epochs / 2) * per_epoch
    rate = settings.rate_of_masks(falls)
    adam = torch.optim.Adam([{"params": weights, "lr": rate}, {"params": scores, "lr": rate / 10}])
    fall = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: 1.0 if step < falls else 0.1)

    def one(batch: Batch) -> torch.Tensor:
        loss = loss_of(supernet, batch)
        _into([*weights, *scores], torch.autograd.grad(loss, [*weights, *scores]))
        adam.step()
        fall.step()
        return loss

    augment = settings.part(Augmentation) if settings.pad or settings.flip else None
    given: dict[str, Any] = {"generator": generator, "augment": augment, "whole": True}
    return _epochs(supernet, settings.mask_epochs, lambda: data.batches("train", settings.batch, **given), one, after_epoch)


def divided(images: Images, share: float, generator: torch.Generator) -> tuple[Images, Images]:
    """Images without a share of them, drawn at random, and that share; each has at least two. Raises DataError where there
    are fewer than four."""
    if len(images) < 4:
        raise DataError(f"{len(images)} training images are too few to hold some out for the architecture: give at least 4.")
    count = min(max(2, round(share * len(images))), len(images) - 2)
    order = torch.randperm(len(images), generator=generator).to(images.labels.device)
    return images[order[count:]], images[order[:count]]


def edge_importance(supernet: CellSupernet) -> dict[str, list[list[float]]]:
    """By role and node, how much each edge into it counts among them."""
    found = {}
    for role in ROLES:
        edges = supernet.shares(role)[0].tolist()
        found[role] = [
            [edges[place] for place, (_, target) in enumerate(supernet.places) if target == 2 + node]
            for node in range(supernet.nodes)
        ]
    return found


def _architecture_gradient(
    supernet: CellSupernet, train: Batch, held_out: Batch, sgd: torch.optim.SGD, settings: CellTraining
) -> list[torch.Tensor]:
    if settings.order != SECOND:
        return first_order(supernet, held_out)
    rate = sgd.param_groups[0]["lr"]
    before = [sgd.state[weight].get("momentum_buffer") for weight in supernet.weights()]
    momentum = [None if buffer is None else settings.momentum * buffer for buffer in before]
    return second_order(supernet, train, held_out, rate, momentum, settings.weight_decay)


def _into(parameters: list[nn.Parameter], gradients: Any) -> None:
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient


def _again(batches: Callable[[], Iterator[Batch]]) -> Iterator[Batch]:
    """Batches without an end."""
    while True:
        yield from batches()


def _epochs(
    supernet: CellSupernet,
    epochs: int,
    batches: Callable[[], Iterator[Batch]],
    one: Callable[[Batch], torch.Tensor],
    after_epoch: AfterEpoch | None,
) -> list[float]:
    losses: list[float] = []
    for epoch in range(1, epochs + 1):
        supernet.train()
        found = [float(one(batch).detach()) for batch in batches()]
        losses.append(sum(found) / len(found))
        if not math.isfinite(losses[-1]):
            raise EvaluationFailure(f"the loss is {losses[-1]} after epoch {epoch}: give a lower learning rate.")
        if after_epoch is not None:
            after_epoch(epoch, losses[-1])
    supernet.eval()
    return losses
