"""Logs of a run in TensorBoard, Weights & Biases or MLflow, written by transformers' own callbacks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from secateur.errors import MissingExtraError
from secateur.settings import Settings, option

FOLDER = "logs"
#: Under which project or experiment a run appears, where the user's environment names none.
_HEADINGS = {"WANDB_PROJECT": "secateur", "MLFLOW_EXPERIMENT_NAME": "secateur"}


@dataclass(frozen=True, kw_only=True)
class LogSettings(Settings):
    """Where trainings are logged to, beside the run's own store."""

    log_to: list[str] = option(
        [],
        "Log losses during training: tensorboard (into the run's folder), wandb or mlflow. Repeat it for several.",
        known=("tensorboard", "wandb", "mlflow"),
    )


@dataclass(frozen=True)
class Logs:
    """Where one part of a run (a training, the search) is logged `to`; files lie in `folder`. `run` is the run's name."""

    to: tuple[str, ...] = ()
    folder: Path = Path(FOLDER)
    run: str = ""
    part: str = ""

    @classmethod
    def of_run(cls, to: str | Iterable[str], folder: Path) -> Logs:
        """The logs of the run in a folder. Raises MissingExtraError where a library is not installed."""
        names = (to,) if isinstance(to, str) else tuple(dict.fromkeys(to))
        for name in names:
            if find_spec(name) is None:
                raise MissingExtraError(name, name)
        return cls(names, folder / FOLDER, folder.resolve().name)

    def of(self, part: str) -> Logs:
        return replace(self, part=part)

    def arguments(self) -> dict[str, Any]:
        """What TrainingArguments should have."""
        return {"report_to": list(self.to), "run_name": f"{self.run} {self.part}".strip() or None}

    def place(self, callbacks: Iterable[Any]) -> None:
        """Let TensorBoard's callback write into the run's folder, or below the one that the user's environment names."""
        for callback in callbacks:
            if hasattr(callback, "tb_writer"):
                callback.logging_dir = str(Path(callback.logging_dir or self.folder) / self.part)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Within the context trainers log; at its end what is open is closed: the next part begins a log of its own."""
        unset = {name: value for name, value in _HEADINGS.items() if self.to and name not in os.environ}
        os.environ.update(unset)
        try:
            yield
        finally:
            for name in unset:
                del os.environ[name]
            if "wandb" in self.to:
                import wandb

                wandb.finish()

    @contextmanager
    def writer(self) -> Iterator[Callable[[int, Mapping[str, float]], None]]:
        """Logs numbers that no trainer has: call what is yielded with a step and values by name."""
        if not self.to:
            yield lambda step, values: None
            return
        from transformers import TrainerControl, TrainerState, TrainingArguments
        from transformers.integrations.integration_utils import get_reporting_integration_callbacks

        callbacks = [kind() for kind in get_reporting_integration_callbacks(list(self.to))]
        self.place(callbacks)
        given = TrainingArguments(output_dir=str(self.folder), use_cpu=True, **self.arguments())
        state, control = TrainerState(is_world_process_zero=True), TrainerControl()

        def write(step: int, values: Mapping[str, float]) -> None:
            state.global_step = step
            for callback in callbacks:
                callback.on_log(given, state, control, logs={f"eval_{name}": value for name, value in values.items()})

        with self.open():
            for callback in callbacks:
                callback.on_train_begin(given, state, control)
            try:
                yield write
            finally:
                for callback in callbacks:
                    callback.on_train_end(given, state, control)


NO_LOGS = Logs()
