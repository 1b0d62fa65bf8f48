"""Several architectures of a design run begin to be trained, and the one that promises the most goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.architecture import Architecture
from secateur.catalogue import find
from secateur.errors import ConfigurationError
from secateur.runs.design.training import UNFINISHED, Trained, TrainSettings, begin_architecture, train_architecture
from secateur.runs.progress import Progress
from secateur.search.stopping import Stopping
from secateur.spaces.decoder_sizes import Sizes
from secateur.writing import discard

if TYPE_CHECKING:
    from secateur.training.text_trainer import TextResult

#: In the folder that a training is written to: those that have begun.
CANDIDATES = "candidates"


@dataclass(frozen=True)
class Contest:
    """Architectures with their sizes, and after which share of a training its end is told by which extrapolator."""

    several: Sequence[tuple[Architecture, Sizes]]
    stopping: Stopping

    @classmethod
    def of(cls, several: Sequence[tuple[Architecture, Sizes]], stop_early: str) -> Contest:
        """Raises ConfigurationError for an extrapolator that learns from whole trainings: there are none."""
        stopping = Stopping.parse(stop_early)
        needs = find("extrapolator", stopping.extrapolator).needs
        if needs:
            raise ConfigurationError(
                f"`stop_early` cannot be {stopping.extrapolator} here: it learns from at least {needs} whole trainings. "
                "Use last or wpm."
            )
        return cls(several, stopping)

    def train(self, settings: TrainSettings, *, progress: bool = False) -> Trained:
        """Begin all, each in a folder of its own, and train the most promising to its end in `settings.to`.

        What was stopped goes on: it is known from the folder who has begun, and who was chosen.
        """
        folder = Path(settings.to)
        known = {architecture.key: (architecture, sizes) for architecture, sizes in self.several}
        chosen = known.get(_chosen(folder) or "")
        if chosen is None:
            best = self._best(folder, settings, progress)
            chosen = known[best]
            (folder / CANDIDATES / best / UNFINISHED).rename(folder / UNFINISHED)
        discard(folder / CANDIDATES)
        return train_architecture(*chosen, settings, progress=progress)

    def _best(self, folder: Path, settings: TrainSettings, progress: bool) -> str:
        """The key of the architecture with the lowest loss that is predicted for its end."""
        ends: dict[str, float] = {}
        say: Callable[[str], None] = Progress(progress).say
        for number, (architecture, sizes) in enumerate(self.several, 1):
            own = replace(settings, to=folder / CANDIDATES / architecture.key)
            result = begin_architecture(architecture, sizes, own, until=self.stopping.few, progress=progress)
            ends[architecture.key] = self._end(result, settings)
            at = f"loss {result.loss:.3f} after {result.steps:,} steps, {ends[architecture.key]:.3f} expected in the end"
            say(f"{number} of {len(self.several)}, {architecture}: {at}")
        return min(ends, key=ends.__getitem__)

    def _end(self, result: TextResult, settings: TrainSettings) -> float:
        """The loss that is predicted for the end of a training."""
        from secateur.training.text_trainer import curve_steps

        losses = np.array([point.validation_loss for point in result.curve])
        budgets = [point.step for point in result.curve]
        whole = settings.steps if settings.steps is not None else round(budgets[-1] / self.stopping.few)
        later = [step for step in curve_steps(whole, settings.evaluations) if step > budgets[-1]] or [whole]
        model = find("extrapolator", self.stopping.extrapolator)(np.array([*budgets, *later], dtype=float), len(losses))
        return float(model.predict(np.zeros((1, 0)), losses[None])[0][0])


def _chosen(folder: Path) -> str | None:
    """The key of the architecture whose training goes on in a folder, where one does."""
    try:
        said: dict[str, Any] = json.loads((folder / UNFINISHED / "settings.json").read_text(encoding="utf-8"))
        return Architecture.from_json(said["architecture"]).key
    except (OSError, ValueError, KeyError, TypeError):
        return None
