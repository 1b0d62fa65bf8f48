"""kill -9 in every stage: a resumed run ends with the front of one that was never stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from secateur.errors import StudyError
from secateur.runs.prune.run import Run
from secateur.study import RunLock
from secateur.verbs.resume import resume

COMMAND = "from secateur.cli import main; main()"


def start(*arguments: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs of a shell ignore it
    )


def stages(folder: Path) -> list[str]:
    log = folder / "log.jsonl"
    if not log.is_file():
        return []
    lines = log.read_text(encoding="utf-8").splitlines()
    return [row["stage"] for row in map(json.loads, lines) if row["event"] == "stage"]


def wait_for(process: subprocess.Popen[bytes], folder: Path, stage: str) -> None:
    end = time.monotonic() + 240
    while stage not in stages(folder):
        assert process.poll() is None, (process.stderr.read() if process.stderr else b"").decode()
        assert time.monotonic() < end, f"{stage} was not reached"
        time.sleep(0.02)


def outcome(folder: Path) -> Any:
    run = Run(folder)
    trials = [(t.id, t.origin, t.architecture.key, t.status, dict(t.values)) for t in run.trials if t.told is not None]
    return trials, run.unpruned, run.tests, {k: (dict(t.values), dict(t.details)) for k, t in run.polished.items()}


@pytest.mark.slow
def test_killed_in_every_stage_and_resumed(finished: Path, model_folder: Path, data_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    arguments = ["prune", "--model", str(model_folder), "--data", str(data_file), "--to", str(folder), "--quiet"]
    arguments += [
        "--text",
        "review",
        "--label",
        "verdict",
        "--epochs",
        "8",
        "--learning-rate",
        "3e-3",
        "--batch-size",
        "16",
        "--trials",
        "6",
    ]
    arguments += ["--order-epochs", "3", "--order-learning-rate", "3e-3", "--max-length", "16"]
    arguments += [
        "--latency-length",
        "16",
        "--polish-epochs",
        "1",
        "--polish-at",
        "50%",
        "--polish-at",
        "90%",
        "--device",
        "cpu",
    ]
    for stage in ("train", "search", "polish", "report"):
        process = start(*arguments)
        wait_for(process, folder, stage)
        process.send_signal(signal.SIGKILL)
        process.wait()
        arguments = ["resume", str(folder), "--quiet"]
    resume(folder, progress=False)
    assert outcome(folder) == outcome(finished)


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(model_folder: Path, data_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = start(
        "prune", "--model", str(model_folder), "--data", str(data_file), "--to", str(folder), "--text", "review", "--label",
        "verdict", "--epochs", "500", "--max-length", "16", "--device", "cpu",
    )  # fmt: skip
    wait_for(process, folder, "train")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert f"secateur resume {folder}" in " ".join(error.decode().split())
    assert "Traceback" not in error.decode()


def test_two_processes_on_one_run_are_refused(finished: Path) -> None:
    with RunLock(finished), pytest.raises(StudyError, match="in use"):
        resume(finished, progress=False)
