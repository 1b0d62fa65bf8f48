"""A run of `secateur prune`, opened: its front, its sub-networks, its weights."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.architecture import Architecture
from secateur.catalogue import find
from secateur.errors import StudyError
from secateur.methods.base import TRIALS
from secateur.objectives import ERROR, PERPLEXITY, kept_share, scored
from secateur.paths import quoted
from secateur.report.gain import Gain, gain_of
from secateur.runs.folder import RunFolder
from secateur.runs.prune.member import MEMBERS, PruneMember
from secateur.runs.prune.prediction import Prediction
from secateur.runs.prune.settings import PruneSettings
from secateur.settings import shown
from secateur.spaces.pruning import Large, Plan, Shape, plan_of
from secateur.study import Front, Journal
from secateur.tasks.chance import ABOUT
from secateur.tasks.task import IMAGES
from secateur.trial import MASKS, POLISH, Trial

if TYPE_CHECKING:
    from secateur.spaces.pruning import PruningSpace
    from secateur.supernet import Supernet

__all__ = ["KEPT", "MEMBERS", "SUPERNET", "PruneMember", "PruneRun"]

#: Where in its folder a run of `secateur prune` has its network.
SUPERNET = "supernet"
#: The share of what the unpruned network learned above chance that the network named first in every report keeps.
KEPT = 0.9


class PruneRun(RunFolder):
    """A run of `secateur prune`."""

    settings = PruneSettings
    noun = "sub-network"
    _prediction: Prediction | None = None

    @property
    def about(self) -> str:
        return f"{self.configuration.model} on {self.configuration.data}"

    @property
    def unpruned_test(self) -> dict[str, float] | None:
        """The unpruned network's metrics on the test set."""
        found: dict[str, float] | None = self.store.get_meta("unpruned_test")
        return found

    @property
    def tests(self) -> dict[str, dict[str, float]]:
        """Key → metrics on the test set, with shared weights."""
        return dict(self.store.get_meta("tests", {}))

    @property
    def measured(self) -> dict[str, dict[str, float]]:
        """Key → latency and memory of the front's networks, and of the unpruned one (`unpruned`)."""
        return dict(self.store.get_meta("measured", {}))

    @property
    def polished(self) -> dict[str, Trial]:
        """Key → the polished result."""
        return {t.key: t for t in self.trials if t.origin == POLISH}

    @property
    def searched(self) -> Front[PruneMember]:
        """The front before polishing."""
        return Front.of(self.trials, self.objectives, self.unpruned).map(lambda t: PruneMember(t, self))

    @property
    def own(self) -> bool:
        """Whether trials have weights of their own."""
        return bool(self.store.get_meta("own", False))

    def rows(self) -> list[dict[str, Any]]:
        """The front, for other programs."""
        report = find("report", self.configuration.verb)(self)
        return [report.plain_row(member) for member in self.front]

    def network(self, supernet: Supernet, trial: Trial) -> Any:
        """The network of a trial with the weights that the search scored it with."""
        from secateur.estimators.own_weights import with_weights

        network = supernet.extract(self.plan(trial.architecture))
        return with_weights(network, self.folder / SUPERNET / TRIALS / trial.key) if self.has_own(trial) else network

    def plan(self, architecture: Architecture) -> Plan:
        """The heads and units that an architecture of whatever space keeps, layer by layer."""
        return plan_of(architecture, Shape(**self.shape))

    def has_own(self, trial: Trial) -> bool:
        """Whether a trial has weights of its own: that of a method that trains them, or of tuned masks."""
        return self.own or trial.origin == MASKS

    @property
    def front(self) -> Front[PruneMember]:
        """The Pareto set of what can be had: every sub-network whose weights are kept, with the better of them. Where latencies
        were predicted, of those that were measured since, and the bounds hold for what was measured."""
        trials, tests, measured = self.trials, self.tests, self.measured
        polished = {t.key: t for t in trials if t.origin == POLISH}
        pool = Front.of(trials, self.objectives, self.unpruned).pool
        if self.own:
            kept = {path.parent.name for path in (self.folder / SUPERNET / TRIALS).glob("*/*.safetensors")}
            pool = tuple(t for t in pool if t.key in kept)
        members = [PruneMember(t, self, tests.get(t.key), polished.get(t.key), measured.get(t.key, {})) for t in pool]
        timed = [m for m in members if m.prediction_error is not None]
        whole = self.whole
        within = [m for m in timed if not any(o.violated(m.values, whole) for o in self.objectives)]
        return Front(within or timed or members, self.objectives, self.unpruned, members, whole=whole)

    @property
    def whole(self) -> dict[str, float]:
        """The unpruned network's values, those measured after the search included."""
        measured = self.measured.get("unpruned", {})
        return {**measured, **self.unpruned, **(measured if self.latency_model is not None else {})}

    @property
    def measured_on(self) -> str:
        """What latency and memory were measured with."""
        c = self.configuration
        where = str(self.store.get_meta("device", c.device))
        threads = f", {c.threads} thread{'' if c.threads == 1 else 's'}" if where.startswith("cpu") else ""
        return f"{where}{threads}, batch {c.latency_batch}" + (
            "" if self.on_images else f" of at most {c.latency_length} tokens"
        )

    @property
    def chance(self) -> dict[str, dict[str, float]] | None:
        """Split → metrics of the best answer that ignores its input; None in runs of versions that did not ask."""
        found: dict[str, dict[str, float]] | None = self.store.get_meta("chance")
        return found

    @property
    def quality(self) -> str:
        """What says how good a sub-network is: `error`, or a language model's `perplexity` where that is the objective."""
        return self.objectives[0].name

    def score(self, found: Mapping[str, float] | None) -> float | None:
        """What was found of a network in the run's metric: 1 − error, or the perplexity; None where it is not known."""
        value = (found or {}).get(self.quality)
        return None if value is None else scored(self.quality, value)

    @property
    def chance_score(self) -> float | None:
        """The same of chance, on validation data."""
        return self.score(self.chance["validation"]) if self.chance else None

    def above_chance(self, values: Mapping[str, float]) -> bool:
        """Whether what was found on validation data is better than chance; also where chance is not known."""
        chance = self.chance
        return chance is None or values[self.quality] < chance["validation"][self.quality]

    @property
    def doubt(self) -> str | None:
        """What to say loudly where the unpruned network itself is not better than chance; else None."""
        found, chance = self.score(self.unpruned), self.chance_score
        if found is None or chance is None or self.above_chance(self.unpruned):
            return None
        return (
            "WARNING: the unpruned network has learned nothing: "
            f"{self.metric.replace('_', ' ')} {found:.3f} on validation data, and "
            f"{ABOUT[self.task['kind']]} gives {chance:.3f}. No result of this run is meaningful. "
            f"Check {'the labels' if self.on_images else 'text and label columns'}, give more data or --epochs, or another "
            "--learning-rate."
        )

    def kept(self, values: Mapping[str, float]) -> float:
        """The share that is left of what the unpruned network learned above chance, by validation data."""
        return kept_share(self.quality, {} if self.chance is None else self.chance["validation"], self.unpruned, values)

    @property
    def headline(self) -> PruneMember | None:
        """The sub-network to name first: the fastest (the smallest, where nothing was measured) that keeps `KEPT` of what the
        unpruned network learned above chance, by validation data. None where there is none."""
        good = [m for m in self.front if m.above_chance and self.kept(m.values) >= KEPT]
        timed = [m for m in good if "latency" in m.values]
        cost = "latency" if timed else "body_parameters"
        return min(timed or good, key=lambda m: (m.values[cost], m.values[self.quality]), default=None)

    def gain(self, values: Mapping[str, float], test: Mapping[str, float] | None, predicted: Mapping[str, float]) -> Gain:
        """From the unpruned network to one with these values: on test data where both were tested, else on validation data."""
        before, chance = self.unpruned_test, self.chance or {}
        tested = bool(test and before)
        pair = (before, test) if tested else (self.unpruned, values)
        data = "test" if tested else "validation"
        scores: dict[str, Any] = {"metric": self.metric, "data": data, "chance": self.score(chance.get(data))}
        for name, field in ((ERROR, "score"), (PERPLEXITY, "perplexity")):
            known = [scored(name, found[name]) for found in pair if found and name in found]
            if len(known) == len(pair) and (name == PERPLEXITY or self.quality == ERROR):
                scores[field] = tuple(known)
        return gain_of(self.whole, values, scores, predicted)

    def predict(self, architecture: Architecture) -> dict[str, float]:
        """Latency and memory of a sub-network that was not measured, from those that were; empty where they are too few."""
        measured = self.measured
        if self._prediction is None or self._prediction.measured != measured:  # a run that is watched goes on
            self._prediction = Prediction(Shape(**self.shape), {t.key: t.architecture for t in self.trials}, measured)
        return self._prediction.of(architecture)

    @cached_property
    def shape(self) -> dict[str, int]:
        found = self.store.get_meta("shape")
        if found is None:
            raise StudyError(
                f"`{self.folder}` has not reached its model yet. Continue with: secateur resume {quoted(self.folder)}"
            )
        if max(found.values()) > 10_000_000 or min(found.values()) < 1:
            raise StudyError(f"the study of `{self.folder}` is damaged: there is no network with {shown(found)}.")
        return dict(found)

    @cached_property
    def space(self) -> PruningSpace:
        space: PruningSpace = find("space", str(self.configuration.space))(Shape(**self.shape), **self.configuration.limits())
        return space

    def holds(self, architecture: Architecture) -> bool:
        """Also what masks keep, whatever the space of the search."""
        return super().holds(architecture) or Large(self.space.shape).contains(architecture)

    @cached_property
    def supernet(self) -> Supernet:
        """The network that holds all sub-networks, as the run's method left it."""
        from secateur.checkpoints import load
        from secateur.supernet import Supernet

        if not Journal(self.store).done(find("method", self.configuration.method).keeps):
            raise StudyError(
                f"the network of `{self.folder}` is not ready yet. Continue with: secateur resume {quoted(self.folder)}"
            )
        return Supernet(load(self.folder / SUPERNET))

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer; for a model that reads images the `ImageProcessor`."""
        from secateur.checkpoints.processors import processor_of

        return processor_of(str(self.folder / SUPERNET))

    @property
    def on_images(self) -> bool:
        return bool(self.task.get("kind") == IMAGES)

    @property
    def model_name(self) -> str:
        """What to call the model: its name on the hub, or its folder (the one above where that says nothing)."""
        path = Path(self.configuration.model)
        if not path.is_absolute():
            return str(self.configuration.model)
        return path.parent.name if path.name == "model" else path.name

    @property
    def task(self) -> dict[str, Any]:
        """name, kind, main metric, metrics, sizes."""
        return dict(self.store.get_meta("task", {}))

    @property
    def metric(self) -> str:
        """What the run's scores are: the task's main metric, of which errors are 1 minus, or the perplexity."""
        return PERPLEXITY if self.quality == PERPLEXITY else str(self.task.get("main", "score"))
