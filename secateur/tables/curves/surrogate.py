"""A surrogate that was fitted to the trainings of a table, and its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from secateur import __version__
from secateur.architecture import Architecture, digest
from secateur.catalogue import find
from secateur.encodings import Encoding
from secateur.encodings.learned import fingerprint
from secateur.errors import ConfigurationError, MissingExtraError, SecateurError, StudyError, one_line
from secateur.predictors.curves.ensemble import CurveEnsemble
from secateur.predictors.curves.model import Ways
from secateur.predictors.curves.regressors import Regressor
from secateur.rng import generator
from secateur.spaces.base import Space
from secateur.spaces.pool import whole
from secateur.tables.curves.material import Reading, different, encoding_of, inputs_of, known_curves
from secateur.tables.parquet import space_of
from secateur.tables.searchable import Reported, SearchTable
from secateur.tables.table import Table
from secateur.writing import open_weights, remove, write_whole

#: The layout of the folder and what its numbers mean: one that was written otherwise is not read.
VERSION = 2
CARD, SCALARS = "surrogate.json", "scalars"
#: The name of what a whole training takes.
SECONDS = "seconds"


@dataclass(frozen=True)
class CurveSurrogate:
    """Predicts the curves of a space's architectures, with noise where a seed is given; and further `scalars` without: the
    seconds of a training, and columns such as a latency, as logarithms.

    `said` is what the card says of the table that it was fitted to: space, options, objectives, directions, and which columns
    hold at the end of a training only; the fingerprint of the encoding where it was trained, and how many inputs models read.
    """

    space: Space
    reading: Reading
    ways: Ways
    model: CurveEnsemble
    budgets: np.ndarray
    scalars: tuple[str, ...]
    scalar_model: Regressor | None
    said: Mapping[str, Any]
    seed: int = 0

    @classmethod
    def fitted(
        cls,
        table: SearchTable,
        reading: Reading,
        ways: Ways,
        *,
        columns: Sequence[str] = (),
        members: int = 1,
        seed: int = 0,
    ) -> Self:
        """Fitted to all trainings of a table. Raises DataError, ConfigurationError."""
        known = known_curves(table, reading)
        scalars, targets = _scalars(different(table.table, reading.metrics), columns)
        regression = find("regressor", ways.regressor)
        scalar_model = regression.fitted(known.inputs, targets, seed) if scalars else None
        model = CurveEnsemble.fitted(known, ways, members, seed)
        kept = {name: table.said[name] for name in _TABLES if name in table.said}
        kept |= {
            "objectives": list(table.objectives),
            "maximise": list(table.maximise),
            "table": table.name,
            "trainings": len(known),
            "architectures": len(known.architectures),
            "final": [name for name in scalars if name in table.table.final],
            "trained": fingerprint(reading.encoding),
            "inputs": known.inputs.shape[1],
        }
        return cls(whole(table.space), reading, ways, model, known.budgets, scalars, scalar_model, kept, seed)

    @cached_property
    def encoding(self) -> Encoding:
        return encoding_of(self.reading.encoding, self.space)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that its answers depend on: its card, and what it says of a few architectures."""
        drawn = self.space.sample_many(20, generator(0, "fingerprint"))
        features = np.zeros((len(drawn), len(self.reading.features)))
        inputs = inputs_of(self.encoding, drawn, features)
        told = [self.model.mean(inputs), self.model.deviation(inputs)]
        told += [] if self.scalar_model is None else [self.scalar_model.predict(inputs)]
        return digest("curves 2", json.dumps(self.card, sort_keys=True), *(np.round(values, 6).tobytes() for values in told))

    def answers(
        self, architectures: Sequence[Architecture], seed: int | None = None, features: np.ndarray | None = None
    ) -> Table:
        """A table of what it says of these architectures, a training each: expected curves, or with the noise of a `seed`.

        The architectures must be of its space. Raises ConfigurationError where it needs features (n, f) that are not given.
        """
        inputs = self._inputs(architectures, features)
        curves = self.model.mean(inputs)
        if seed is not None:
            rngs = [generator(self.seed, "training", seed, architecture.key) for architecture in architectures]
            curves = curves + self.model.drawn(inputs, rngs)
        told = np.zeros((len(inputs), 0)) if self.scalar_model is None else np.exp(self.scalar_model.predict(inputs))
        columns = {name: told[:, place] for place, name in enumerate(self.scalars) if name != SECONDS}
        return Table(
            architectures,
            columns,
            {name: curves[:, place] for place, name in enumerate(self.reading.metrics)},
            self.budgets,
            told[:, self.scalars.index(SECONDS)] if SECONDS in self.scalars else None,
            seed=0 if seed is None else seed,
            final=tuple(self.said["final"]),
            where="the surrogate",
        )

    def deviation(self, architectures: Sequence[Architecture], features: np.ndarray | None = None) -> np.ndarray:
        """The deviations (n, m, b) of trainings from the expected curves."""
        return self.model.deviation(self._inputs(architectures, features))

    def _inputs(self, architectures: Sequence[Architecture], features: np.ndarray | None) -> np.ndarray:
        if features is None:
            if self.reading.features:
                listed = ", ".join(map(str, self.reading.features))
                raise ConfigurationError(f"the surrogate also needs to be told of each network: {listed}.")
            features = np.zeros((len(architectures), 0))
        return inputs_of(self.encoding, architectures, features)

    @property
    def card(self) -> dict[str, Any]:
        features = [asdict(one) for one in self.reading.features]
        reading = {"metrics": list(self.reading.metrics), "encoding": self.reading.encoding, "features": features}
        made = {"version": VERSION, "secateur": __version__, "ways": asdict(self.ways), "members": len(self.model.members)}
        return {
            **made,
            **reading,
            "budgets": self.budgets.tolist(),
            "scalars": list(self.scalars),
            "seed": self.seed,
            **self.said,
        }

    def write(self, folder: Path) -> None:
        """Write it into a folder, in the place of one that is there; the card last."""
        remove(folder / CARD)
        for part in [*folder.glob("member-*"), *folder.glob(f"{SCALARS}*")]:
            remove(part)
        self.model.write(folder)
        if self.scalar_model is not None:
            self.scalar_model.write(folder / SCALARS)
        open_weights(folder)
        for member in folder.glob("member-*"):
            open_weights(member)
        write_whole(json.dumps(self.card, indent=1, ensure_ascii=False) + "\n", folder / CARD)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The surrogate of a folder. Raises StudyError where there is none, of another version, or not whole."""
        card = read_card(folder)
        try:
            ways = Ways(**card["ways"])
            features = tuple(Reported(**one) for one in card["features"])
            reading = Reading(tuple(card["metrics"]), card["encoding"], features)
            space, scalars = space_of(card), tuple(card["scalars"])
            said = {name: card[name] for name in card if name not in _OWN}
            model = CurveEnsemble.read(folder, ways, int(card["members"]))
            scalar_model = find("regressor", ways.regressor).read(folder / SCALARS) if scalars else None
            budgets = np.asarray(card["budgets"], dtype=np.float64)
            found = cls(space, reading, ways, model, budgets, scalars, scalar_model, said, int(card["seed"]))
            lacking = [name for name in _SAID if name not in card]
        except (StudyError, MissingExtraError):
            raise
        except (KeyError, TypeError, ValueError, SecateurError) as error:
            raise StudyError(f"`{folder / CARD}` does not describe a surrogate: {one_line(error)}.") from error
        if lacking:
            raise StudyError(f"`{folder / CARD}` does not describe a surrogate: it lacks `{lacking[0]}`.")
        if fingerprint(reading.encoding) != card["trained"]:
            what = f"`{reading.encoding}` is another encoding than the one that the surrogate `{folder}` reads"
            raise StudyError(f"{what}. Fit the surrogate again.")
        if not found._fits(card["inputs"]):
            raise StudyError(f"`{folder / CARD}` does not fit the models beside it. Fit the surrogate again.")
        return found

    def _fits(self, inputs: int) -> bool:
        """Whether what the card says has the sizes of what the models read, as many `inputs`, and tell."""
        read = inputs_of(self.encoding, [self.space.smallest()], np.zeros((1, len(self.reading.features))))
        told = {(len(member.scale), member.steps) for member in self.model.members}
        scalars = 0 if self.scalar_model is None else self.scalar_model.outputs
        known = (read.shape[1], told, scalars)
        return known == (inputs, {(len(self.reading.metrics), len(self.budgets))}, len(self.scalars))


#: What of a table's metadata says which space it has.
_TABLES = ("space", "options", "shape", "limits")
#: What a card says in any case.
_SAID = ("objectives", "maximise", "table", "trainings", "architectures", "final", "trained", "inputs")
#: What of a card is the surrogate's own.
_OWN = ("version", "secateur", "ways", "members", "metrics", "encoding", "features", "budgets", "scalars", "seed")


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a surrogate's folder. Raises StudyError where there is none, or of another version."""
    path = folder / CARD
    if not path.is_file():
        raise StudyError(f"`{folder}` holds no surrogate: it has no {CARD}. `secateur bench surrogate fit` makes one.")
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
        version = card["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise StudyError(f"`{path}` is not the card of a surrogate.") from error
    if version != VERSION:
        raise StudyError(f"`{path}` is of version {version}, and version {VERSION} is read here. Fit the surrogate again.")
    found: dict[str, Any] = card
    return found


def _scalars(table: Table, columns: Sequence[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """The names of what is told beside curves, and their logarithms (n, s). Raises DataError, ConfigurationError."""
    values: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(columns):
        table.require(name)
        values[name] = table.column(name)
    if table.seconds is not None:
        values[SECONDS] = table.seconds if table.seconds.ndim == 1 else table.seconds[:, -1]
    for name, found in values.items():
        if not (np.isfinite(found) & (found > 0)).all():
            raise ConfigurationError(f"`{name}` must be known and above 0 for all networks of `{table.where}`.")
    return tuple(values), np.log(np.column_stack(list(values.values()))) if values else np.zeros((len(table), 0))
