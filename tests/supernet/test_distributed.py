"""Two processes with DistributedDataParallel get the gradients that one gets on the whole batch."""

from __future__ import annotations

import os
import subprocess
import sys

import torch

from secateur.spaces.pruning import Kept, LayerPlan, Plan
from secateur.supernet import Supernet
from secateur.testing.models import toy_batch, toy_model

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


def worker(rank: int, port: str, out: str) -> None:
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
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
            found = {name: p.grad for name, p in supernet.model.named_parameters() if p.grad is not None}
            torch.save(found, f"{out}/{rank}-{checkpointing}.pt")
        dist.barrier()
    finally:
        dist.destroy_process_group()


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_two_processes_have_the_gradients_of_one(tmp_path):
    """With and without gradient checkpointing."""
    port = str(free_port())
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, str(rank), port, str(tmp_path)],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        errors = [process.communicate(timeout=120)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], "\n".join(errors)

    supernet = Supernet(toy_model("bert"))
    supernet.model.train()
    step(supernet, supernet.model, toy_batch(supernet.model, batch=4))
    all_found = [torch.load(tmp_path / f"{rank}-{way}.pt", weights_only=True) for rank in range(2) for way in (False, True)]
    for name, parameter in supernet.model.named_parameters():
        expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for found in all_found:
            assert torch.allclose(found.get(name, torch.zeros_like(parameter)), expected, atol=1e-6), name


if __name__ == "__main__":
    worker(int(sys.argv[1]), *sys.argv[2:])
