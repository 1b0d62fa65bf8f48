"""The one small loop for networks of our own that classify images: SGD with momentum, a cosine, no resume."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from secateur.errors import ConfigurationError, EvaluationFailure
from secateur.settings import MOST_BATCH, Settings, option, shared
from secateur.tasks.image_data import ImageData, Images
from secateur.tasks.metrics import Scorer
from secateur.training.augmentation import Augmentation
from secateur.training.distillation import distillation_loss
from secateur.training.random_state import preserved_random_state


@dataclass(frozen=True, kw_only=True)
class ImageTraining(Settings):
    """How a network for images is trained."""

    epochs: int = option(10, "Passes over the training images.", least=1, most=10_000)
    batch: int = option(64, "Images per step.", least=2, most=MOST_BATCH)
    learning_rate: float = option(0.05, "The learning rate at the start; it falls to 0 along a cosine.", above=0, most=10)
    momentum: float = option(0.9, "The momentum (Nesterov's where it is not 0).", least=0, below=1)
    weight_decay: float = option(5e-4, "The weight decay of matrices and convolutions; norms and biases have none.", least=0)
    warm_up: float = option(0.05, "The share of the steps in which the learning rate rises from 0.", least=0, below=1)
    smoothing: float = option(
        0.0, "Label smoothing: the share of the target that is spread over all classes.", least=0, below=1
    )
    distillation: float = option(0.5, "With a teacher: its share of the loss; the rest is the labels'.", least=0, most=1)
    temperature: float = option(4.0, "With a teacher: the temperature of its answers and of the network's.", above=0, most=100)
    clip: float = option(5.0, "Gradients with a longer norm than this are shortened to it.", above=0)
    pad: int = shared(Augmentation, "pad")
    flip: bool = shared(Augmentation, "flip")
    seed: int = option(0, "The seed of the order of the images and of their changes.", least=0, below=2**32)


def train_images(
    network: nn.Module,
    data: ImageData,
    settings: ImageTraining | None = None,
    *,
    teacher: nn.Module | None = None,
    after_epoch: Callable[[int, float], None] | None = None,
) -> list[float]:
    """Train the network in place, and return the mean loss of each epoch.

    `network(pixels)` returns logits, or something with `logits`. `data` is on the network's device. With a `teacher`,
    its soft answers count as `distillation` says (Hinton et al. 2015). `after_epoch(epoch, loss)` is called with epochs from 1.
    The network is in evaluation mode afterwards.

    Raises ConfigurationError for settings out of range, EvaluationFailure where the loss is no number.
    """
    s = (settings or ImageTraining()).check()
    with preserved_random_state():
        torch.manual_seed(s.seed)  # of what the network draws by itself, as dropout does
        return _train(network, data, s, teacher, after_epoch)


def _train(
    network: nn.Module,
    data: ImageData,
    s: ImageTraining,
    teacher: nn.Module | None,
    after_epoch: Callable[[int, float], None] | None,
) -> list[float]:
    generator = torch.Generator().manual_seed(s.seed)
    augment = s.part(Augmentation) if s.pad or s.flip else None
    per_epoch = max(len(data.train) // s.batch, 1)
    steps, warm = s.epochs * per_epoch, s.warm_up * s.epochs * per_epoch
    optimiser = sgd(network, s.learning_rate, s.momentum, s.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: cosine(step, steps, warm))
    if teacher is not None:
        teacher.eval()
    losses = []
    for epoch in range(1, s.epochs + 1):
        network.train()
        total = torch.zeros((), dtype=torch.float64)
        # The last images of an epoch, too few for a batch, come in another one: batch norms want batches of like size.
        for batch in data.batches("train", s.batch, generator=generator, augment=augment, whole=True):
            loss = _loss(network, teacher, batch, s)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), s.clip)
            optimiser.step()
            schedule.step()
            total += loss.detach().double().cpu()
        losses.append(float(total) / per_epoch)
        if not math.isfinite(losses[-1]):
            raise EvaluationFailure(f"the loss is {losses[-1]} after epoch {epoch}.")
        if after_epoch is not None:
            after_epoch(epoch, losses[-1])
    network.eval()
    return losses


def _loss(network: nn.Module, teacher: nn.Module | None, batch: Mapping[str, Tensor], s: ImageTraining) -> Tensor:
    logits = image_logits(network, batch["pixel_values"])
    loss = F.cross_entropy(logits, batch["labels"], label_smoothing=s.smoothing)
    if teacher is None:
        return loss
    with torch.no_grad():
        told = image_logits(teacher, batch["pixel_values"])
    soft = distillation_loss(logits, told, temperature=s.temperature, squared_temperature=True)
    return s.distillation * soft + (1 - s.distillation) * loss


def image_logits(network: nn.Module, pixels: Tensor) -> Tensor:
    """The logits (n, classes) that a network gives for images, bare or as `logits`."""
    output = network(pixels)
    found = output if isinstance(output, Tensor) else getattr(output, "logits", None)
    if not isinstance(found, Tensor):
        raise ConfigurationError(f"`{type(network).__name__}` must return logits for images, got `{type(output).__name__}`.")
    return found


def sgd(network: nn.Module, learning_rate: float, momentum: float, weight_decay: float) -> torch.optim.SGD:
    """SGD whose weight decay leaves norms and biases alone."""
    parameters = [p for p in network.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.SGD(groups, lr=learning_rate, momentum=momentum, nesterov=momentum > 0)


def cosine(step: int, steps: int, warm: float) -> float:
    """The share of the learning rate at a step: it rises to 1 over `warm` steps and falls to 0 along a cosine."""
    if step < warm:
        return (step + 1) / (warm + 1)
    return 0.5 * (1 + math.cos(math.pi * min((step - warm) / max(steps - warm, 1), 1.0)))


@torch.no_grad()
def score_images(
    network: nn.Module, data: ImageData, split: str | Images | Iterable[Mapping[str, Tensor]], batch_size: int = 256
) -> dict[str, float]:
    """The task's metrics on a split, on images, or on batches that are given. The network is in evaluation mode afterwards."""
    network.eval()
    scorer = Scorer(data.task)
    batches = data.batches(split, batch_size) if isinstance(split, str | Images) else split
    for batch in batches:
        scorer.update(image_logits(network, batch["pixel_values"]), batch["labels"])
    return scorer.compute()
