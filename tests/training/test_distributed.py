"""Two gloo processes, launched as torchrun does it, end with the weights of one process on batches twice as large."""

from __future__ import annotations

import copy
import dataclasses
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch

from secateur.catalogue import find, names
from secateur.spaces.pruning import Small
from secateur.supernet import Supernet
from secateur.testing.models import toy_model
from secateur.testing.toy_task import toy_task_data
from secateur.training.settings import TrainingSettings

pytestmark = pytest.mark.slow

#: Two steps of 8 examples. In an order that does not depend on the batch size.
SETTINGS = TrainingSettings(
    epochs=1, learning_rate=2e-3, batch_size=8, temperature=2.0, checkpoints=1, group_by_length=False, seed=4
)
#: In `random` the one pass of a step leaves parameters unused; in `kd`, as the authors have it, one pass has no backward.
RUNS = [
    ("full", "classification", False),
    ("random", "classification", False),
    ("kd", "classification", False),
    ("full", "language_modelling", True),
]


def train(strategy, kind, checkpointing, batch_size, folder):
    """Weights after the run, the draws of its steps and the examples this process saw."""
    from secateur.training.trainer import train_supernet

    supernet = Supernet(toy_model(*(("gpt2", "causal") if kind == "language_modelling" else ("bert",)), layers=2))
    made = find("strategy", strategy)(Small(supernet.shape), k=2)
    drawn, usual = [], made.draws
    data, seen = toy_task_data(kind, examples=16), []
    pad = data.collate
    data.collate = lambda features: seen.append([f["input_ids"] for f in features]) or pad(features)

    def draws(step, steps, rng):
        """What the strategy draws; what every other would draw here is noted beside it."""
        kinds = [find("strategy", name) for name in names("strategy")]
        others = [kind(made.space, k=2).draws(step, steps, copy.deepcopy(rng)) for kind in kinds]
        mine = usual(step, steps, rng)
        drawn.extend([mine, *others])
        return mine

    made.draws = draws
    distillation = "authors" if strategy == "kd" else "equations"
    changes = {"batch_size": batch_size, "gradient_checkpointing": checkpointing, "distillation": distillation}
    settings = dataclasses.replace(SETTINGS, **changes)
    rows = train_supernet(supernet, made, data, settings, Path(folder))
    keys = [[(d.plan.key if d.plan else None, d.distilled) for d in step] for step in drawn]
    return {"weights": supernet.model.state_dict(), "draws": keys, "seen": seen, "loss": [row["loss"] for row in rows]}


def worker(out):
    torch.set_num_threads(1)
    for run in RUNS:
        folder = Path(out) / "-".join(map(str, run))
        torch.save(train(*run, 4, folder), f"{folder}-{os.environ['RANK']}.pt")
    sys.stdout.flush()
    os._exit(0)  # taking down a process group was seen to wait for ever


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_two_processes_train_as_one(tmp_path):
    """Also under gradient checkpointing, and for language models, whose tokens are counted over both. All draws agree."""
    port = str(free_port())
    processes = []
    for rank in range(2):
        launcher = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
        environment = {
            **os.environ,
            **launcher,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - a pipe could fill up and stop one process, and with it the other
        command = [sys.executable, __file__, str(tmp_path)]
        processes.append((subprocess.Popen(command, env=environment, stderr=errors, stdout=errors), errors))
    try:
        for process, _ in processes:
            process.wait(timeout=900)
    finally:
        for process, _ in processes:
            process.kill()
    said = []
    for _, errors in processes:
        errors.seek(0)
        said.append(errors.read()[-3000:])
        errors.close()
    assert [process.returncode for process, _ in processes] == [0, 0], "\n".join(said)

    for run in RUNS:
        name = "-".join(map(str, run))
        ranks = [torch.load(tmp_path / f"{name}-{rank}.pt", weights_only=True) for rank in range(2)]
        one = train(*run, 8, tmp_path / f"{name}-one")
        assert ranks[0]["draws"] == ranks[1]["draws"] == one["draws"], name
        assert len(one["draws"]) == 2 * (1 + len(names("strategy")))
        # accelerate gave each process every other batch
        assert [ranks[0]["seen"][i] + ranks[1]["seen"][i] for i in range(2)] == one["seen"], name
        assert [path.name for path in (tmp_path / name).iterdir()] == ["checkpoint-2"]
        for key, weight in one["weights"].items():
            assert torch.equal(ranks[0]["weights"][key], ranks[1]["weights"][key]), (name, key)
            if not key.endswith("key.bias"):  # its gradient is rounding, which Adam blows up
                assert torch.allclose(ranks[0]["weights"][key], weight, atol=1e-4), (name, key)


if __name__ == "__main__":
    worker(sys.argv[1])
