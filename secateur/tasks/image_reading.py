"""From what the user names to images in splits: the way into this package for tasks on images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import DataError
from secateur.tasks.examples import SPLITS, Examples, TaskData
from secateur.tasks.image_files import Album, read_album, resized
from secateur.tasks.splits import check_shares, divide, sample
from secateur.tasks.task import IMAGES, KINDS, Task, check_metric

if TYPE_CHECKING:
    import torch

    from secateur.tasks.image_data import ImageData
    from secateur.tasks.image_processor import ImageProcessor


def load_images(
    data: str | Path,
    *,
    seed: int = 0,
    validation_share: float = 0.3,
    test_share: float = 0.2,
    max_train: int | None = None,
    max_validation: int | None = None,
    max_test: int | None = None,
    size: tuple[int, int] | None = None,
) -> ImageData:
    """The images of a classification task, in splits. The same arguments give the same splits.

    `data` is one of these; an existing path wins over a name:

    - a folder with a sub-folder of PNG or JPEG files for each class, or with folders `train`, `validation` and `test` of such;
    - an .npz file with `images` (n, height, width) or (n, height, width, channels), of bytes or floating point, and `labels`
      (n,); also `validation_images`, `validation_labels`, `test_images`, `test_labels`, and `label_names` for labels from 0 on;
    - `digits`: scikit-learn's 1,797 handwritten digits of 8 × 8 pixels.

    A split that is there is used as it is, but a validation set without a test set is the test set, as with texts. Others are
    held out of the training images: `test_share` of them first, then `validation_share` of what is left, by class and seed;
    `max_train` and its like sample after that. All images must be of one size, unless a `size` (height, width) is given: they
    are brought to it.

    Raises DataError, UnknownNameError or ConfigurationError where something is wrong with what was given.
    """
    import torch

    from secateur.tasks.image_data import ImageData, Images

    limits = {"train": max_train, "validation": max_validation, "test": max_test}
    check_shares(validation_share, test_share, limits)
    album = read_album(data, size)
    names = _names(album)
    splits = dict(album.splits)
    if "test" not in splits and "validation" in splits:
        splits["test"] = splits.pop("validation")
    shape = splits["train"].pixels.shape[1:]
    for pictures in splits.values():
        if (pictures.pixels.shape[1:] if size is None else (*shape[:2], pictures.pixels.shape[3])) != shape:
            raise DataError(
                f"the images of `{pictures.where}` are {_size(pictures.pixels.shape[1:])}, those for training {_size(shape)}: "
                "images must be of equal size and colours."
            )
        _check_classes(pictures.labels, names, pictures.where)
    numbers = {name: number for number, name in enumerate(names)}
    labels = {split: np.array([numbers[name] for name in p.labels], dtype=np.int64) for split, p in splits.items()}
    train = splits["train"]
    shares = {"test": test_share, "validation": validation_share}
    rows = divide(splits, len(train.labels), labels["train"], seed, shares, train.where, "images")
    images = {}
    for role in SPLITS:
        source = role if role in splits else "train"
        found = rows[role] if source == "train" else np.arange(len(labels[source]))
        found = sample(found, labels[source], limits[role], seed, role)
        drawn = splits[source].pixels[found]
        pixels = np.ascontiguousarray((drawn if size is None else resized(drawn, size)).transpose(0, 3, 1, 2))
        images[role] = Images(torch.from_numpy(pixels), torch.from_numpy(labels[source][found]))
    metrics, main = KINDS[IMAGES]
    task = Task(album.name, IMAGES, metrics, main, (), None, len(names), names)
    return ImageData(task, **images, label_names=names)


def load_image_task(data: str | Path, processor: ImageProcessor, *, metric: str | None = None, **options: Any) -> TaskData:
    """The images of a classification task as a network of this processor reads them: what `load_task` is to texts.

    Options are those of `load_images`, which raises what this one raises, too; and DataError for images in colour where the
    network reads grey, and for floating point that is no share of 255.
    """
    check_metric(metric, IMAGES)
    found = load_images(data, size=processor.size, **options)
    fitted = processor.fitted(found)
    splits = {}
    for name in SPLITS:
        images = found.split(name)
        _check_shares(images.pixels, str(data))
        columns: dict[str, Any] = {"pixel_values": fitted.coloured(images.pixels.numpy()), "labels": images.labels.tolist()}
        splits[name] = Examples(columns, [fitted.length] * len(images))
    task = found.task.scored_by(metric)
    return TaskData(
        task, **splits, tokenizer=fitted, max_length=fitted.length, num_labels=found.num_labels, label_names=found.label_names
    )


def _check_shares(pixels: torch.Tensor, where: str) -> None:
    """Raise DataError for floating point outside 0…1: how a model's file normalises bytes would be wrong for it."""
    least, most = float(pixels.min()), float(pixels.max())
    if pixels.is_floating_point() and not (least >= 0 and most <= 1):
        raise DataError(
            f"the images of `{where}` are floating point from {least:g} to {most:g}, where 0 to 1 is meant: "
            "divide them by 255, or save them as uint8."
        )


def _size(shape: tuple[int, ...]) -> str:
    height, width, channels = shape
    return f"{width} × {height} with {channels} channel{'s' * (channels > 1)}"


def _names(album: Album) -> tuple[str, ...]:
    """The classes: those that the data name, or those of the training images."""
    there = set(album.splits["train"].labels.tolist())
    names = album.classes or tuple(sorted(there))
    if len(names) < 2:
        raise DataError(f"`{album.splits['train'].where}` has one class, `{names[0]}`: at least two are needed.")
    for name in names:
        if name not in there:
            raise DataError(
                f"the class `{name}` has no images in `{album.splits['train'].where}`: add some, or remove the class."
            )
    return names


def _check_classes(labels: np.ndarray, names: tuple[str, ...], where: str) -> None:
    unknown = sorted(set(labels.tolist()) - set(names))
    if unknown:
        raise DataError(f"`{where}` has the class `{unknown[0]}`, which no image for training has. Known: {', '.join(names)}.")
