"""A model of curves, fitted to most networks of a table and judged on the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from secateur.architecture import digest
from secateur.catalogue import find
from secateur.encodings.learned import fingerprint
from secateur.predictors.curves.known import Known
from secateur.predictors.curves.model import CurveModel, Ways
from secateur.predictors.curves.noise import BAND
from secateur.predictors.curves.scores import divergence
from secateur.rng import generator
from secateur.tables.curves.material import Reading, known_curves
from secateur.tables.searchable import SearchTable


class Subject:
    """The trainings of a table, and in which parts they are held out. Raises DataError, ConfigurationError."""

    def __init__(self, table: SearchTable, reading: Reading, folds: int, seed: int) -> None:
        self.table, self.reading, self.count, self.seed = table, reading, folds, seed
        self.known = known_curves(table, reading)

    @cached_property
    def folds(self) -> list[tuple[Known, Known]]:
        order = generator(self.seed, "folds").permutation(len(self.known.architectures))
        return self.known.folds(min(self.count, len(order)), order)

    @property
    def repeated(self) -> int:
        """How many architectures were trained with several seeds."""
        return self.known.repeated

    @cached_property
    def fingerprint(self) -> str:
        trained = fingerprint(self.reading.encoding) or ""
        return digest("curves", self.table.table.fingerprint, str(self.reading), str((self.count, self.seed)), trained)


@dataclass(frozen=True)
class Judgement:
    """Compressor and regressor, fitted to all parts but one; and several models of noise, of which `draws` trainings each are
    drawn for networks that were trained several times."""

    subject: Subject
    compressor: str
    regressor: str
    noises: Sequence[str]
    components: int | None
    draws: int
    fold: int

    @property
    def cell(self) -> str:
        """A digest of all that its result depends on."""
        asked = (self.compressor, self.regressor, tuple(self.noises), self.components, self.draws, self.fold)
        return digest("judgement 2", self.subject.fingerprint, str(asked))

    def run(self) -> list[dict[str, Any]]:
        """A row per network held out and metric: its true curve (the mean over its trainings), the predicted one, and by noise
        the deviation at each step, the share of its trainings within the band of nine of ten, and the divergence of drawn
        trainings from true ones, where there are several."""
        learnt, held_out = self.subject.folds[self.fold]
        seed = self.subject.seed
        ways = Ways(self.compressor, self.regressor, self.noises[0], self.components)
        model = CurveModel.fitted(learnt, ways, seed)
        rebuilt = model.rebuilt(learnt.curves)
        noises = {name: find("noise", name).fitted(learnt, rebuilt) for name in self.noises}
        means = held_out.means()
        predicted = model.mean(means.inputs)
        deviations = {name: noise.deviation(means.inputs) for name, noise in noises.items()}
        said: dict[str, Any] = {"compressor": self.compressor, "regressor": self.regressor, "fold": self.fold}
        said["components"] = model.components
        rows = []
        for place, (key, trainings) in enumerate(held_out.architectures.items()):
            diverged = self._diverged(noises, means.inputs[place], predicted[place], held_out.curves[trainings], key)
            lacking = np.abs(held_out.curves[trainings] - predicted[place])
            for number, metric in enumerate(held_out.metrics):
                row = {**said, "metric": metric, "key": key, "trainings": len(trainings)}
                row |= {"true": means.curves[place, number].tolist(), "predicted": predicted[place, number].tolist()}
                for name in self.noises:
                    deviation = deviations[name][place, number]
                    row[f"deviation {name}"] = deviation.tolist()
                    row[f"within {name}"] = (lacking[:, number] <= BAND * deviation).mean(axis=0).tolist()
                    row[f"divergence {name}"] = diverged[name][number].tolist() if name in diverged else None
                rows.append(row)
        return rows

    def _diverged(
        self, noises: dict[str, Any], inputs: np.ndarray, predicted: np.ndarray, trainings: np.ndarray, key: str
    ) -> dict[str, np.ndarray]:
        """Noise → the divergence (m, b) of drawn trainings from true ones (s, m, b); nothing of one training alone."""
        if len(trainings) < 2:
            return {}
        several = np.repeat(inputs[None], self.draws, axis=0)
        found = {}
        for name, noise in noises.items():
            rngs = [generator(self.subject.seed, "draws", key, number) for number in range(self.draws)]
            drawn = predicted + noise.draw(several, rngs)
            found[name] = np.stack([divergence(trainings[:, m], drawn[:, m]) for m in range(trainings.shape[1])])
        return found
