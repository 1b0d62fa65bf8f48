"""What a pruning run measures: a sample of sub-networks for its latency model, the front, and the formats to ship."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from secateur.architecture import Architecture, digest
from secateur.devices.device import describe_device, resolve_device
from secateur.devices.setup import Setup
from secateur.errors import MissingExtraError
from secateur.estimators.base import Estimator
from secateur.estimators.building import BuildOnce
from secateur.estimators.generation import GenerationEstimator
from secateur.estimators.latency_model import LatencyModel, PredictedLatency
from secateur.estimators.latency_sample import Fitting
from secateur.estimators.measuring import measuring
from secateur.estimators.pruned_latency import PrunedParts
from secateur.estimators.together import Together
from secateur.estimators.turns import measure_in_turns
from secateur.export.verify import longest_text
from secateur.paths import quoted
from secateur.runs.prune.formats import MOST, compare_formats
from secateur.runs.prune.run import PruneRun
from secateur.runs.stages import SearchWork
from secateur.spaces.pruning import Layer, plan_of
from secateur.supernet import Supernet
from secateur.tasks import TaskData

#: Seconds in which one latency is measured, at most; in how many turns after the search, and in how many seconds all then.
SECONDS, TURNS, ALL_SECONDS = 2.0, 3, 60.0
#: Tokens that a language model writes when its generation is timed.
TOKENS = 16
#: The stage that fits the latency model; how many networks that is fitted to, and tested on.
FIT, FITTED, HELD_OUT = "latency model", 24, 8


class Measuring(SearchWork):
    """A pruning run as far as it measures."""

    run: PruneRun
    data: TaskData
    supernet: Supernet
    device: str
    #: Tokens of a measured sequence.
    length: int
    #: A space without bounds: its largest member is the unpruned network, whatever the run's own space allows.
    layers: Layer

    @property
    def _timed(self) -> bool:
        """Whether the search goes by latency."""
        return "latency" in [o.name for o in self.run.objectives]

    def _build(self, architecture: Architecture) -> Any:
        """The sub-network as a user would load it, of whatever space."""
        return self.supernet.extract(plan_of(architecture, self.supernet.shape))

    def _setup(self, length: int, seconds: float) -> Setup:
        c = self.c
        return Setup(
            device=self.device,
            threads=c.threads,
            batch=c.latency_batch,
            length=length,
            kind=self.data.task.kind,
            seconds=seconds,
        )

    def _measuring(self, names: Sequence[str], seconds: float = SECONDS) -> list[Estimator]:
        """Estimators for those of latency and memory that are named."""
        identity = digest(str(self.supernet.model.config.to_dict()))
        return measuring(names, BuildOnce(self._build), self._setup(self.length, seconds), identity=identity)

    def _costs(self, names: Sequence[str]) -> list[Estimator]:
        """Estimators for those of latency and memory that are named: as the latency model predicts it, and measured."""
        found = self._measuring([name for name in names if name != "latency"])
        if (model := self.latency_model) is not None:
            found.append(PredictedLatency(model))
        return found

    @property
    def latency_model(self) -> LatencyModel | None:
        """What predicts latencies, where the search goes by them."""
        if not self._timed:
            return None
        model = LatencyModel.from_dict(self.store.get_meta("latency_model"), PrunedParts(self.supernet.shape))
        model.check(self._setup(self.length, SECONDS))
        return model

    def fit(self) -> None:
        """Measure some sub-networks, and fit what their parts cost."""
        fitting = Fitting(networks=FITTED, held_out=HELD_OUT, seconds=self.c.fit_seconds, seed=self.c.seed)
        with self.progress.bar("fitting the latency model") as advance:
            setup = self._setup(self.length, SECONDS)
            model = LatencyModel.fit(self._build, PrunedParts(self.supernet.shape), setup, fitting, advance)
        self.store.set_meta("latency_model", model.to_dict())
        self.log.write(FIT, **model.to_dict()["report"])
        self.note(f"Latencies in the search are predicted by a {model.report}.")

    def measure(self) -> None:
        """Latency and memory of the unpruned network and of all that the fronts hold, in turns: what can be chosen by them."""
        whole = self.layers.largest()
        chosen = {m.key: m.architecture for m in (*self.run.searched, *self.run.front)}
        several = [whole, *chosen.values()]
        (latency,) = self._measuring(["latency"], min(SECONDS, ALL_SECONDS / len(several)) / TURNS)
        with self.progress.bar("measuring on this machine") as advance:
            timed = measure_in_turns(
                latency,
                several,
                turns=TURNS,
                found=dict(self.store.get_meta("timed", {})),
                save=lambda found: self.store.set_meta("timed", found),
                advance=advance,
            )
        others = Together([*self._measuring(["memory"]), *self._generating()], patient=True)
        measured = self.run.measured
        for architecture in several:
            key = "unpruned" if architecture is whole else architecture.key
            if key not in measured:
                (found,) = others.evaluate([architecture])
                entry = timed[architecture.key]
                measured[key] = {**entry.get("values", {}), **found.values}
                self._say_faults(architecture, [entry.get("failure"), found.reason], entry.get("details", {}))
                self.store.set_meta("measured", measured)
        self.store.set_meta("device", describe_device(resolve_device(self.c.device)))
        self._say_prediction()
        self._warn_of_embeddings()

    def _say_prediction(self) -> None:
        """How far the latencies that the search went by are from those measured, and whether bounds still hold."""
        front = self.run.front
        errors = [member.prediction_error for member in front.pool if member.prediction_error is not None]
        if not errors:
            return
        self.log.write("latencies predicted and measured", networks=len(errors), median=median(errors), highest=max(errors))
        off = f"off by {100 * median(errors):.1f} % in the median, {100 * max(errors):.1f} % at most"
        self.note(f"The predicted latencies of {len(errors)} networks that were then measured were {off}.")
        if any(o.violated(member.values, front.whole) for member in front for o in self.run.objectives):
            self.note("No network meets the bounds on latency when it is measured: those of the front come nearest.")

    def _say_faults(self, architecture: Architecture, reasons: Sequence[str | None], details: Mapping[str, Any]) -> None:
        for reason in filter(None, reasons):
            self.note(f"{architecture} could not be measured: {reason}.")
        if details.get("latency_loaded"):
            self.note("The machine was busy with other work while latencies were measured, so they are too high.")

    def _generating(self) -> list[Estimator]:
        """For a language model, the latencies of a prompt and of each token after it."""
        if self.data.task.kind != "language_modelling":
            return []
        room = longest_text(self.supernet.model.config) - TOKENS
        return (
            [GenerationEstimator(self._build, self._setup(min(self.length, room), SECONDS / TURNS), TOKENS)] if room > 0 else []
        )

    def _warn_of_embeddings(self) -> None:
        """Where embeddings and head outweigh the layers, cutting layers cannot gain much: say so."""
        body, whole = self.run.unpruned["body_parameters"], self.run.unpruned["parameters"]
        if body < 0.5 * whole:
            self.note(
                f"Embeddings and head have {100 * (1 - body / whole):.0f} % of all parameters and are not pruned: a network "
                f"with half of the layers' parameters still has {100 * (1 - 0.5 * body / whole):.0f} % of all."
            )

    def formats(self) -> None:
        """The networks that the report names, and the unpruned one, in every format that can be shipped."""
        later = f"To compare formats later: secateur report {quoted(self.folder)} --formats"
        if self.run.unpruned["parameters"] > MOST:
            self.note(f"Formats are not compared: exporting a network of this size takes long. {later}")
            return
        try:
            for reason in compare_formats(self.run, self.progress):
                self.note(reason)
        except MissingExtraError as error:
            self.note(f"Formats are not compared: {error} {later}")
