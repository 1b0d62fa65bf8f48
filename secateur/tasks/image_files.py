"""Pictures from disk: a folder with a sub-folder per class, arrays in an .npz file, or scikit-learn's digits by name."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import DataError, MissingExtraError, UnknownNameError, one_line
from secateur.paths import checked, regular
from secateur.tasks.files import file_format
from secateur.tasks.glue import named_task

#: Data sets that come with what is installed.
NAMED = ("digits",)
#: The extensions of the pictures in a folder.
PICTURES = (".png", ".jpg", ".jpeg")
#: Names that the folders of a split may have.
_SPLITS = {"train": ("train", "training"), "validation": ("validation", "valid", "val", "dev"), "test": ("test",)}


@dataclass(frozen=True)
class Pictures:
    """One split as it was read: `pixels` (n, height, width, channels), uint8 or float32, and the n names of their classes."""

    pixels: NDArray[Any]
    labels: NDArray[Any]
    where: str


@dataclass(frozen=True)
class Album:
    """All that was read of a data set: its splits by name, and its classes in their order where the data say one."""

    name: str
    splits: dict[str, Pictures]
    classes: tuple[str, ...] | None = None


def read_album(data: str | Path, size: tuple[int, int] | None = None) -> Album:
    """The pictures that `data` names: a folder, an .npz file, or a name. An existing path wins over a name.

    With a `size` (height, width) those of a folder are brought to it; else they must be of one size. Raises DataError for what
    is missing or malformed, UnknownNameError for a name of no data set.
    """
    check_album(data)
    path = checked(data, DataError)
    return _from_folder(path, size) if path.is_dir() else _from_arrays(path) if path.exists() else _digits()


def check_album(data: str | Path) -> None:
    """What `read_album` raises of names and file names alone."""
    path = checked(data, DataError)
    if path.is_dir():
        if not _folders(path):
            raise DataError(f"`{path}` has no sub-folders: put the images of each class into a sub-folder of its name.")
    elif path.exists():
        if not regular(path) or path.suffix.lower() != ".npz":
            raise DataError(f"`{path}` is no data set of images: give a folder with a sub-folder per class, or an .npz file.")
    elif str(data) not in NAMED:
        if named_task(str(data)) is None and (isinstance(data, Path) or "/" in data or Path(data).suffix):
            raise DataError(f"`{data}` does not exist: no such file or folder.")
        hint = "Or give a folder with a sub-folder per class, or an .npz file."
        raise UnknownNameError("data set of images", str(data), NAMED, hint)


def is_album(data: str | Path) -> bool:
    """Whether this can only be images: a named data set, an .npz file, or a folder without tables whose sub-folders have
    pictures in them."""
    path = checked(data, DataError)
    if not path.exists():
        return str(data) in NAMED
    if not path.is_dir():
        return path.suffix.lower() == ".npz"
    try:
        if any(file.is_file() and file_format(file) is not None for file in path.iterdir()):
            return False
        inside = (found for one in _folders(path) for found in (one, *_folders(one)))
        return any(_is_picture(file) for folder in inside for file in folder.iterdir())
    except OSError:  # a folder that cannot be read
        return False


def resized(pixels: NDArray[Any], size: tuple[int, int]) -> NDArray[Any]:
    """Pictures (n, height, width, channels) of bytes or floating point brought to a size (height, width): bilinear, and what
    becomes smaller is smoothed, as PIL does. Those of this size are left as they are."""
    if pixels.shape[1:3] == size:
        return pixels
    import torch

    given = torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)))
    found = torch.nn.functional.interpolate(given, size, mode="bilinear", antialias=True)
    return found.numpy().transpose(0, 2, 3, 1)


def _from_folder(folder: Path, size: tuple[int, int] | None) -> Album:
    inside = {path.name.lower(): path for path in _folders(folder)}
    found = {split: [inside[name] for name in names if name in inside] for split, names in _SPLITS.items()}
    if not found["train"]:
        return Album(folder.resolve().name, {"train": _classes(folder, size)})
    for split, paths in found.items():
        if len(paths) > 1:
            names = " and ".join(f"`{path.name}`" for path in paths)
            raise DataError(f"`{folder}` has more than one folder for {split}: {names}. Keep one.")
    return Album(folder.resolve().name, {split: _classes(paths[0], size) for split, paths in found.items() if paths})


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in PICTURES and not path.name.startswith(".")


def _classes(folder: Path, size: tuple[int, int] | None) -> Pictures:
    """The pictures of a folder that has a sub-folder for each class."""
    classes = _folders(folder)
    if not classes:
        raise DataError(f"`{folder}` has no sub-folders: put the images of each class into a sub-folder of its name.")
    pixels: list[NDArray[Any]] = []
    labels: list[str] = []
    first: Path | None = None
    for one in classes:
        files = sorted(path for path in one.iterdir() if _is_picture(path))
        if not files:
            raise DataError(f"`{one}` contains no images ({', '.join(PICTURES)}): add some, or remove the folder.")
        for path in files:
            picture = _picture(path)
            picture = picture if size is None else resized(picture[None], size)[0]
            first = first or path
            if pixels and picture.shape[:2] != pixels[0].shape[:2]:
                raise DataError(
                    f"`{path}` is {_size(picture)} pixels, but `{first}` is {_size(pixels[0])}: images must be of equal size. "
                    "Resize them first."
                )
            pixels.append(picture)
            labels.append(one.name)
    if len({picture.shape[2] for picture in pixels}) > 1:  # some are grey, some in colour
        pixels = [np.repeat(p, 3, axis=2) if p.shape[2] == 1 else p for p in pixels]
    return Pictures(np.stack(pixels), np.array(labels, dtype=object), str(folder))


def _size(picture: NDArray[Any]) -> str:
    return f"{picture.shape[1]} × {picture.shape[0]}"


def _picture(path: Path) -> NDArray[Any]:
    """One picture (height, width, 1 or 3), of bytes, turned as its file says: grey ones keep one channel, all others become
    red, green and blue."""
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise MissingExtraError("pillow", "images") from None
    try:
        with Image.open(path) as image:
            if image.mode[0] in "IF":
                raise DataError(f"`{path}` has more than 8 bits to a channel ({image.mode}): convert it to 8 bits first.")
            upright = ImageOps.exif_transpose(image)
            found = np.asarray(upright.convert("L" if upright.mode in ("1", "L") else "RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"`{path}` is not an image that can be read: {one_line(error)}.") from None
    return found[:, :, None] if found.ndim == 2 else found


def _from_arrays(path: Path) -> Album:
    """`images` and `labels`, `validation_images` and so on; `label_names` in order, where labels are numbers from 0."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise DataError(f"`{path}` is not a valid .npz file of plain arrays: {one_line(error)}.") from None
    names = tuple(map(str, arrays["label_names"])) if "label_names" in arrays else None
    splits: dict[str, Pictures] = {}
    for split in _SPLITS:
        prefix = "" if split == "train" and "images" in arrays else f"{split}_"
        if f"{prefix}images" in arrays:
            splits[split] = _split(path, arrays, prefix, names)
    if "train" not in splits:
        there = ", ".join(f"`{name}`" for name in arrays) or "nothing"
        raise DataError(f"`{path}` must hold the arrays `images` and `labels`: there is {there}.")
    return Album(path.stem, splits, names or _in_order(splits["train"].labels))


