"""`secateur bench surrogate fit`, and what a fitted one says."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, StudyError, one_line
from secateur.paths import checked
from secateur.predictors.curves.noise import BAND
from secateur.report.rows import Column
from secateur.report.rows import Table as Shown
from secateur.report.text_table import table_blocks
from secateur.runs.bench.surrogate.settings import FitSettings
from secateur.runs.progress import Progress
from secateur.spaces.base import Space
from secateur.tables.curves.surrogate import CARD, CurveSurrogate
from secateur.tables.opening import open_table
from secateur.writing import check_writable


@dataclass(frozen=True)
class FittedSurrogate:
    """A surrogate in its folder."""

    folder: Path
    surrogate: CurveSurrogate

    def as_dict(self) -> dict[str, Any]:
        return {"folder": self.folder, **self.surrogate.card}

    def __str__(self) -> str:
        made = self.surrogate
        folder = self.folder if "/" in str(self.folder) else f"./{self.folder}"
        use = f"Search it: secateur bench search --table {folder}"
        if made.reading.features:
            use = f"Ask it: secateur bench surrogate query {folder}"
        numbers = made.model.members[0].components
        return (
            f"{made.ways} of {made.said['trainings']:,} trainings of {made.said['architectures']:,} networks; curves of "
            f"{len(made.budgets)} points ({', '.join(made.reading.metrics)}) as {numbers} numbers.\n{use}"
        )


def fit(table: str, settings: FitSettings, progress: Progress) -> FittedSurrogate:
    """Fit a surrogate to a table, and keep it in a folder.

    Raises DataError for a table that cannot be learnt from, ConfigurationError for settings out of range, StudyError for a
    folder that holds something else.
    """
    s = settings.check()
    if s.to.exists() and not (s.to / CARD).is_file() and any(s.to.iterdir()):
        raise StudyError(f"`{s.to}` holds something else than a surrogate. Give another folder.")
    opened = open_table(table)
    check_writable(s.to)
    with progress.bar("fitting") as advance:
        reading, ways = s.reading(opened), s.ways(opened.table.repeated)
        made = CurveSurrogate.fitted(opened, reading, ways, columns=s.column or (), members=s.members, seed=s.seed)
        advance(1, 1)
    made.write(s.to)
    return FittedSurrogate(s.to, made)


@dataclass(frozen=True)
class Answer:
    """The curves that a surrogate says of an architecture, by metric; with the noise of a `seed` where there is one."""

    architecture: Architecture
    seed: int | None
    budgets: list[float]
    curves: dict[str, list[float]]
    low: dict[str, list[float]]
    high: dict[str, list[float]]
    values: dict[str, float]

    def rows(self) -> list[dict[str, Any]]:
        """A row per budget: each metric, and the ends of the band in which nine of ten trainings lie by the model of noise."""
        found = []
        for place, budget in enumerate(self.budgets):
            row: dict[str, Any] = {"budget": budget}
            for name in self.curves:
                row |= {name: self.curves[name][place]}
                row |= {f"{name}_low": self.low[name][place], f"{name}_high": self.high[name][place]}
            found.append(row)
        return found

    def as_dict(self) -> dict[str, Any]:
        return {"architecture": self.architecture.as_dict(), "seed": self.seed, **self.values, "curve": self.rows()}

    def __str__(self) -> str:
        whole = all(budget == int(budget) for budget in self.budgets)
        columns = [Column("budget", "budget", "integer" if whole else "number")]
        for name in self.curves:
            columns += [Column(name, name, "score")]
            columns += [Column(f"{name}_{end}", share, "score") for end, share in (("low", "5 %"), ("high", "95 %"))]
        told = [f"{name}: {value:.4g}" for name, value in self.values.items()]
        return "\n".join([str(self.architecture), *told, *table_blocks(Shown(columns, self.rows()))[0]])


def query(folder: Path, architecture: str, seed: int | None, told: Sequence[str]) -> Answer:
    """What the surrogate of a folder says of an architecture, given as JSON or by a file with it.

    `told`: a number for each feature that it needs, as `name=number`. Raises StudyError, ConfigurationError.
    """
    made = CurveSurrogate.read(folder)
    asked = _architecture(made.space, architecture)
    features = _features(made, told)
    table = made.answers([asked], seed, features)
    curves = {name: curve[0].tolist() for name, curve in table.curves.items()}
    mean = {name: curve[0] for name, curve in made.answers([asked], None, features).curves.items()}
    deviation = made.deviation([asked], features)
    low, high = (
        {name: (mean[name] + side * BAND * deviation[0, place]).tolist() for place, name in enumerate(mean)} for side in (-1, 1)
    )
    values = {name: float(column[0]) for name, column in table.columns.items()}
    values |= {"seconds": float(table.seconds[0])} if table.seconds is not None else {}
    return Answer(asked, seed, made.budgets.tolist(), curves, low, high, values)


def _architecture(space: Space, text: str) -> Architecture:
    """The architecture that JSON says, or that of a file: with `choices`, or these alone. Raises ConfigurationError."""
    said = text
    try:
        if not text.lstrip().startswith("{"):
            said = checked(text, ConfigurationError).read_text(encoding="utf-8")
        found = json.loads(said)
        if (named := found.get("space", space.name)) != space.name:
            raise ConfigurationError(f"it is of the space `{named}`")
        return space.make(found.get("choices", found))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ConfigurationError) as error:
        what = f"the JSON of an architecture of `{space.name}`"
        raise ConfigurationError(f"`architecture` must be {what}, got `{said.strip()[:80]}`: {one_line(error)}.") from error


def _features(made: CurveSurrogate, told: Sequence[str]) -> np.ndarray | None:
    """The features (1, f) that were told. Raises ConfigurationError for other names and for what is no number."""
    wanted = [str(one) for one in made.reading.features]
    known: dict[str, float] = {}
    for text in told:
        name, _, value = text.partition("=")
        try:
            known[name] = float(value)
            if not math.isfinite(known[name]):
                raise ValueError(value)
        except ValueError:
            example = wanted[0] if wanted else "loss@250"
            raise ConfigurationError(f"`told` must be a name and a number such as {example}=3.5, got `{text}`.") from None
    missing, unknown = [name for name in wanted if name not in known], [name for name in known if name not in wanted]
    if missing:
        raise ConfigurationError(f"the surrogate also needs to be told {', '.join(missing)}: give --told {missing[0]}=NUMBER.")
    if unknown:
        reads = ", ".join(wanted) or "architectures alone"
        raise ConfigurationError(f"the surrogate does not read `{unknown[0]}`. It reads: {reads}.")
    return np.array([[known[name] for name in wanted]]) if wanted else None
