"""Weights that come as arrays: the same networks as those read from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from secateur.checkpoints import load
from secateur.checkpoints.carried import carried, carry
from secateur.checkpoints.pretrained import load_model
from secateur.checkpoints.tokenizers import tokenizer_of


def test_all_kinds_of_numbers_come_back(tmp_path: Path) -> None:
    """As the library that wrote them reads them, and as copies: what is done to them changes no file and no array."""
    kinds = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8, torch.bool)
    tensors = {str(kind): torch.arange(6).reshape(2, 3).to(kind) for kind in kinds}
    tensors["odd"] = torch.zeros(3, dtype=torch.uint8)  # what follows it is not aligned
    tensors["one"] = torch.tensor(2.5)
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    (tmp_path / "other.safetensors").write_bytes(b"not of the model")
    weights = carry([tmp_path])
    assert list(weights) == [str(tmp_path / "model.safetensors")]
    found = carried(tmp_path, weights)
    assert found is not None
    assert found.keys() == tensors.keys()
    assert all(found[name].dtype == tensor.dtype and torch.equal(found[name], tensor) for name, tensor in tensors.items())
    found["one"] += 1
    again = carried(str(tmp_path), weights)
    assert again is not None
    assert again["one"] == 2.5
    assert carried(tmp_path / "elsewhere", weights) is None
    assert carried(tmp_path, {}) is None


@pytest.mark.slow
def test_networks_are_those_read_from_files(model_folder: Path, data_file: Path, tmp_path: Path) -> None:
    from secateur.runs.prune.settings import PruneSettings

    settings = PruneSettings.resolve({"model": str(model_folder), "data": str(data_file), "text": "review", "label": "verdict"})
    data = settings.task_data(tokenizer_of(str(model_folder)))
    weights = {name: np.array(array) for name, array in carry([model_folder]).items()}
    assert weights
    whole = load_model(str(model_folder), data, seed=3, device="cpu")
    same(whole, load_model(str(model_folder), data, seed=3, device="cpu", weights=weights))
    # They are taken from the arrays: other bytes are other weights.
    next(iter(weights.values()))[-4000:] = 0
    other = load_model(str(model_folder), data, seed=3, device="cpu", weights=weights)
    assert any(not torch.equal(a, b) for a, b in zip(whole.state_dict().values(), other.state_dict().values(), strict=True))
    whole.save_pretrained(tmp_path)
    same(load(tmp_path), load(tmp_path, carry([tmp_path])))


def same(one: Any, other: Any) -> None:
    mine, theirs = one.state_dict(), other.state_dict()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in mine.items())
    assert type(one) is type(other)
    assert one.config.to_dict() == other.config.to_dict()