def _split(path: Path, arrays: dict[str, NDArray[Any]], prefix: str, names: Sequence[str] | None) -> Pictures:
    pixels, labels = arrays[f"{prefix}images"], arrays.get(f"{prefix}labels")
    if labels is None:
        raise DataError(f"`{path}` has `{prefix}images` but no `{prefix}labels`.")
    pixels = pixels[..., None] if pixels.ndim == 3 else pixels
    if pixels.ndim != 4 or pixels.shape[-1] not in (1, 3):
        raise DataError(
            f"`{prefix}images` of `{path}` must be (n, height, width) with 1 or 3 channels last, got {pixels.shape}."
        )
    if pixels.dtype != np.uint8:
        if not np.issubdtype(pixels.dtype, np.floating):
            raise DataError(f"`{prefix}images` of `{path}` must be of uint8 or floating point, got {pixels.dtype}.")
        pixels = pixels.astype(np.float32)
        if not np.isfinite(pixels).all():
            raise DataError(f"`{prefix}images` of `{path}` hold values that are not finite.")
    if labels.shape != (len(pixels),):
        raise DataError(f"`{prefix}labels` of `{path}` must be one per image, ({len(pixels)},), got {labels.shape}.")
    if not len(pixels):
        raise DataError(f"`{prefix}images` of `{path}` is empty.")
    if names is None:
        return Pictures(pixels, labels.astype(str).astype(object), f"{path} ({prefix}labels)")
    wrong = [v for v in np.unique(labels) if not np.issubdtype(labels.dtype, np.integer) or not 0 <= v < len(names)]
    if wrong:
        raise DataError(f"`{prefix}labels` of `{path}` must be 0…{len(names) - 1}, as there are `label_names`, got {wrong[0]}.")
    return Pictures(pixels, np.array(names, dtype=object)[labels], f"{path} ({prefix}labels)")


def _in_order(labels: NDArray[Any]) -> tuple[str, ...]:
    """The classes in the order of their numbers, or of the alphabet where they are no numbers."""
    known = sorted(set(labels.tolist()))
    return tuple(sorted(known, key=int)) if all(name.isdecimal() for name in known) else tuple(known)


def _digits() -> Album:
    """1,797 handwritten digits of 8 × 8 pixels, with scikit-learn."""
    from sklearn.datasets import load_digits

    found = load_digits()
    pixels = (found.images / 16.0).astype(np.float32)[..., None]
    return Album("digits", {"train": Pictures(pixels, found.target.astype(str).astype(object), "digits")})
