"""A tiny model folder, tiny data, and one finished run that the tests of the verbs read."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import pytest

GOOD, BAD = ("fine", "lovely", "bright"), ("dull", "awful", "grey")
NOUNS = ("film", "plot", "cast", "song", "scene", "end", "start", "light")


def sentences() -> list[tuple[str, str]]:
    """96 sentences whose label is plain from one word."""
    rows = []
    for noun, (place, word) in itertools.product(NOUNS, enumerate(GOOD + BAD)):
        label = "good" if place < 3 else "bad"
        rows += [(f"a {word} {noun}", label), (f"the {noun} is {word} indeed", label)]
    return rows


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of 3 layers, 16 wide, with its tokenizer."""
    from secateur.testing.models import toy_model
    from secateur.testing.toy_tokenizer import toy_tokenizer

    folder = tmp_path_factory.mktemp("model") / "tiny-bert"
    model = toy_model("bert")
    model.save_pretrained(folder)
    toy_tokenizer([text for text, _ in sentences()], max_length=32).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def data_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("review", "verdict"))
        writer.writerows(sentences())
    return path


QUICK: dict[str, Any] = {
    "text": ["review"],
    "label": "verdict",
    "epochs": 8.0,
    "learning_rate": 3e-3,
    "order_epochs": 3.0,
    "order_learning_rate": 3e-3,
    "batch_size": 16,
    "trials": 6,
    "max_length": 16,
    "latency_length": 16,
    "polish_epochs": 1.0,
    "polish_at": ["50%", "90%"],
    "device": "cpu",
    "progress": False,
}


@pytest.fixture
def quick() -> dict[str, Any]:
    """Settings of a run that takes seconds."""
    return dict(QUICK)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, model_folder: Path, data_file: Path) -> Path:
    """The folder of a finished run."""
    import secateur

    folder = tmp_path_factory.mktemp("runs") / "prune-001"
    secateur.prune(str(model_folder), data=str(data_file), to=folder, **QUICK)
    return folder
