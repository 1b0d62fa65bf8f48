"""The settings that say where trials are evaluated, and what is wrong with them. Nothing heavy loads."""

from __future__ import annotations

import re

from secateur.settings import MOST_THREADS

#: Where workers may be: in processes of this machine, or on a Ray cluster.
EXECUTORS = ("processes", "ray")
#: The most workers of one study, on a cluster.
MOST_WORKERS = 10_000
#: `host:port`, or `auto`: the cluster that this machine belongs to.
_ADDRESS = re.compile(r"auto|[^\s/:]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}")


def executor_faults(
    executor: str, workers: int | None, address: str | None, gpus: float | None = None, device: str = "auto"
) -> list[str]:
    """What does not go together, a sentence each."""
    found = []
    if executor != "ray":
        found += [
            f"`{name}` is for the executor `ray`, got `{executor}`."
            for name, value in (("address", address), ("gpus_per_trial", gpus))
            if value is not None
        ]
        if workers is not None and MOST_THREADS < workers <= MOST_WORKERS:
            found.append(
                f"`workers` must be at most {MOST_THREADS} on this machine, got {workers}. A Ray cluster may have more."
            )
        return found
    if address is not None and (fault := address_fault(address)):
        found.append(fault)
    if gpus is not None and (fault := gpus_fault(gpus)):
        found.append(fault)
    if gpus and device == "cpu":
        found.append(f"`gpus_per_trial` is {gpus:g}, but `device` is cpu.")
    if device.startswith("cuda:"):
        found.append(f"`device` must be auto, cpu or cuda where Ray chooses the GPU, got {device}.")
    return found


def address_fault(address: str) -> str | None:
    """Why this cannot be the address of a cluster; None where it can."""
    if _ADDRESS.fullmatch(address):
        return None
    hint = " Start the command on a machine of the cluster." if address.startswith("ray://") else ""
    return f"`address` must be host:port or auto, got `{address}`.{hint}"


def gpus_fault(gpus: float) -> str | None:
    """Why a trial cannot have so many GPUs: Ray shares one, or gives several whole ones."""
    if gpus > 1 and gpus != int(gpus):
        return f"`gpus_per_trial` must be a part of one GPU or a whole number, got {gpus:g}."
    return None
