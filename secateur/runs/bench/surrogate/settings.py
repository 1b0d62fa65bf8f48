"""The settings of `secateur bench surrogate fit` and `evaluate`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.catalogue import check_encoding, explained, listed, names
from secateur.paths import no_folder
from secateur.predictors.curves.model import Ways
from secateur.predictors.curves.noise import KernelDensity, Seeds
from secateur.runs.bench.asked import faults
from secateur.runs.bench.problem import measure
from secateur.runs.settings import SearchRunSettings
from secateur.settings import Settings, option, shared
from secateur.study.executors.settings import MOST_WORKERS, executor_faults
from secateur.tables.curves.material import Reading
from secateur.tables.searchable import SearchTable

#: The text's three noise models; `seeds` needs trainings with several seeds.
NOISES = ("kde", "deviation", "window")
#: Networks with several seeds that are enough to learn noise from.
REPEATED = 10


@dataclass(frozen=True, kw_only=True)
class CurveSettings(Settings):
    """How the trainings of a table are read."""

    metric: list[str] | None = option(None, "A curve of the table, such as loss; repeat it for several. By default all.")
    encoding: str | None = option(
        None,
        f"How architectures are read: {listed('encoding')}, or the folder of a trained one, with a slash in it. By default "
        "adjacency of cells, vector elsewhere.",
    )
    feature: list[str] | None = option(
        None,
        "A column that is told beside an architecture, such as parameters, or a curve at an early budget such as loss@250; "
        "repeat it for several. What is asked later must be told them, too.",
    )
    components: int | None = option(
        None, "Numbers that curves are compressed to; by default as many as predict best.", least=1, most=1000
    )
    seed: int = option(0, "The seed for everything random.", least=0, below=2**32)

    def contradictions(self) -> list[str]:
        found = super().contradictions()
        readings: list[Callable[[], Any]] = [lambda t=text: measure(t) for text in self.feature or ()]  # type: ignore[misc]
        if self.encoding is not None:
            readings.append(lambda: check_encoding(str(self.encoding)))
        return found + faults(readings)

    def reading(self, table: SearchTable) -> Reading:
        """Raises DataError, ConfigurationError for what the table lacks."""
        return Reading.of(table, self.metric or (), self.encoding, [measure(text) for text in self.feature or ()])


@dataclass(frozen=True, kw_only=True)
class FitSettings(CurveSettings):
    """The settings of `secateur bench surrogate fit`."""

    compressor: str = option("svd", f"{explained('compressor')}.", known=names("compressor"))
    regressor: str = option("lgb", f"{explained('regressor')}.", known=names("regressor"))
    noise: str | None = option(
        None,
        f"{explained('noise')}. By default seeds where at least {REPEATED} networks were trained with several, else kde.",
        known=names("noise"),
    )
    members: int = option(1, "Models, each of nine tenths of the networks; their mean counts.", least=1, most=100)
    column: list[str] | None = option(
        None,
        "A column that the surrogate shall predict, too, such as latency; repeat it for several. Seconds are always among "
        "them, where the table has them.",
    )
    to: Path = option(about="Folder for the surrogate.")

    def contradictions(self) -> list[str]:
        return super().contradictions() + no_folder(self.to)

    def ways(self, repeated: int) -> Ways:
        """The parts of a model of a table in which so many networks were trained with several seeds."""
        noise = self.noise or (Seeds.name if repeated >= REPEATED else KernelDensity.name)
        return Ways(self.compressor, self.regressor, noise, self.components)


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(CurveSettings):
    """The settings of `secateur bench surrogate evaluate`."""

    compressor: list[str] | None = option(
        None, f"{listed('compressor')}; repeat it for several. By default all.", known=names("compressor")
    )
    regressor: list[str] | None = option(
        None, f"{listed('regressor')}; repeat it for several. By default all.", known=names("regressor")
    )
    noise: list[str] | None = option(
        None, f"{listed('noise')}; repeat it for several. By default {', '.join(NOISES)}.", known=names("noise")
    )
    folds: int = option(5, "Parts of the networks; each is predicted by models of the others.", least=2, most=1000)
    draws: int = option(100, "Trainings that are drawn of a network whose noise is judged.", least=2, most=100_000)
    workers: int | None = option(None, "Processes that work side by side: by default one per core.", least=1, most=MOST_WORKERS)
    executor: str = shared(SearchRunSettings, "executor", panel=None)
    address: str | None = shared(SearchRunSettings, "address", panel=None)
    to: Path = option(Path("bench-surrogate"), "Folder for the results and the page; what is there is not done again.")

    def contradictions(self) -> list[str]:
        misplaced = executor_faults(self.executor, self.workers, self.address)
        return super().contradictions() + misplaced + no_folder(self.to)

    @property
    def noises(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.noise or NOISES))
