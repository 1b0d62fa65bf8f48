"""A run of `secateur design`, opened: its front, its architectures, its report."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.objectives import Objective
from secateur.runs.design.settings import DesignConfiguration
from secateur.runs.folder import RunFolder
from secateur.runs.progress import Progress
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_sizes import Sizes
from secateur.study import Front, Member, Trial

if TYPE_CHECKING:
    from secateur.runs.design.stages import DesignStages
    from secateur.runs.design.training import Trained

#: The origin of trials whose latency was predicted in the search and measured after it.
MEASURED = "measured"


@dataclass(frozen=True)
class DesignMember(Member):
    """An architecture of a design run. It has no weights until it is trained."""

    run: DesignRun | None = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> str:
        return self.architecture.key

    @property
    def measured(self) -> bool:
        """Whether its latency was measured; else it is the latency model's."""
        return "latency_clock" in self.details

    def build(self, *, seed: int = 0, dropout: float = 0.0) -> Any:
        """The network with random weights, ready to be trained."""
        from secateur.decoders import build

        return build(self.architecture, self.network, dropout=dropout, seed=seed)

    @property
    def network(self) -> Sizes:
        """What a network of the run has beside its architecture."""
        assert self.run is not None
        found: Sizes = self.run.configuration.network()
        return found

    def train(self, text: str | Path, *, to: str | Path, progress: bool = False, **options: Any) -> Trained:
        """Train it on a text. `options` are the other settings of `secateur train`."""
        from secateur.runs.design.training import TrainSettings, train_architecture

        settings = TrainSettings(text=Path(text), to=Path(to), **options)
        return train_architecture(self.architecture, self.network, settings, progress=progress)


class DesignRun(RunFolder):
    """A run of `secateur design`."""

    settings = DesignConfiguration
    noun = "architecture"

    @property
    def about(self) -> str:
        c = self.configuration
        return f"{c.backbone} decoders for this {c.device}: {', '.join(o.name for o in self.objectives)}"

    def stages(self, progress: Progress) -> DesignStages:
        from secateur.runs.design.stages import DesignStages

        return DesignStages(self, progress)

    @cached_property
    def space(self) -> Decoder:
        found: Decoder = self.configuration.space()
        return found

    @property
    def bounds(self) -> list[Objective]:
        found: list[Objective] = self.configuration.bounds_parsed()
        return found

    @property
    def searched(self) -> Front[DesignMember]:
        """The front as the search left it: with predicted latencies where there is a latency model."""
        return self._of([t for t in self.trials if t.origin != MEASURED])

    @property
    def front(self) -> Front[DesignMember]:
        """The front of what was measured; the search's own where nothing is measured after it, or not yet."""
        measured = [t for t in self.trials if t.origin == MEASURED]
        if any(t.status == "complete" for t in measured):
            return self._of(measured)
        return self.searched

    def member(self, key: str) -> DesignMember:
        """The architecture with this key, or the beginning of one: of the measured ones, else of all that were tried."""
        front = self.front if any(m.key.startswith(key) for m in self.front.pool) else self.searched
        found: DesignMember = self._member(front, key)
        return found

    def _of(self, trials: list[Trial]) -> Front[DesignMember]:
        found = Front.of(trials, self.objectives, {})
        return found.map(lambda m: DesignMember(m.architecture, m.values, m.details, m.trial, self))

    @property
    def baselines(self) -> list[dict[str, Any]]:
        """The layer-scaled baselines, measured: name, family, layers, architecture, values."""
        return list(self.store.get_meta("baselines", []))

    @property
    def latency_model(self) -> dict[str, Any] | None:
        """The latency model's coefficients and its errors, or None where every candidate was measured."""
        found: dict[str, Any] | None = self.store.get_meta("latency_model")
        return found
