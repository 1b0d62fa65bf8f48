"""A run's configuration: everything resolved, checked at once before anything heavy loads, and kept as `config.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from secateur.catalogue import KINDS
from secateur.checkpoints.pretrained import check_model
from secateur.errors import ConfigurationError, UnknownNameError
from secateur.objectives import PRUNING, Bound, Objective
from secateur.runs.prune.presets import preset, usual_searcher
from secateur.runs.settings import Faults, Settings
from secateur.spaces.domains import Range
from secateur.tasks import check_data
from secateur.training.settings import TrainingSettings, usual_learning_rate


class Configuration(Settings):
    """The settings of `secateur prune`, presets filled in."""

    verb = "prune"

    def with_usual_learning_rate(self, examples: int) -> Configuration:
        """A copy in which a learning rate that nobody gave is set by the length of the run."""
        if self.learning_rate is not None:
            return self
        return Configuration(
            **{**vars(self), "learning_rate": usual_learning_rate(examples, max(self.batch_size, 1), self.epochs)}
        )

    def objectives_parsed(self) -> list[Objective]:
        return [Objective.parse(o) for o in self.objectives]

    def bounds(self) -> list[Bound]:
        """The shares of the body's parameters at which a sub-network is chosen, to polish and to measure."""
        return [Bound.parse(b) for b in self.polish_at]

    def limits(self) -> dict[str, str]:
        """The ranges given for the space's dimensions."""
        return {name: getattr(self, name) for name in ("heads", "units", "layers") if getattr(self, name) is not None}

    def training(self, **changes: Any) -> TrainingSettings:
        """The settings of super-network training; `changes` for the other training runs."""
        given = {
            "epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "batch_size": self.batch_size,
            "learning_rate_warmup": self.learning_rate_warmup,
            "weight_decay": self.weight_decay,
            "temperature": self.temperature,
            "squared_temperature": self.squared_temperature,
            "distillation_weight": self.distillation_weight,
            "group_by_length": self.group_by_length,
            "gradient_checkpointing": self.gradient_checkpointing,
            "mixed_precision": self.mixed_precision,
            "seed": self.seed,
        }
        return TrainingSettings(**{**given, **changes})

    def warming_up(self) -> TrainingSettings:
        return self.training(epochs=self.order_epochs, learning_rate=self.order_learning_rate)

    def polishing(self) -> TrainingSettings:
        return self.training(epochs=self.polish_epochs, learning_rate=self.polish_learning_rate)

    @classmethod
    def of_verb(cls) -> Any:
        from secateur.verbs.prune import prune

        return prune


def resolve(given: Mapping[str, Any]) -> Configuration:
    """The configuration of what the user gave. Raises ConfigurationError that lists every fault."""
    values = {**preset(given["preset"]), **{k: v for k, v in given.items() if v is not None}}
    configuration = Configuration(**{**dict.fromkeys(given), **values})
    for name in ("model", "data"):  # a run can be resumed from anywhere
        path = Path(str(getattr(configuration, name))).expanduser()
        setattr(configuration, name, str(path.resolve()) if path.exists() else str(getattr(configuration, name)))
    if configuration.searcher is None:
        configuration.searcher = usual_searcher(configuration.space)
    largest = [o.name for o in configuration.objectives if isinstance(o, Objective) and o.direction == "max"]
    if largest:
        raise ConfigurationError(f"`{largest[0]}` cannot be maximised: error and costs are better when smaller.")
    if isinstance(configuration.text, str):
        configuration.text = [configuration.text]
    for name in ("objectives", "polish_at"):
        value = getattr(configuration, name)
        setattr(configuration, name, [str(value)] if isinstance(value, str | Objective) else [str(v) for v in value])
    if faults := _faults(configuration):
        raise ConfigurationError(faults)
    return configuration


def _faults(c: Configuration) -> list[str]:
    faults = Faults()
    tried = faults.tried
    for kind, table in KINDS.items():
        if getattr(c, kind) not in table:
            faults += UnknownNameError(kind, getattr(c, kind), table).faults
    parsed = [o for o in (tried(Objective.parse, text, PRUNING) for text in c.objectives) if o is not None]
    names = [o.name for o in parsed]
    if len(set(names)) < len(names):
        faults.append(f"an objective is named twice: {', '.join(c.objectives)}.")
    if len(parsed) == len(c.objectives) and (not names or names[0] != "error"):
        faults.append(f"the first objective must be `error`, got `{names[0] if names else ''}`. Costs follow it.")
    for text in c.polish_at:
        tried(Bound.parse, text)
    given = c.with_usual_learning_rate(1)
    for settings, prefix in ((given.training(), ""), (c.warming_up(), "order_"), (c.polishing(), "polish_")):
        own = [f"{prefix}epochs`", f"{prefix}learning_rate`"] if prefix else [""]
        faults += [f for f in settings.faults(prefix) if f not in faults and any(name in f for name in own)]
    for name, whole in (
        ("heads", 10**6),
        ("units", 10**9),
        ("layers", 10**6),
    ):  # their ends are checked against the model later
        if getattr(c, name) is not None:
            tried(Range.parse, getattr(c, name), name, whole)
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", c.device):
        faults.append(f"`device` must be cpu, cuda, cuda:N, mps or auto, got `{c.device}`.")
    for name in ("max_train", "max_validation", "max_test"):
        if getattr(c, name) is not None and getattr(c, name) < 1:
            faults.append(f"`{name}` must be at least 1, got {getattr(c, name)}.")
    at_least_one = ("trials", "max_length", "evaluation_batch", "latency_batch", "latency_length", "threads")
    faults += [f"`{n}` must be at least 1, got {getattr(c, n)}." for n in at_least_one if getattr(c, n) < 1]
    faults += [f"`k` must not be negative, got {c.k}."] if c.k < 0 else []
    for name in ("validation_share", "test_share"):
        if not 0 < getattr(c, name) < 1:
            faults.append(f"`{name}` must lie between 0 and 1, got {getattr(c, name)}.")
    tried(check_model, c.model, c.kind)
    faults += check_data(c.data, c.text, c.label, c.kind)
    return faults
