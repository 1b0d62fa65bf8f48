"""Training checkpoints: found, checked, and never half-written."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from transformers import TrainerState
from transformers.trainer_utils import get_last_checkpoint

from secateur.errors import EvaluationFailure, SecateurError, StudyError, of_a_file

#: Where a checkpoint is written; it moves to its place when it is whole, so that a killed process leaves no half one.
UNFINISHED = "unfinished"
_STATE = "trainer_state.json"


def resumable(folder: Path) -> str | None:
    """The last checkpoint in a training folder, or None. Raises StudyError where there is one that cannot be read."""
    if not folder.is_dir():
        return None
    last: str | None = get_last_checkpoint(str(folder))
    if last is not None and (fault := _fault(Path(last))):
        raise damaged(last, fault)
    return last


def damaged(checkpoint: str, fault: str) -> StudyError:
    return StudyError(f"the checkpoint `{checkpoint}` is damaged: {fault}. Move it away to restart this stage.")


@contextlib.contextmanager
def loading(checkpoint: str | None) -> Iterator[None]:
    """Within the context files of a checkpoint are loaded; what they raise, whatever is in them, becomes a StudyError."""
    try:
        yield
    except SecateurError:
        raise
    except Exception as error:
        raise damaged(str(checkpoint), of_a_file(error)) from error


def _fault(checkpoint: Path) -> str | None:
    """What is wrong with a checkpoint. All of it is needed: without the optimiser a resumed run would be another run."""
    names = {path.name for path in checkpoint.iterdir()}
    weights = sorted(n for n in names if n.endswith(".safetensors"))
    needed = ("optimizer.pt", "scheduler.pt", _STATE)
    missing = [n for n in needed if n not in names] + ["model.safetensors"] * (not any(n.startswith("model") for n in weights))
    missing += ["rng_state.pth"] * (not any(n.startswith("rng_state") for n in names))
    if missing:
        return f"it has no {', '.join(missing)}"
    try:
        state = TrainerState.load_from_json(str(checkpoint / _STATE))
        whole = (state.global_step, state.max_steps, state.num_train_epochs, state.train_batch_size or 0)
        rows = all(isinstance(row, dict) and isinstance(row["step"], int) for row in state.log_history)
        if not rows or not all(isinstance(number, int) for number in whole) or state.global_step < 1:
            raise ValueError("its numbers are not numbers")
    except (ValueError, KeyError, TypeError, OSError, RecursionError):
        return f"{_STATE} cannot be read"
    for name in weights:
        try:
            with safe_open(checkpoint / name, framework="pt"):  # checks the header against the file's size
                pass
        except (SafetensorError, OSError, ValueError) as error:
            return f"{name} cannot be read ({error})"
    for name in sorted(n for n in names if n.endswith((".pt", ".pth"))):
        try:
            with zipfile.ZipFile(checkpoint / name) as archive:
                bad = archive.testzip()
        except (zipfile.BadZipFile, OSError) as error:
            return f"{name} cannot be read ({error})"
        if bad is not None:
            return f"{name} fails its check sum"
    return None


def refuse_other_processes(checkpoint: Path, now: int) -> None:
    """Raise StudyError where a training was begun by another number of processes: its steps would be of another size."""
    began = max(1, sum(1 for _ in checkpoint.glob("rng_state_*.pth")))
    if began != now:
        one = "start it without a launcher" if began == 1 else f"start it with torchrun --nproc-per-node {began}"
        raise StudyError(
            f"the training in `{checkpoint}` was begun by {began} process{'es' if began > 1 else ''}, and cannot go on with "
            f"{now}: {one}, or move the checkpoint away to restart this stage."
        )


def logged(checkpoint: str) -> list[dict[str, float]]:
    """The log rows of a training up to its checkpoint, one that `resumable` found."""
    return [row for row in TrainerState.load_from_json(str(Path(checkpoint) / _STATE)).log_history if "loss" in row]


def refuse_diverged(model: Any, step: int) -> None:
    """Raise EvaluationFailure where a weight is not finite. All processes hold the same: all raise or none."""
    if not bool(torch.stack([p.detach().isfinite().all() for p in model.parameters()]).all()):
        raise diverged(step)


def diverged(step: int) -> EvaluationFailure:
    """The failure of a run whose loss or weights are no longer numbers."""
    return EvaluationFailure(f"training diverged at step {step}: the loss is no longer a number. Use a lower learning rate.")
