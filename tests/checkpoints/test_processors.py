"""What makes a model's inputs, by its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from secateur.checkpoints.processors import processor_of
from secateur.errors import ModelError
from secateur.tasks.image_processor import FILE, ImageProcessor
from secateur.testing.models import toy_model


@pytest.fixture
def vit(tmp_path: Path) -> Path:
    toy_model("vit", num_channels=1).save_pretrained(tmp_path / "vit")
    return tmp_path / "vit"


def test_a_model_for_texts_has_its_tokenizer(model_folder: Path) -> None:
    assert processor_of(str(model_folder))("a film")["input_ids"]


def test_a_model_for_images_says_how_they_are_prepared(vit: Path) -> None:
    assert processor_of(str(vit)) == ImageProcessor((8, 8), 1, 5)
    said = ImageProcessor((8, 8), 1, 5, (0.3,), (0.2,))
    said.save_pretrained(vit)
    assert processor_of(str(vit), "image_classification") == said


@pytest.mark.parametrize("text", ["{", "[]", '{"image_mean": [0.5, 0.5], "image_std": [1, 1]}'])
def test_a_damaged_file_is_told_in_a_line(vit: Path, text: str) -> None:
    (vit / FILE).write_text(text)
    with pytest.raises(ModelError, match="cannot be loaded") as error:
        processor_of(str(vit))
    assert "\n" not in str(error.value)


def test_the_kind_of_task_must_fit(vit: Path, model_folder: Path) -> None:
    with pytest.raises(ModelError, match="reads texts, and image classification needs"):
        processor_of(str(model_folder), "image_classification")
    with pytest.raises(ModelError, match="reads images, and regression here is a task on texts"):
        processor_of(str(vit), "regression")
