"""The bench of proxies on networks for images: draw some, score each by every proxy, train them, judge the proxies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, EvaluationFailure, UnknownNameError
from secateur.report.numbers import MISSING, show
from secateur.report.rows import Column
from secateur.report.rows import Table as Shown
from secateur.report.terminal import say
from secateur.report.text_table import print_table, table_blocks
from secateur.rng import generator
from secateur.runs.progress import Progress
from secateur.settings import MOST_BATCH, MOST_EXAMPLES, Settings, option
from secateur.spaces.mobilenet import Mobilenet
from secateur.spaces.mobilenet_sizes import ImageSizes, macs, parameters
from secateur.tables import rank
from secateur.tasks import load_images

if TYPE_CHECKING:
    from torch import Tensor, nn

    from secateur.estimators.block_zoo.zoo import BlockZoo
    from secateur.tasks.image_data import ImageData

#: The proxies of networks for images, as they are shown.
IMAGE_PROXIES: tuple[str, ...] = (
    *("parameters", "macs", "grad_norm", "snip", "grasp", "fisher", "synflow", "jacob_cov", "naswot", "l2_norm"),
    "block_zoo",
)
TITLE = "How well proxies rank trained networks"


@dataclass(frozen=True, kw_only=True)
class ImageProxySettings(Settings):
    """The settings of `secateur bench proxies` on images."""

    space: str = option(
        "decoder", "decoder, or mobilenet: networks for images.", known=("decoder", "mobilenet"), panel="Images"
    )
    data: str | None = option(None, "Images: a folder with a sub-folder per class, an .npz file, or digits.", panel="Images")
    networks: int = option(20, "Networks to draw, train and score.", least=2, most=100_000, panel="Images")
    epochs: int = option(5, "Epochs that each network is trained for.", least=1, most=10_000, panel="Images")
    reference_epochs: int = option(10, "Epochs of the block zoo's reference network.", least=1, most=10_000, panel="Images")
    factor: float = option(0.25, "Widths of the networks, as a share of MobileNetV3's.", above=0, most=10, panel="Images")
    batches: int = option(20, "Batches that the block zoo is distilled on.", least=1, most=100_000, panel="Images")
    examples: int = option(64, "Images per batch.", least=2, most=MOST_BATCH, panel="Images")
    max_train: int | None = option(None, "Use at most this many training images.", least=1, most=MOST_EXAMPLES, panel="Images")


@dataclass(frozen=True)
class ImageProxyStudy:
    """What was found: a row per proxy, and the values of each network by name, `accuracy` (of the validation set) included."""

    proxies: list[dict[str, Any]]
    networks: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[dict[str, Any]]:
        return self.proxies

    def as_dict(self) -> dict[str, Any]:
        return {"proxies": self.proxies, "networks": self.networks, "notes": self.notes}

    def _shown(self) -> Shown:
        names = {"proxy": "proxy", "networks": "networks", "spearman": "Spearman", "interval": "95 %", "time": "time"}
        return Shown(
            [Column(n, t, "score" if n != "proxy" else "text") for n, t in names.items()], [_cells(r) for r in self.proxies]
        )

    def __str__(self) -> str:
        return "\n".join([*table_blocks(self._shown())[0], "", *self.notes])

    def show(self) -> None:
        print_table(self._shown(), TITLE)
        say()
        for note in self.notes:
            say(note)


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    low, high, value = row["spearman_low"], row["spearman_high"], row["spearman"]
    return {
        "proxy": row["proxy"],
        "networks": str(row["networks"]),
        "spearman": MISSING if value is None else f"{value:.3f}",
        "interval": MISSING if low is None else f"{low:.2f}…{high:.2f}",
        "time": show(row["seconds"], "seconds"),
    }


def judge_image_proxies(
    settings: ImageProxySettings, wanted: Sequence[str] | None, seed: int, progress: Progress
) -> ImageProxyStudy:
    """Draw networks, score each by the proxies wanted (all by default), train each, and rank.

    Raises UnknownNameError for a proxy that there is not, DataError for images that cannot be used.
    """
    names = tuple(dict.fromkeys(wanted or IMAGE_PROXIES))
    for name in names:
        if name not in IMAGE_PROXIES:
            raise UnknownNameError("proxy", name, IMAGE_PROXIES)
    assert settings.data is not None
    bench = _Bench(settings, load_images(settings.data, seed=seed, max_train=settings.max_train), seed)
    found: list[dict[str, Any]] = []
    taken: dict[str, list[float]] = {name: [] for name in names}
    with progress.bar("scoring and training networks") as advance:
        for number in range(settings.networks):
            architecture = bench.space.sample(generator(seed, "networks", number))
            row: dict[str, Any] = {"architecture": architecture.as_dict()}
            for name in names:
                started = time.perf_counter()
                row[name] = bench.value(name, architecture)
                taken[name].append(time.perf_counter() - started)
            row["accuracy"] = bench.trained(architecture)
            found.append(row)
            advance(number + 1, settings.networks)
    notes = [
        f"{settings.networks} networks of the space mobilenet, trained on {len(bench.data.train):,} images of "
        f"{bench.data.task.name} ({settings.epochs} epochs); accuracy on {len(bench.data.validation):,} others.",
        "A positive correlation means that networks the proxy prefers are more accurate.",
    ]
    return ImageProxyStudy([_judged(n, found, taken[n], seed) for n in names], found, notes)


def _judged(name: str, networks: Sequence[Mapping[str, Any]], seconds: Sequence[float], seed: int) -> dict[str, Any]:
    pairs = [(1 - n["accuracy"], n[name]) for n in networks if n[name] is not None and n["accuracy"] is not None]
    errors, scores = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    ranking = rank(errors, scores, shares=(1.0,), rng=generator(seed, "bootstrap", name))[-1] if len(pairs) > 1 else None
    interval = ranking.spearman_interval if ranking else None
    return {
        "proxy": name,
        "networks": len(pairs),
        "spearman": ranking.spearman if ranking else None,
        "spearman_low": interval.low if interval else None,
        "spearman_high": interval.high if interval else None,
        "seconds": float(np.mean(seconds)),
        "failed": len(networks) - len(pairs),
    }


class _Bench:
    """What networks are built, scored and trained with."""

    def __init__(self, settings: ImageProxySettings, data: ImageData, seed: int) -> None:
        import torch

        self.settings, self.data, self.seed = settings, data, seed
        self.space, drawn = Mobilenet(), torch.Generator().manual_seed(seed)
        self.sizes = ImageSizes.scaled(data.shape, data.num_labels, settings.factor)
        self.batches: list[dict[str, Tensor]] = list(self._batches(drawn))
        self._zoo: BlockZoo | None = None

    def _batches(self, drawn: Any) -> Iterator[dict[str, Tensor]]:
        left = self.settings.batches
        while left:
            for batch in self.data.batches("train", self.settings.examples, generator=drawn, whole=True):
                if left:
                    left -= 1
                    yield batch

    def value(self, name: str, architecture: Architecture) -> float | None:
        """The score, None where there is none."""
        import torch.nn.functional as F

        from secateur.estimators.proxies import score

        counted: dict[str, Callable[..., int]] = {"parameters": parameters, "macs": macs}
        if name in counted:
            return float(counted[name](architecture, self.sizes))
        try:
            if name == "block_zoo":
                return self.zoo().score(architecture)
            return score(name, self.built(architecture), self.batches[0], seed=self.seed, loss=F.cross_entropy)
        except EvaluationFailure:
            return None

    def built(self, architecture: Architecture) -> nn.Module:
        from secateur.images import build

        return build(architecture, self.sizes, seed=self.seed)

    def zoo(self) -> BlockZoo:
        """The zoo, whose reference is trained when it is first asked for."""
        if self._zoo is None:
            from secateur.estimators.block_zoo.reference import reference
            from secateur.estimators.block_zoo.zoo import BlockZoo

            taught = reference(self.space, self.sizes, self.data, self._training(self.settings.reference_epochs))
            self._zoo = BlockZoo(taught, self.batches)
        return self._zoo

    def trained(self, architecture: Architecture) -> float | None:
        """The validation accuracy after training; None where it diverged."""
        from secateur.training.images import score_images, train_images

        network = self.built(architecture)
        try:
            train_images(network, self.data, self._training(self.settings.epochs))
            return score_images(network, self.data, "validation")["accuracy"]
        except EvaluationFailure:
            return None

    def _training(self, epochs: int) -> Any:
        from secateur.training.images import ImageTraining

        return ImageTraining(epochs=epochs, batch=self.settings.examples, learning_rate=0.1, seed=self.seed)


def image_faults(settings: ImageProxySettings, table: object) -> list[str]:
    """What does not go together, of images and tables."""
    if settings.space == "decoder":
        return [] if settings.data is None else ["`data` is for images: give --space mobilenet too."]
    found = [] if settings.data is not None else ["`data` must be given with --space mobilenet: images to train on."]
    return found if table is None else [*found, "a table is for --space decoder: networks for images are drawn and trained."]


def check_images(settings: ImageProxySettings, table: object) -> None:
    """Raises ConfigurationError with all that does not go together."""
    if faults := image_faults(settings, table):
        raise ConfigurationError(faults)
