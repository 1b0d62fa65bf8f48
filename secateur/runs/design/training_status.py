"""Where a folder that `secateur train` made stands."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

from secateur.architecture import Architecture
from secateur.paths import quoted
from secateur.runs.design.forms import CURVE
from secateur.runs.design.training import UNFINISHED
from secateur.runs.status import Status
from secateur.settings import fits
from secateur.study import holder


class _Begun(TypedDict):
    architecture: str
    steps: int | None


class _Reached(TypedDict):
    global_step: int
    max_steps: int


class _Curve(TypedDict):
    architecture: dict[str, Any]
    steps: int
    seconds: float
    validation: float
    test: float | None


def status_of_training(folder: Path, trained: bool) -> Status:
    """Where a training stands: one that is finished where `trained` says so, else by its last checkpoint."""
    return _finished(folder) if trained else _unfinished(folder)


def _unfinished(folder: Path) -> Status:
    process = holder(folder / UNFINISHED)
    settings = _read(folder / UNFINISHED / "settings.json", _Begun)
    states = (_read(file, _Reached) for file in folder.glob(f"{UNFINISHED}/steps/checkpoint-*/trainer_state.json"))
    known = max(filter(None, states), key=lambda state: int(state["global_step"]), default={})
    return Status(
        folder=folder,
        verb="train",
        about=_about(settings.get("architecture")),
        state="running" if process is not None else "stopped",
        next=[] if process is not None else ["Continue: run the same `secateur train` command again."],
        text="by its last checkpoint",
        units="steps",
        done=known.get("global_step", 0),
        wanted=known.get("max_steps") or settings.get("steps"),
        process=process,
    )


def _finished(folder: Path) -> Status:
    found = _read(folder / CURVE, _Curve)
    tested = f", test {found['test']:.2f}" if found.get("test") is not None else ""
    return Status(
        folder=folder,
        verb="train",
        about=_about(json.dumps(found["architecture"]) if found else None),
        state="finished",
        next=[f"Measure: secateur measure {quoted(folder)}", f"Score:   secateur evaluate {quoted(folder)}"],
        units="steps",
        done=found.get("steps"),
        wanted=found.get("steps"),
        seconds=found.get("seconds"),
        summary=f"perplexity {found['validation']:.2f}{tested}" if found else "",
    )


def _read(file: Path, kind: Any) -> dict[str, Any]:
    """What a JSON file of this kind says; nothing where it is not there, or damaged."""
    with suppress(OSError, ValueError, RecursionError):
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if fits(found, kind):
            return found
    return {}


def _about(architecture: str | None) -> str:
    with suppress(ValueError, KeyError, TypeError):
        return str(Architecture.from_json(architecture or ""))
    return "a language model"
