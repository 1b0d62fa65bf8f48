"""What a run of `secateur prune` will take, stage by stage, said before it starts. Nothing is written, no weights are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from secateur.catalogue import find
from secateur.checkpoints.pretrained import network_like
from secateur.checkpoints.processors import processor_of
from secateur.devices.device import check_precision, describe_device, own_device
from secateur.devices.training_memory import StepMemory, pass_memory, step_memory
from secateur.devices.training_pace import seconds_per_step
from secateur.methods.base import Method
from secateur.report.numbers import show
from secateur.report.rows import Column, Table
from secateur.report.terminal import say
from secateur.report.text_table import print_table
from secateur.rng import generator
from secateur.runs.progress import Progress
from secateur.runs.prune.efforts import prune_efforts
from secateur.runs.prune.measuring import FIT, SECONDS
from secateur.runs.prune.method_checks import masks_may_join
from secateur.runs.prune.settings import PruneSettings
from secateur.runs.timing import about
from secateur.spaces.pruning.sizes import largest_below
from secateur.supernet import Supernet
from secateur.training.logs import NO_LOGS
from secateur.training.sampling import EpochSampler
from secateur.training.settings import TrainingSettings
from secateur.training.stage_trainer import processes
from secateur.training.strategies import Draw
from secateur.trial import MASKS

#: Steps of the super-network whose draws are followed: the passes of each differ.
FOLLOWED = 3
_COLUMNS = [
    Column("stage", "stage"),
    Column("weights", "weights", "bytes"),
    Column("gradients", "gradients", "bytes"),
    Column("states", "optimiser", "bytes"),
    Column("activations", "activations", "bytes"),
    Column("peak", "memory", "bytes"),
    Column("steps", "steps", "integer"),
    Column("seconds", "time", "seconds"),
]


@dataclass(frozen=True)
class PrunePlan:
    """The stages of a run, with bytes and seconds; `device` in words, and the bytes that it has (`room`)."""

    stages: Sequence[dict[str, Any]]
    device: str
    room: int
    step: float

    @property
    def peak(self) -> int:
        """The most bytes that a stage needs."""
        return max(int(row["peak"]) for row in self.stages)

    @property
    def seconds(self) -> float:
        return float(sum(row["seconds"] for row in self.stages))

    def rows(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self.stages]

    def as_dict(self) -> dict[str, Any]:
        whole = {"peak": self.peak, "seconds": self.seconds, "seconds_per_step": self.step}
        return {"device": self.device, "memory": self.room, **whole, "stages": self.rows()}

    def show(self) -> None:
        """Print the table, and whether it fits."""
        last = {"stage": "all", "peak": self.peak, "seconds": self.seconds}
        columns = {column.name: None for column in _COLUMNS}
        rows = [{**columns, **row} for row in self.stages]
        print_table(Table(_COLUMNS, rows), f"What each stage will take on {self.device}", {**columns, **last})
        most = max(self.stages, key=lambda row: row["peak"])["stage"]
        fits = "fits into" if self.peak < self.room else "does NOT fit into"
        say()
        say(
            f"The peak, {show(self.peak, 'bytes')} in `{most}`, {fits} the {show(self.room, 'bytes')} of this device; a "
            f"process takes some hundred MB beside it. About {about(self.seconds)} in all. Nothing was started."
        )


class Planning:
    """What the stages of a run would work on: data as they are, and a network without weights (a `Bench` of its method)."""

    def __init__(self, settings: PruneSettings) -> None:
        device = own_device(settings.device)
        check_precision(settings.mixed_precision, device)
        self.device = str(device)
        self.data = settings.task_data(processor_of(settings.model, settings.kind))
        self.c: Any = settings.with_usual_learning_rates(len(self.data.train))
        self.kind, self.labels = self.data.task.kind, self.data.num_labels or 1
        self.supernet = Supernet(network_like(self.c.model, self.data))
        self.space = find("space", str(self.c.space))(self.supernet.shape, **self.c.limits())
        self.progress, self.logs, self.networks = Progress(False), NO_LOGS, Path()
        self.length, self.latency_model = self.c.latency_length, None
        self.method: Method = find("method", self.c.method)(self)

    def done(self, stage: str) -> bool:
        return False

    def note(self, text: str) -> None:
        """Nobody is told: nothing happens."""

    def keep_curve(self, name: str, rows: Sequence[dict[str, float]]) -> None:
        """Nothing is trained."""

    @cached_property
    def longest(self) -> dict[str, int]:
        """Split → tokens (or an image's states) of the longest example, on which memory depends."""
        return {name: max(self.data.split(name).lengths) for name in ("train", "validation", "test")}

    def names(self) -> list[str]:
        """The stages of the run, in order."""
        c = self.c
        found = [name for name, _ in self.method.stages()]
        found += [FIT] if any(o.startswith("latency") for o in c.objectives) else []
        found += [name for name, _ in self.method.last_stages()]
        found += ["search"]
        found += [MASKS] if c.masks and "masks" in self.method.uses and masks_may_join(c) else []
        found += ["polish"] if c.polish else []
        found += ["measure"] if c.measure else []
        found += ["formats"] if c.measure and c.formats else []
        return [*found, "report"]

    def trainings(self) -> dict[str, TrainingSettings]:
        """Stage → the settings of the training in it."""
        found = {"warm-up": self.c.warming_up(), "train": self.c.training(), "fine-tune": self.c.fine_tuning()}
        found["learn-masks"] = self.c.mask_training()
        return found

    def memory(self, stage: str) -> StepMemory:
        """Bytes at the peak of a stage."""
        settings = self.trainings().get(stage)
        if settings is not None:
            trained = self._step(self._draws(settings) if stage == "train" else [Draw()], settings)
            return trained.beside(trained.weights) if stage == "learn-masks" else trained  # the network as it was teaches
        if stage in ("order", "score", "importance", "information", MASKS):  # a backward pass in float32, and no optimiser
            one = TrainingSettings(batch_size=min(32, self.c.batch_size))
            found = self._step([Draw()], one)
            return StepMemory(found.weights, found.gradients, 0, found.activations)
        whole = pass_memory(self.supernet, self.c.evaluation_batch, max(self.longest.values()), self.kind)
        if stage == "polish" or (stage == "search" and self.method.own and "trial_epochs" in self.method.uses):
            polishing = stage == "polish"
            limits = [level.resolve(self._body) for level in self.c.levels()] if polishing or self.method.lists else []
            student = self._student(max(limits, default=self._body))
            teachers = (2 if self.c.order and "order" in self.method.uses else 1) if polishing else 1
            settings = self.c.polishing() if polishing else self.c.trial_training()
            trained = self._step([Draw(distilled=polishing or self.method.lists)], settings, student).beside(
                teachers * whole.weights
            )
            return max(trained, whole.beside((teachers - 1) * whole.weights), key=lambda memory: memory.peak)
        return whole

    @property
    def _body(self) -> int:
        return self.supernet.body_parameters(self.supernet.whole)

    def _step(self, draws: Sequence[Draw], settings: TrainingSettings, of: Supernet | None = None) -> StepMemory:
        return step_memory(of or self.supernet, draws, self.longest["train"], self.kind, settings, labels=self.labels)

    def _draws(self, settings: TrainingSettings) -> list[Draw]:
        strategy = find("strategy", self.c.strategy)(self.space, k=self.c.k)
        steps = [strategy.draws(step, FOLLOWED + 2, generator(settings.seed, "train", step)) for step in range(FOLLOWED)]
        return [draw for draws in steps for draw in draws]

    def _student(self, limit: float) -> Supernet:
        """The largest network within a limit on the body's parameters, as it would be cut out."""
        space = self.space
        fitting = largest_below(space, space.line(np.ones(space.dimensions)), self.supernet.body_parameters, limit)
        return self.supernet if fitting is None else Supernet(self.supernet.extract(space.plan(fitting)))

    def seconds_per_step(self) -> float:
        """Of an ordinary training step, at the mean length of a batch with its padding."""
        c, lengths = self.c, self.data.train.lengths
        order = list(EpochSampler(len(lengths), c.batch_size, c.seed, lengths if c.group_by_length else None))
        batches = [order[start : start + c.batch_size] for start in range(0, len(order), c.batch_size)]
        padded = round(float(np.mean([max(lengths[i] for i in batch) for batch in batches])))
        shallow = Supernet(network_like(c.model, self.data, layers=2, device="cpu"))
        batch = min(c.batch_size, len(lengths))
        return seconds_per_step(shallow, self.supernet.shape.layers, batch, padded, self.kind, self.device, labels=self.labels)

    def room(self) -> int:
        """Bytes of memory of the device."""
        if self.device.startswith("cuda"):
            import torch

            return int(torch.cuda.get_device_properties(self.device).total_memory)
        import psutil

        return int(psutil.virtual_memory().total)


def plan_of_run(settings: PruneSettings) -> PrunePlan:
    """The plan of a run with these settings. Raises what the run's first moment would raise of its model and data."""
    planning = Planning(settings)
    c, train = planning.c, len(planning.data.train)
    sizes = {name: len(planning.data.split(name)) for name in ("train", "validation", "test")}
    efforts = prune_efforts(c, sizes, planning.method.passes(), SECONDS)
    step = planning.seconds_per_step()
    pace = step / (3 * min(c.batch_size, train))  # a backward pass counts as two
    trainings, joint = planning.trainings(), planning.method.trainings()
    rows = []
    for name in planning.names():
        memory, effort = planning.memory(name), efforts.get(name)
        several = processes() if name in joint else 1
        steps = trainings[name].total_steps(-(-train // (c.batch_size * several))) if name in trainings else None
        seconds = 0.0 if effort is None else effort.seconds + effort.passes * pace / several
        parts = {"weights": memory.weights, "gradients": memory.gradients, "states": memory.states}
        parts |= {"activations": memory.activations, "peak": memory.peak}
        rows.append({"stage": name, **parts, "steps": steps, "seconds": seconds})
    return PrunePlan(rows, describe_device(planning.device), planning.room(), step)
