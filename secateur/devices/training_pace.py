"""How long training steps of a network will take on this machine, from steps of the same network with one and two layers."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import torch

from secateur.anatomy.inputs import no_cache
from secateur.devices.training_memory import labelled_inputs
from secateur.spaces.pruning.plan import Plan
from secateur.supernet import Supernet

#: Steps that are timed, after one that is not.
STEPS = 3


def seconds_per_step(
    shallow: Supernet, layers: int, batch: int, length: int, kind: str, device: str, *, labels: int = 1
) -> float:
    """Wall-clock seconds of a step (forward, backward, AdamW) of a network with so many layers, all like the ones of `shallow`,
    which has one or two. What a layer costs is the difference between two layers and one."""
    shape = shallow.shape
    times = [
        _seconds(shallow.extract(Plan.uniform(depth, shape.heads, shape.units)), batch, length, kind, device, labels)
        for depth in range(1, shape.layers + 1)
    ]
    return times[0] if layers < 2 or len(times) < 2 else max(times[1], times[0] + (layers - 1) * (times[1] - times[0]))


def _seconds(model: Any, batch: int, length: int, kind: str, device: str, labels: int) -> float:
    model = model.to(device).train()
    inputs = labelled_inputs(model, batch, length, kind, labels)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-9)
    taken = []
    for _ in range(1 + STEPS):
        _wait(device)
        began = time.perf_counter()
        model(**inputs, **no_cache(model)).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        _wait(device)
        taken.append(time.perf_counter() - began)
    return median(taken[1:])


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
