"""How images become what a network reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from secateur.errors import ConfigurationError, DataError
from secateur.tasks import load_image_task, load_images
from secateur.tasks.image_files import is_album, resized
from secateur.tasks.image_processor import FILE, ImageProcessor


def plain(side: int = 8, channels: int = 3) -> ImageProcessor:
    return ImageProcessor((side, side), channels, 17)


def picture(path: Path, height: int, width: int, seed: int = 0) -> None:
    image = pytest.importorskip("PIL.Image")
    path.parent.mkdir(parents=True, exist_ok=True)
    image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)).save(path)


def test_images_of_any_size_and_grey_ones_fit_the_network(tmp_path: Path) -> None:
    for number in range(12):
        picture(tmp_path / ("cat", "dog")[number % 2] / f"{number}.png", 10 + number, 20, number)
    data = load_image_task(tmp_path, plain(), test_share=0.3)
    batch = next(data.batches("train", 4))
    assert batch["pixel_values"].shape[1:] == (3, 8, 8)
    assert batch["pixel_values"].dtype == torch.float32
    assert batch["labels"].dtype == torch.int64
    assert set(data.train.lengths) == {17}
    with pytest.raises(DataError, match="images must be of equal size"):
        load_images(tmp_path)
    grey = load_image_task("digits", plain(), max_train=20)
    pixels = next(grey.batches("train", 20))["pixel_values"]
    assert bool((pixels[:, :1] == pixels).all())
    assert float(pixels.mean()) == pytest.approx(0, abs=1e-5)
    assert float(pixels.std(unbiased=False)) == pytest.approx(1, abs=1e-4)
    with pytest.raises(DataError, match="the images have 3 channels, and the model reads 1"):
        load_image_task(tmp_path, plain(channels=1), test_share=0.3)


def test_resizing_is_that_of_pil() -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (1, 30, 21, 3), dtype=np.uint8)
    for size in ((8, 8), (40, 33)):
        theirs = np.asarray(image.fromarray(pixels[0]).resize(size[::-1], image.Resampling.BILINEAR)).astype(int)
        assert np.abs(resized(pixels, size)[0].astype(int) - theirs).max() <= 1
    assert resized(pixels, (30, 21)) is pixels


@pytest.mark.parametrize("channels", [1, 3])
def test_transformers_prepares_images_alike(tmp_path: Path, channels: int) -> None:
    pytest.importorskip("PIL")
    from transformers import ViTImageProcessor  # the Auto class needs torchvision, too

    made = ImageProcessor((6, 6), channels, 1, (0.4,) * channels, (0.2,) * channels, 1 / 100)
    made.save_pretrained(tmp_path)
    pixels = np.random.default_rng(0).integers(0, 256, (6, 6, channels), dtype=np.uint8)
    theirs = ViTImageProcessor.from_pretrained(tmp_path)(pixels, return_tensors="pt")["pixel_values"]
    torch.testing.assert_close(theirs, made(pixels.transpose(2, 0, 1)[None]), rtol=1e-5, atol=1e-5)
    settings = json.loads((tmp_path / FILE).read_text())
    assert ImageProcessor.said((6, 6), channels, 1, settings) == made


def test_floating_point_is_a_share_of_255() -> None:
    made = ImageProcessor((2, 2), 1, 1, (0.0,), (1.0,), 1 / 127.5)
    pixels = np.array([0, 51, 102, 255], dtype=np.uint8).reshape(1, 1, 2, 2)
    torch.testing.assert_close(made(pixels), made((pixels / 255).astype(np.float32)))


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        (None, (None, None, 1 / 255)),
        ({"image_mean": [0.5], "image_std": [0.25]}, ((0.5, 0.5), (0.25, 0.25), 1 / 255)),
        ({"do_normalize": False, "do_rescale": False}, ((0.0, 0.0), (1.0, 1.0), 1.0)),
        ({}, ((0.5, 0.5), (0.5, 0.5), 1 / 255)),  # as transformers
    ],
)
def test_what_a_file_says(settings: Any, found: Any) -> None:
    made = ImageProcessor.said((4, 4), 2, 5, settings)
    assert (made.mean, made.deviation, made.factor) == found


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"image_mean": None}, "`image_mean` in preprocessor_config.json must have a number for each of the model's channels"),
        ({"image_mean": [0.5, 0.5], "image_std": 1}, r"`image_mean` .* channels \(3\), got \[0.5, 0.5\]. Edit the file"),
        ({"image_mean": 0.5, "image_std": [1, "x", 1]}, "`image_std` .* must have a number"),
        ({"image_mean": 0.5, "image_std": 0}, "`image_std` .* must be above 0, got 0"),
        ({"rescale_factor": "x"}, "`rescale_factor` .* must be a number above 0, got 'x'"),
    ],
)
def test_what_a_file_cannot_say(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ImageProcessor.said((4, 4), 3, 5, settings)


def test_the_fingerprint_knows_images_and_their_preparation() -> None:
    several = [
        load_image_task("digits", made, max_train=50, seed=seed).fingerprint
        for made, seed in ((plain(), 0), (plain(), 0), (plain(), 1), (ImageProcessor((8, 8), 3, 17, (0.0,) * 3, (1.0,) * 3), 0))
    ]
    assert several[0] == several[1]
    assert len(set(several)) == 3


def test_chosen_rows_keep_their_lengths() -> None:
    train = load_image_task("digits", plain(), max_train=30).train
    some = train.chosen([3, 1])
    assert some.labels == [train.labels[3], train.labels[1]]
    assert some.lengths == [17, 17]
    assert len(train[:5]) == 5


def test_only_accuracy_is_known() -> None:
    with pytest.raises(ConfigurationError, match="`metric` must be accuracy"):
        load_image_task("digits", plain(), metric="f1")


def test_what_can_only_be_images(tmp_path: Path) -> None:
    assert is_album("digits")
    assert not is_album("rte")
    assert is_album(_touched(tmp_path / "a.npz"))
    assert not is_album(_touched(tmp_path / "a.csv"))
    assert not is_album(tmp_path)
    _touched(tmp_path / "pets" / "train" / "cat" / "1.jpg")
    assert is_album(tmp_path / "pets")
    _touched(tmp_path / "pets" / "train.csv")
    assert not is_album(tmp_path / "pets"), "a table with pictures beside it"


def _touched(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_floating_point_must_be_shares(tmp_path: Path) -> None:
    """A model's file normalises bytes, or shares of 255: numbers up to 255 would be far off, and nothing would say so."""
    pixels, labels = np.full((20, 8, 8), 200.0), np.arange(20) % 2
    np.savez(tmp_path / "a.npz", images=pixels, labels=labels)
    with pytest.raises(DataError, match="floating point from 200 to 200, where 0 to 1 is meant: divide them by 255"):
        load_image_task(tmp_path / "a.npz", plain())
    np.savez(tmp_path / "b.npz", images=pixels / 255, labels=labels)
    assert load_image_task(tmp_path / "b.npz", plain()).train


def test_arrays_are_resized_after_they_are_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import secateur.tasks.image_reading as reading

    seen: list[int] = []
    monkeypatch.setattr(reading, "resized", lambda pixels, size: seen.append(len(pixels)) or resized(pixels, size))
    load_image_task("digits", plain(16), max_train=30, max_validation=20, max_test=20)
    assert seen == [30, 20, 20]


def test_pictures_of_16_bits_are_refused_and_turned_ones_turned(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for number in range(8):
        picture(tmp_path / "turned" / ("a", "b")[number % 2] / f"{number}.png", 4, 8, number)
    exif = image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees
    file = tmp_path / "turned" / "a" / "0.jpg"
    image.new("RGB", (4, 8)).save(file, exif=exif)
    assert load_images(tmp_path / "turned").shape == (3, 4, 8)
    image.fromarray(np.full((4, 8), 40_000, dtype=np.uint16)).save(file.with_suffix(".png"))
    with pytest.raises(DataError, match="more than 8 bits to a channel"):
        load_images(tmp_path / "turned")
