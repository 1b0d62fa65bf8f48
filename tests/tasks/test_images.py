from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from secateur.errors import ConfigurationError, DataError, MissingExtraError, SecateurError, UnknownNameError
from secateur.tasks import Scorer, load_images
from secateur.tasks.image_data import Images, statistics


def picture(path: Path, value: int, size: tuple[int, int] = (4, 3), mode: str = "L") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    colour = value if mode == "L" else (value, 0, 255)
    Image.new(mode, size, colour).save(path)


def folder(root: Path, per_class: int = 10, classes: tuple[str, ...] = ("cat", "dog")) -> Path:
    for number, name in enumerate(classes):
        for i in range(per_class):
            picture(root / name / f"{i:02d}.png", 100 * number + i)
    return root


def arrays(path: Path, n: int = 20, **more: np.ndarray) -> Path:
    rng = np.random.default_rng(0)
    found = {"images": rng.integers(0, 256, (n, 4, 3, 3), dtype=np.uint8), "labels": np.arange(n) % 2}
    np.savez(path, **{**found, **more})
    return path


def test_a_folder_of_classes_is_split_by_class(tmp_path):
    data = load_images(folder(tmp_path / "pets"), validation_share=0.25, test_share=0.2)
    assert data.label_names == ("cat", "dog")
    assert data.task.kind == "image_classification"
    assert data.task.name == "pets"
    assert data.shape == (1, 3, 4)
    assert [len(data.split(s)) for s in ("train", "validation", "test")] == [12, 4, 4]
    for split in ("train", "validation", "test"):
        images = data.split(split)
        assert torch.bincount(images.labels).tolist() == [len(images) // 2] * 2
        assert torch.equal(images.pixels.flatten(1)[:, 0] >= 100, images.labels == 1)  # pixels stay with their labels
    every = torch.cat([data.split(s).pixels[:, 0, 0, 0] for s in ("train", "validation", "test")])
    assert sorted(every.tolist()) == sorted([*range(10), *range(100, 110)])


def test_the_seed_decides_the_splits_and_the_fingerprint(tmp_path):
    where = folder(tmp_path)
    same, other = load_images(where), load_images(where, seed=1)
    assert load_images(where).fingerprint == same.fingerprint != other.fingerprint


def test_folders_of_splits_are_used_as_they_are(tmp_path):
    for split, size in (("train", 6), ("val", 3), ("test", 2)):
        folder(tmp_path / split, size)
    data = load_images(tmp_path)
    assert [len(data.train), len(data.validation), len(data.test)] == [12, 6, 4]
    (tmp_path / "test").rename(tmp_path / ".hidden")
    data = load_images(tmp_path, validation_share=0.5)  # a validation set alone is the test set
    assert [len(data.train), len(data.validation), len(data.test)] == [6, 6, 6]


def test_two_folders_for_a_split_are_refused(tmp_path):
    for split in ("train", "val", "valid"):
        folder(tmp_path / split, 2)
    with pytest.raises(DataError, match="more than one folder for validation: `valid` and `val`"):
        load_images(tmp_path)


def test_grey_and_coloured_images_together_become_coloured(tmp_path):
    folder(tmp_path)
    picture(tmp_path / "cat" / "00.png", 7, mode="RGB")
    data = load_images(tmp_path)
    assert data.shape == (3, 3, 4)
    every = torch.cat([data.split(s).pixels[:, :, 0, 0] for s in ("train", "validation", "test")])
    assert [7, 0, 255] in every.tolist()
    assert [109, 109, 109] in every.tolist()


def test_normalised_by_training_statistics(tmp_path):
    data = load_images(arrays(tmp_path / "a.npz", 40), test_share=0.25)
    pixels = data.train.pixels.double() / 255
    assert torch.allclose(data.mean.double(), pixels.mean(dim=(0, 2, 3)))
    assert torch.allclose(data.deviation.double(), pixels.std(dim=(0, 2, 3), correction=0))
    seen = torch.cat([b["pixel_values"] for b in data.batches("train", 7)]).double()
    assert torch.allclose(seen.mean(dim=(0, 2, 3)), torch.zeros(3, dtype=torch.float64), atol=1e-6)
    assert torch.allclose(seen.std(dim=(0, 2, 3), correction=0), torch.ones(3, dtype=torch.float64), atol=1e-5)
    constant = Images(torch.full((5, 1, 2, 2), 3.0), torch.zeros(5, dtype=torch.long))
    assert statistics(constant)[1].tolist() == [1.0]


def test_batches_hold_every_image_once(tmp_path):
    data = load_images(arrays(tmp_path / "a.npz", 40))
    in_order = torch.cat([b["labels"] for b in data.batches("train", 7)])
    assert torch.equal(in_order, data.train.labels)
    runs = [torch.cat([b["pixel_values"] for b in data.batches("train", 7, generator=_drawn(s))]) for s in (0, 0, 1)]
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])
    assert torch.allclose(runs[0].sum(dim=0), runs[2].sum(dim=0), atol=1e-4)
    sizes = [len(b["labels"]) for b in data.batches("train", 10, generator=_drawn(0), whole=True)]
    assert sizes == [10, 10]
    assert [len(b["labels"]) for b in data.batches("train", 100, whole=True)] == [len(data.train)]


