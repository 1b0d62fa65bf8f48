"""A run of `secateur design`, opened: its front and its architectures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.objectives import Objective
from secateur.report.gain import Gain, gain_of
from secateur.runs.design.settings import DesignSettings
from secateur.runs.folder import RunFolder
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_sizes import Sizes
from secateur.spaces.layer_scaling import base_of
from secateur.study import Front, Member
from secateur.trial import MEASURED, Trial

if TYPE_CHECKING:
    from secateur.runs.design.training import Trained


@dataclass(frozen=True, repr=False)
class DesignMember(Member):
    """An architecture of a design run. It has no weights until it is trained."""

    run: DesignRun = field(compare=False, repr=False)
    #: What was measured after the search and it did not go by: latency and memory, or those of later segments of a text.
    besides: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def values(self) -> Mapping[str, float]:
        return {**self.besides, **self.trial.values}

    @property
    def measured(self) -> bool:
        """Whether its latency was measured; else it is the latency model's."""
        return "latency_clock" in self.details or "latency" in self.besides

    @property
    def sizes(self) -> Sizes:
        """What a network of the run has beside its architecture."""
        found: Sizes = self.run.configuration.sizes()
        return found

    @property
    def gain(self) -> Gain:
        """How much faster and smaller it is than the published network of its backbone, where that was measured."""
        found = gain_of(self.run.whole, self.values, {})
        return replace(found, predicted=found.latency is not None and not self.measured)

    def build(self, *, seed: int = 0, dropout: float = 0.0) -> Any:
        """The network with random weights, ready to be trained."""
        from secateur.decoders import build

        return build(self.architecture, self.sizes, dropout=dropout, seed=seed)

    def train(self, text: str | Path, *, to: str | Path, progress: bool = False, **options: Any) -> Trained:
        """Train it on a text. `options` are the other settings of `secateur train`."""
        from secateur.runs.design.training import TrainSettings, train_architecture

        settings = TrainSettings(text=Path(text), to=Path(to), **options)
        return train_architecture(self.architecture, self.sizes, settings, progress=progress)


class DesignRun(RunFolder):
    """A run of `secateur design`."""

    settings = DesignSettings
    noun = "architecture"

    @property
    def about(self) -> str:
        c = self.configuration
        return f"{c.backbone} decoders for this {c.device}: {', '.join(o.name for o in self.objectives)}"

    @cached_property
    def space(self) -> Decoder:
        found: Decoder = self.configuration.space()
        return found

    @property
    def bounds(self) -> list[Objective]:
        found: list[Objective] = self.configuration.parsed_bounds()
        return found

    @property
    def searched(self) -> Front[DesignMember]:
        """The front as the search left it: with predicted latencies where there is a latency model."""
        return self._of([t for t in self.trials if t.origin != MEASURED])

    @property
    def front(self) -> Front[DesignMember]:
        """The front of what was measured; the search's own where nothing is measured after it, or not yet."""
        measured = [t for t in self.trials if t.origin == MEASURED]
        return self._of(measured) if any(t.complete for t in measured) else self.searched

    def member(self, key: str) -> DesignMember:
        """The architecture with this key, or the beginning of one: of the measured ones, else of all that were tried."""
        front = self.front if any(m.key.startswith(key) for m in self.front.pool) else self.searched
        found: DesignMember = self._member(front, key)
        return found

    def _of(self, trials: list[Trial]) -> Front[DesignMember]:
        besides, later = (dict(self.store.get_meta(name, {})) for name in ("measured", "later"))
        front = Front.of(trials, self.objectives, {})
        return front.map(lambda t: DesignMember(t, self, {**besides.get(t.key, {}), **later.get(t.key, {})}), self.whole)

    @property
    def whole(self) -> dict[str, float]:
        """The values of the backbone's published network, which relative bounds (`speedup=2x`, `memory=50%`) refer to; empty
        where no baselines were measured."""
        return next((dict(row["values"]) for row in self.baselines if row["name"] == self.published), {})

    @property
    def published(self) -> str:
        """What the published network of the backbone is called."""
        found = base_of(self.configuration.backbone)
        return found.title(found.layers)

    @property
    def baselines(self) -> list[dict[str, Any]]:
        """The layer-scaled baselines, measured: name, family, layers, architecture, values."""
        return list(self.store.get_meta("baselines", []))
