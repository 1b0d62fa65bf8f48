"""Which device a network is measured on, and how to name it."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import torch

from secateur.devices.cores import available_cores
from secateur.devices.launch import Launch
from secateur.devices.setup import DEVICE_NAME, device_fault
from secateur.errors import ConfigurationError


def resolve_device(name: str = "auto") -> torch.device:
    """`auto` (a GPU where there is one, else the CPU), `cpu`, `cuda` or `cuda:1` as a torch device.

    Raises ConfigurationError for any other name, and for a GPU that is not there.
    """
    if fault := device_fault(name):
        raise ConfigurationError(fault)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cpu":
        return torch.device("cpu")
    match = DEVICE_NAME.fullmatch(name)
    index, count = int((match and match[1]) or 0), torch.cuda.device_count() if torch.cuda.is_available() else 0
    if index >= count:
        build = "" if torch.version.cuda else ", or install a CUDA build of torch"
        raise ConfigurationError(f"`device` {name} is not available: torch sees {count} CUDA devices. Use cpu{build}.")
    return torch.device("cuda", index)


def own_device(name: str = "auto") -> torch.device:
    """The same, for one of several processes that a launcher has started: of GPUs that are not numbered, each has its own."""
    launch, found = Launch.here(), resolve_device(name)
    if launch is None or found.type == "cpu" or ":" in name:
        return found
    return resolve_device(f"cuda:{launch.local_rank}")


def check_precision(precision: str | None, device: torch.device) -> None:
    """Raise ConfigurationError where a mixed precision is asked for on a CPU."""
    if precision is not None and device.type == "cpu":
        raise ConfigurationError(f"`mixed_precision` {precision} needs a GPU, but `device` is cpu. Leave it out.")


def describe_device(device: str | torch.device = "auto") -> str:
    """The device in words, as it enters reports and fingerprints: `cpu: Intel(R) Xeon(R) CPU, 2 cores`, `cuda: NVIDIA H200`."""
    resolved = device if isinstance(device, torch.device) else resolve_device(device)
    if resolved.type == "cuda":
        return f"cuda: {torch.cuda.get_device_name(resolved)}"
    cores = len(available_cores())
    return f"cpu: {_processor()}, {cores} core{'s' if cores != 1 else ''}"


def _processor(table: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's model name; Python's own answer is empty on Linux, so the kernel's table comes first."""
    if table.is_file():
        match = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", table.read_text(errors="replace"), re.MULTILINE)
        if match:
            return " ".join(match[1].split())
    return platform.processor() or platform.machine() or "unknown processor"