def _drawn(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_arrays_with_splits_and_names(tmp_path):
    more = {
        "validation_images": np.zeros((4, 4, 3, 3), dtype=np.uint8),
        "validation_labels": np.array([0, 1, 1, 0]),
        "test_images": np.ones((3, 4, 3, 3), dtype=np.uint8),
        "test_labels": np.array([1, 1, 0]),
        "label_names": np.array(["no", "yes"]),
    }
    data = load_images(arrays(tmp_path / "a.npz", **more))
    assert data.label_names == ("no", "yes")
    assert [len(data.train), len(data.validation), len(data.test)] == [20, 4, 3]
    assert data.test.labels.tolist() == [1, 1, 0]


def test_numbers_are_classes_in_their_order(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, images=np.random.default_rng(0).random((30, 4, 4)), labels=np.repeat([10, 9, 2], 10))
    data = load_images(path)
    assert data.label_names == ("2", "9", "10")
    assert data.train.pixels.dtype == torch.float32


def test_digits_come_by_name_and_limits_sample_by_class():
    data = load_images("digits", max_train=200, max_validation=50, max_test=40)
    assert data.shape == (1, 8, 8)
    assert data.num_labels == 10
    assert [len(data.train), len(data.validation), len(data.test)] == [200, 50, 40]
    assert torch.bincount(data.train.labels).min() >= 19
    scorer = Scorer(data.task)
    scorer.update(torch.nn.functional.one_hot(data.test.labels, 10).float(), data.test.labels)
    assert scorer.compute() == {"accuracy": 1.0}


def test_an_existing_path_wins_over_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder(tmp_path / "digits")
    assert load_images("digits").label_names == ("cat", "dog")


def _unequal(root: Path) -> Path:
    folder(root)
    picture(root / "dog" / "99.png", 1, size=(5, 3))
    return root


def _empty_class(root: Path) -> Path:
    folder(root)
    (root / "fish").mkdir()
    return root


def _no_picture(root: Path) -> Path:
    folder(root)
    (root / "dog" / "00.png").write_bytes(b"not a picture")
    return root


def _unknown_class(root: Path) -> Path:
    folder(root / "train")
    folder(root / "test", classes=("cat", "cow"))
    return root


def _other_size(root: Path) -> Path:
    folder(root / "train")
    for name in ("cat", "dog"):
        picture(root / "test" / name / "0.png", 1, size=(5, 3))
    return root


def _made(root: Path) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    return root


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_unequal, r"99.png` is 5 × 3 pixels, but .*00.png` is 4 × 3: images must be of equal size"),
        (_empty_class, r"fish` contains no images \(.png, .jpg, .jpeg\)"),
        (_no_picture, r"00.png` is not an image that can be read"),
        (_unknown_class, r"has the class `cow`, which no image for training has. Known: cat, dog"),
        (_other_size, r"are 5 × 3 with 1 channel, those for training 4 × 3 with 1 channel"),
        (_made, r"has no sub-folders: put the images of each class"),
        (lambda root: folder(root, classes=("cat",)), r"has one class, `cat`: at least two"),
        (lambda root: folder(root, 1), r"has 2 images: too few to split into train, validation and test"),
    ],
)
def test_bad_folders_get_one_line(tmp_path, make, said):
    with pytest.raises(DataError, match=said) as found:
        load_images(make(tmp_path / "data"))
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"label_names": np.array(["a", "b", "c"])}, "the class `c` has no images in"),
        ({"label_names": np.array(["a"])}, "`labels` of .* must be 0…0, as there are `label_names`, got 1"),
        ({"labels": np.zeros(3)}, r"must be one per image, \(20,\), got \(3,\)"),
        ({"images": np.zeros((20, 4))}, r"must be \(n, height, width\) with 1 or 3 channels last, got \(20, 4\)"),
        ({"images": np.zeros((20, 4, 4), dtype=np.int64)}, "must be of uint8 or floating point, got int64"),
        ({"images": np.full((20, 4, 4), np.nan)}, "hold values that are not finite"),
        ({"images": np.zeros((0, 4, 4)), "labels": np.zeros(0)}, "`images` of .* is empty"),
        ({"test_images": np.zeros((2, 4, 3, 3), dtype=np.uint8)}, "has `test_images` but no `test_labels`"),
        ({"labels": np.array([object()] * 20)}, "not a valid .npz file of plain arrays"),
    ],
)
def test_bad_arrays_get_one_line(tmp_path, more, said):
    with pytest.raises(DataError, match=said) as found:
        load_images(arrays(tmp_path / "a.npz", **more))
    assert "\n" not in str(found.value)


def test_other_files_and_names_get_one_line(tmp_path):
    np.savez(tmp_path / "none.npz", pictures=np.zeros(3))
    with pytest.raises(DataError, match="must hold the arrays `images` and `labels`: there is `pictures`"):
        load_images(tmp_path / "none.npz")
    (tmp_path / "a.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="no data set of images"):
        load_images(tmp_path / "a.csv")
    (tmp_path / "broken.npz").write_bytes(b"PK nothing")
    with pytest.raises(DataError, match="not a valid"):
        load_images(tmp_path / "broken.npz")
    with pytest.raises(DataError, match="does not exist"):
        load_images(tmp_path / "nowhere")
    with pytest.raises(UnknownNameError, match="Did you mean `digits`"):
        load_images("digit")
    with pytest.raises(
        ConfigurationError, match=r"`test_share` must lie between 0 and 1, got 2.*`max_train` must be at least 1"
    ):
        load_images("digits", test_share=2, max_train=0)
    with pytest.raises(ValueError, match="`split` must be one of"):
        load_images("digits").split("dev")


def test_without_pillow_the_extra_is_named(tmp_path, monkeypatch):
    folder(tmp_path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"secateur\[images\]"):
        load_images(tmp_path)
    assert issubclass(MissingExtraError, SecateurError)
