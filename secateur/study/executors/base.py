"""What an executor is: trials go in, outcomes come out as they are ready, each exactly once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import TracebackType
from typing import Any, Self

import numpy as np

from secateur.errors import ConfigurationError
from secateur.estimators.together import Known, Outcome, Together
from secateur.trial import Trial


@dataclass(frozen=True)
class Recipe:
    """How a worker makes its own estimators: a function ("module:function") that returns a `Together`, and its arguments.

    `arguments` are plain JSON, `arrays` numpy's. Nothing that lives in one process is passed to another: no store, no network.
    """

    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    def make(self) -> Together:
        """The estimators, made here. Raises ConfigurationError where there is no such function."""
        module, _, name = self.function.partition(":")
        try:
            function = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ConfigurationError(f"`{self.function}` is not a function that makes estimators: {error}.") from error
        made: Together = function(**self.arguments, **self.arrays)
        return made


class Executor(ABC):
    """Evaluates up to `workers` trials at once. Use it as a context: leaving it ends what it has started."""

    workers: int = 1

    @abstractmethod
    def submit(self, trial: Trial, known: Known, extras: bool) -> None:
        """Begin a trial. `known` is what the store has of its architecture; `extras`: whether free results are wanted."""

    @abstractmethod
    def take(self) -> Outcome:
        """The next outcome that is ready; waits for one. Raises the SecateurError that ended a trial's evaluation."""

    def close(self) -> None:  # noqa: B027 - some have nothing to close
        """End what was started; no outcome of it comes any more. What is submitted afterwards starts anew."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
