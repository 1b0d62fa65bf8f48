from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from secateur.devices import available_cores, describe_device, resolve_device
from secateur.devices.device import _processor
from secateur.errors import ConfigurationError


def test_names_become_devices() -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    expected = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    assert resolve_device() == expected
    assert resolve_device("auto") == expected


@pytest.mark.parametrize("name", ["gpu", "", "cuda:x", "cpu:0"])
def test_an_unknown_device_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="auto, cpu, cuda or cuda:N"):
        resolve_device(name)


def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="`device` cuda:99 is not there"):
        resolve_device("cuda:99")


def test_the_cpu_is_described_by_model_and_cores() -> None:
    text = describe_device("cpu")
    assert text.startswith("cpu: ")
    assert text.split(", ")[-1].split()[0] == str(len(available_cores()))
    assert describe_device(torch.device("cpu")) == text


def test_cores_are_those_this_process_may_use() -> None:
    cores = available_cores()
    assert 1 <= len(cores) <= (os.cpu_count() or 1)


def test_the_model_name_comes_from_the_kernels_table(tmp_path: Path) -> None:
    table = tmp_path / "cpuinfo"
    table.write_text("processor\t: 0\nmodel name\t: Imaginary   CPU @ 1 GHz\n")
    assert _processor(table) == "Imaginary CPU @ 1 GHz"


def test_without_a_table_the_platform_answers(tmp_path: Path) -> None:
    assert _processor(tmp_path / "missing") != ""
