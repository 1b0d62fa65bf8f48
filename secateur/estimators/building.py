"""Building the network to measure: once for all estimators that measure it in turn, and gone afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import nn

from secateur.architecture import Architecture
from secateur.errors import EvaluationFailure
from secateur.estimators.base import Evaluation

#: Builds the physically small network of an architecture.
Build = Callable[[Architecture], nn.Module]


class BuildOnce:
    """A builder that keeps the last network it built, so that latency and memory of one architecture build it once.

    For estimators that only run the network: one that trains it would hand its changes to the next.
    """

    def __init__(self, build: Build) -> None:
        self._build = build
        self._key: str | None = None
        self._network: nn.Module | None = None

    def __call__(self, architecture: Architecture) -> nn.Module:
        if self._network is None or self._key != architecture.key:
            self.clear()  # two networks at once may not fit
            self._network = self._build(architecture)
            self._key = architecture.key
        return self._network

    def clear(self) -> None:
        """Let go of the network."""
        self._key, self._network = None, None


def measured(
    build: Build, architectures: Sequence[Architecture], measure: Callable[[nn.Module], Evaluation]
) -> list[Evaluation]:
    """`measure` of each architecture's network, one at a time. One that cannot be built or run is a failure with its reason.

    Errors that the user must mend (a length that no network here can take) are raised: they would fail every trial.
    """
    evaluations = []
    for architecture in architectures:
        try:
            evaluations.append(measure(build(architecture).eval()))
        except (RuntimeError, MemoryError, ValueError, EvaluationFailure) as error:  # out of memory on a GPU is a RuntimeError
            evaluations.append(Evaluation(failure=f"{type(error).__name__}: {error}"))
    return evaluations
