"""Several processes that a launcher starts on one run: they train as one, one of them writes, and none waits for the dead."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from secateur.devices.launch import Launch, gpus_of_workers
from secateur.errors import ConfigurationError, StudyError
from secateur.runs.launched import check_launch
from secateur.training.checkpoints import refuse_other_processes

#: In an order that does not depend on the batch size, and so many examples that all batches are whole.
SETTINGS: dict[str, Any] = {
    "text": ["review"],
    "label": "verdict",
    "epochs": 2.0,
    "learning_rate": 3e-3,
    "order_epochs": 2.0,
    "order_learning_rate": 3e-3,
    "group_by_length": False,
    "trials": 6,
    "searcher": "random",
    "max_length": 16,
    "max_train": 48,
    "polish_at": ["50%"],
    "polish_epochs": 1.0,
    "masks": False,
    "measure": False,
    "device": "cpu",
}


def options(settings: Mapping[str, Any]) -> list[str]:
    """The settings as they are typed."""
    flags = {"polish_at": "--polish-at", "group_by_length": "--shuffle", "masks": "--no-masks", "measure": "--no-measure"}
    typed: list[str] = []
    for name, value in settings.items():
        flag = flags.get(name, "--" + name.replace("_", "-"))
        typed += [flag] if value is False else [flag, str(value[0] if isinstance(value, list) else value)]
    return typed


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


#: The launchers that the how-to names, as it starts them: two processes; the port comes last.
LAUNCHERS = {
    "torchrun": ["torchrun", "--nproc-per-node", "2", "--master-port"],
    "accelerate": ["accelerate", "launch", "--multi_gpu", "--num_processes", "2", "--main_process_port"],
}


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path), **more}


def command(model: Path, data: Path, to: Path, **changes: Any) -> list[str]:
    given = options({**SETTINGS, "batch_size": 8, **changes})
    return ["-m", "secateur", "prune", "--model", str(model), "--data", str(data), "--to", str(to), *given]


def launched(arguments: list[str], out: Path) -> list[subprocess.Popen[bytes]]:
    """Two processes as a launcher without an agent starts them; what each prints goes to a file."""
    port, found = str(free_port()), []
    for rank in map(str, range(2)):
        told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
        with (out / f"out-{rank}").open("wb") as file:
            env = environment(**told, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
            found.append(subprocess.Popen([sys.executable, *arguments], env=env, stdout=file, stderr=file))
    return found


@pytest.fixture(scope="module")
def without_dropout(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy that does the same in every process."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    shutil.copytree(model_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {name: 0.0 for name in config if name.endswith("dropout_prob")}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_two_processes_of_a_launcher_make_one_run(
    launcher: str, without_dropout: Path, data_file: Path, tmp_path: Path, quick_prune: Any
) -> None:
    """The weights are those of one process on batches twice as large, and the front is what one process finds on them."""
    import torch
    from safetensors.torch import load_file

    from secateur.runs.folder import open_run
    from secateur.runs.progress import Progress
    from secateur.runs.prune.stages import PruneWork
    from secateur.study import Inline, Stop, Study, create_store

    name, *how = LAUNCHERS[launcher]
    run_by = [str(Path(sys.executable).with_name(name)), *how, str(free_port())]
    arguments = command(without_dropout, data_file, tmp_path / "runs" / "two")
    done = subprocess.run([*run_by, *arguments], env=environment(), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["two"]
    assert done.stdout.count("Report: ") == 1
    two = open_run(tmp_path / "runs" / "two")
    assert [t.origin for t in two.trials].count("polish") == 1

    one = quick_prune(tmp_path / "one", **{**SETTINGS, "model": str(without_dropout), "batch_size": 16})
    ours, theirs = (load_file(folder / "supernet" / "model.safetensors") for folder in (two.folder, one.folder))
    for name, weight in theirs.items():
        if not name.endswith("key.bias"):  # its gradient is rounding, which Adam blows up
            assert torch.allclose(ours[name], weight, atol=2e-4), name

    work = PruneWork(two, Progress(False))
    work.prepare()
    study = Study(
        create_store("memory://"), work.searcher(), [], two.objectives, two.unpruned, executor=Inline(work.together())
    )
    study.run(Stop(trials=SETTINGS["trials"]))
    alone = {t.key: dict(t.values) for t in study.front()}
    assert {m.key: dict(m.trial.values) for m in two.searched} == alone
    for run in (one, two):
        run.close()


@pytest.mark.slow
def test_a_process_that_dies_ends_the_run_in_one_line(model_folder: Path, data_file: Path, tmp_path: Path) -> None:
    arguments = command(model_folder, data_file, tmp_path / "run", epochs=200.0)
    first, second = launched(arguments, tmp_path)
    try:
        until = time.monotonic() + 300
        training = tmp_path / "run" / "supernet" / "training" / "train"
        while not training.is_dir() and time.monotonic() < until and first.poll() is None:
            time.sleep(0.05)
        time.sleep(0.3)
        second.send_signal(signal.SIGKILL)
        assert first.wait(timeout=60) == 2
    finally:
        for process in (first, second):
            process.kill()
            process.wait()
    said = (tmp_path / "out-0").read_text().splitlines()
    told = [line for line in said if line.startswith("secateur:")]
    assert said[-1:] == told, said
    assert "another of the 2 processes has ended" in told[0]
    assert f"torchrun --nproc-per-node 2 -m secateur resume {tmp_path / 'run'}" in told[0]
    assert not (tmp_path / "out-1").read_text()


def test_a_launch_is_read_from_the_environment() -> None:
    assert Launch.here({}) is None
    assert Launch.here({"WORLD_SIZE": "1", "RANK": "0"}) is None
    told = {"WORLD_SIZE": "4", "RANK": "3", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    assert Launch.here(told) == Launch(rank=3, processes=4, local_rank=1, local=2)


def test_what_several_processes_cannot_do_is_refused() -> None:
    launch = Launch(rank=0, processes=2, local_rank=0, local=2)
    check_launch("design", "cpu", None)
    check_launch("prune", "cuda", launch)
    with pytest.raises(ConfigurationError, match="`secateur design` is one process"):
        check_launch("design", "cpu", launch)
    with pytest.raises(ConfigurationError, match=r"`device` must be auto, cuda or cpu where a launcher starts 2 .* got cuda:1"):
        check_launch("prune", "cuda:1", launch)


def test_a_training_goes_on_with_as_many_processes_as_it_began_with(tmp_path: Path) -> None:
    for name in ("rng_state_0.pth", "rng_state_1.pth"):
        (tmp_path / name).touch()
    refuse_other_processes(tmp_path, 2)
    with pytest.raises(StudyError, match=r"was begun by 2 processes, and cannot go on with 1: .* --nproc-per-node 2"):
        refuse_other_processes(tmp_path, 1)
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "rng_state.pth").touch()
    refuse_other_processes(tmp_path / "alone", 1)
    with pytest.raises(StudyError, match="was begun by 1 process, and cannot go on with 2: start it without a launcher"):
        refuse_other_processes(tmp_path / "alone", 2)


def test_each_worker_sees_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    assert gpus_of_workers("cpu", 2) == []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpus_of_workers("auto", 3) == [{"CUDA_VISIBLE_DEVICES": name} for name in "010"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    assert gpus_of_workers("cuda", 2) == [{"CUDA_VISIBLE_DEVICES": "4"}, {"CUDA_VISIBLE_DEVICES": "6"}]
