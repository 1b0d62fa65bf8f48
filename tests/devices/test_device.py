from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from secateur.devices.cores import available_cores
from secateur.devices.device import _processor, describe_device, resolve_device
from secateur.errors import ConfigurationError


def test_names_become_devices() -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    expected = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    assert resolve_device() == resolve_device("auto") == expected


@pytest.mark.parametrize("name", ["gpu", "", "cuda:x", "cpu:0"])
def test_an_unknown_device_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="auto, cpu, cuda or cuda:N"):
        resolve_device(name)


def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="`device` cuda:99 is not available"):
        resolve_device("cuda:99")


def test_gpus_are_found_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"Imaginary {device.index}")
    assert [resolve_device(name).index for name in ("auto", "cuda", "cuda:1")] == [0, 0, 1]
    assert describe_device("cuda:1") == "cuda: Imaginary 1"


def test_the_cpu_is_described_by_model_and_cores() -> None:
    text = describe_device("cpu")
    assert text.startswith("cpu: ")
    assert text.split(", ")[-1].split()[0] == str(len(available_cores()))
    assert describe_device(torch.device("cpu")) == text
    assert 1 <= len(available_cores()) <= (os.cpu_count() or 1)


def test_the_model_name_comes_from_the_kernels_table_or_the_platform(tmp_path: Path) -> None:
    table = tmp_path / "cpuinfo"
    table.write_text("processor\t: 0\nmodel name\t: Imaginary   CPU @ 1 GHz\n")
    assert _processor(table) == "Imaginary CPU @ 1 GHz"
    assert _processor(tmp_path / "missing") != ""
