"""Two processes with DistributedDataParallel get the gradients that one gets on the whole batch."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta

import pytest
import torch

from secateur.spaces.pruning import Kept, LayerPlan, Plan
from secateur.supernet import Supernet
from secateur.testing.models import toy_batch, toy_model

pytestmark = pytest.mark.slow

PLANS = [
    Plan.uniform(3, 4, 12),
    Plan.of([LayerPlan(0, Kept.first(2), Kept.first(5)), LayerPlan(1, Kept.first(0), Kept.first(3))]),
    Plan.of([LayerPlan(1, Kept.chosen([1, 3]), Kept.chosen([0, 4, 11]))]),
]


def step(supernet, network, batch, quietly=None):
    """Several passes, as the sandwich makes them: gradients are exchanged at the last one only."""
    for place, plan in enumerate(PLANS):
        last = place == len(PLANS) - 1
        with supernet.select(plan):
            if last or quietly is None:
                loss = network(**batch).loss
                loss.backward()
            else:
                with quietly():
                    network(**batch).loss.backward()


def gradients(rank: int, port: str) -> list[dict[str, torch.Tensor]]:
    """One process of two: the gradients it ends with, without and with gradient checkpointing."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    address = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2, timeout=timedelta(seconds=120))
    all_found = []
    try:
        for checkpointing in (False, True):
            supernet = Supernet(toy_model("bert"))
            supernet.model.train()
            if checkpointing:
                supernet.model.gradient_checkpointing_enable({"use_reentrant": False})
            network = DistributedDataParallel(supernet.model, find_unused_parameters=True)
            batch = toy_batch(supernet.model, batch=4)
            mine = {name: tensor[2 * rank : 2 * rank + 2] for name, tensor in batch.items()}
            for _ in range(2):  # twice: the second step must not stumble over the first one's bookkeeping
                network.zero_grad()
                step(supernet, network, mine, network.no_sync)
            all_found.append({name: p.grad for name, p in supernet.model.named_parameters() if p.grad is not None})
        dist.barrier()
    finally:
        dist.destroy_process_group()
    return all_found


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_two_processes_have_the_gradients_of_one(tmp_path):
    port, files = str(free_port()), [tmp_path / f"{rank}.pt" for rank in range(2)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    commands = [[sys.executable, __file__, str(rank), port, str(file)] for rank, file in enumerate(files)]
    both = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for command in commands]
    try:
        errors = [process.communicate(timeout=600)[1] for process in both]
    finally:
        for process in both:
            process.kill()
    assert [process.returncode for process in both] == [0, 0], errors
    all_found = [found for file in files for found in torch.load(file, weights_only=True)]

    supernet = Supernet(toy_model("bert"))
    supernet.model.train()
    step(supernet, supernet.model, toy_batch(supernet.model, batch=4))
    for name, parameter in supernet.model.named_parameters():
        expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for found in all_found:
            assert torch.allclose(found.get(name, torch.zeros_like(parameter)), expected, atol=1e-6), name


if __name__ == "__main__":
    torch.save(gradients(int(sys.argv[1]), sys.argv[2]), sys.argv[3])
    sys.stderr.flush()
    os._exit(0)  # taking down a process group was seen to wait for ever
