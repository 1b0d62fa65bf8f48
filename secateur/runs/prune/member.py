"""A sub-network of a run of `secateur prune`: its values, its gain, its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from secateur.errors import StudyError
from secateur.estimators.latency_parts import MODEL, SOURCE
from secateur.objectives import PERPLEXITY, QUALITIES
from secateur.report.gain import Gain
from secateur.runs.progress import Progress
from secateur.spaces.pruning import Large, Plan
from secateur.study import Member
from secateur.tasks.chance import ABOUT
from secateur.trial import Trial

if TYPE_CHECKING:
    from secateur.export import Exported
    from secateur.export.scored import Judge
    from secateur.runs.prune.run import PruneRun

#: Where in the folder of a run polished sub-networks lie.
MEMBERS = "front"


@dataclass(frozen=True, repr=False)
class PruneMember(Member):
    """A sub-network of a run, with the weights that `save` writes: its polished ones where they validate no worse than the
    super-network's. `values`, `test` and `gain` are of these weights."""

    run: PruneRun = field(compare=False, repr=False)
    #: Metrics on the test set, with shared weights; None where they were not computed.
    shared_test: dict[str, float] | None = None
    #: The result of fine-tuning this sub-network, or None. Its `values` are on validation, its `details` on test data.
    polished: Trial | None = None
    #: Its latency and memory, where they were measured after the search.
    measured: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def weights(self) -> str:
        """Whose weights `save` writes: `polished`, its `own` where the method trained it by itself, or `shared` with the
        super-network."""
        done = self.polished
        better = done is not None and done.complete and done.values[self.run.quality] <= self.trial.values[self.run.quality]
        return "polished" if better else "own" if self.run.has_own(self.trial) else "shared"

    @cached_property
    def values(self) -> Mapping[str, float]:
        """Its costs, with latency and memory where they were measured, and the error of the weights that `save` writes (with
        the perplexity, of a language model)."""
        best = self.polished if self.weights == "polished" and self.polished is not None else self.trial
        found = {**self.measured, **self.trial.values, **qualities(best.values)}
        return found if self.prediction_error is None else {**found, "latency": self.measured["latency"]}

    @property
    def _modelled(self) -> bool:
        """Whether the search went by a predicted latency of it."""
        return self.trial.details.get(SOURCE) == MODEL

    @property
    def prediction_error(self) -> float | None:
        """|predicted − measured| / measured latency; None where it was not both."""
        if not self._modelled or "latency" not in self.measured:
            return None
        return abs(self.trial.values["latency"] / self.measured["latency"] - 1)

    @property
    def text(self) -> str:
        """The choices of the searched space; what masks keep is summed up."""
        return summary(self) if self.architecture.space == Large.name else str(self.architecture)

    @property
    def plan(self) -> Plan:
        """The heads and units kept, layer by layer."""
        return self.run.plan(self.architecture)

    @property
    def test(self) -> dict[str, float] | None:
        """Metrics on the test set, of the weights that `save` writes; None where they were not computed."""
        return self.polished_test if self.weights == "polished" else self.shared_test

    @property
    def polished_test(self) -> dict[str, float] | None:
        """Metrics on the test set after polishing, or None."""
        details = self.polished.details if self.polished is not None else {}
        return {n.removeprefix("test_"): float(v) for n, v in details.items() if n.startswith("test_")} or None

    @cached_property
    def gain(self) -> Gain:
        """How much faster and smaller than the unpruned network it is, and what that costs."""
        return self._gain(self.values, self.test)

    def _gain(self, values: Mapping[str, float], test: Mapping[str, float] | None) -> Gain:
        found = self.run.gain(values, test, {} if "latency" in values else self.run.predict(self.architecture))
        return replace(found, predicted=found.predicted or (self._modelled and "latency" not in self.measured))

    @property
    def above_chance(self) -> bool:
        """Whether it does better on validation data than an answer that ignores its input, as far as that is known."""
        return self.run.above_chance(self.values)

    @property
    def luck(self) -> int:
        """0 where it is better than chance; else it is chosen only where nothing better is there: 1, and without layers 2."""
        return 0 if self.above_chance else 1 if self.plan.layers else 2

    def save(
        self,
        folder: str | Path,
        *,
        polished: bool | None = None,
        onnx: bool = False,
        int8: bool = False,
        int4: bool = False,
        progress: bool = False,
        judge: Judge | None = None,
    ) -> Exported:
        """Export the sub-network to a new folder: its polished weights where they validate no worse, unless `polished` says.

        With ONNX forms, each form is scored on the run's validation data and timed, or as `judge` does that; `progress` shows
        how far that is.
        """
        from secateur.checkpoints import load
        from secateur.export import export
        from secateur.runs.prune.forms import judging

        run, weights = self.run, self.run.folder / MEMBERS / self.key
        use = self.weights == "polished" if polished is None else polished
        if use and not weights.is_dir():
            raise StudyError(
                f"`{run.folder}` has no polished weights for {self.key}; it has {', '.join(run.polished) or 'none'}."
            )
        network = None
        if use:
            network = run.supernet.extract(self.plan).eval()
            network.load_state_dict(load(weights).state_dict())
        elif run.has_own(self.trial):
            network = run.network(run.supernet, self.trial)
        return export(
            run.supernet,
            self.plan,
            folder,
            tokenizer=run.tokenizer,
            model=network,
            onnx=onnx,
            int8=int8,
            int4=int4,
            kind=run.task["kind"],
            facts=self._facts(use),
            judge=(judge or judging(run, Progress(progress))) if onnx or int8 or int4 else None,
        )

    def push(self, name: str, *, private: bool | None = None, token: str | None = None, **forms: Any) -> str:
        """Export the sub-network (`forms` as of `save`) and upload it to a hub as `name`; its address.

        The repository is made where there is none, `private` as you say. The token is that of `hf auth login` or HF_TOKEN.
        """
        from secateur.export.hub import check_push, push

        check_push(name, token)
        with TemporaryDirectory() as scratch:
            folder = Path(scratch) / name.rpartition("/")[2]  # the card is named after it
            self.save(folder, **forms)
            return push(folder, name, private=private, token=token)

    def _facts(self, polished: bool) -> dict[str, Any]:
        """What the model card says of the sub-network with its shared or its polished weights."""
        run = self.run
        found = qualities((self.polished if polished and self.polished else self.trial).values)
        test = self.polished_test if polished and self.polished else self.shared_test
        unpruned = run.unpruned_test
        gain = self._gain({**self.values, **found}, test)
        numbers = gain.as_dict()
        names = ["latency", "prompt_latency", "token_latency", "memory"]
        names += [PERPLEXITY] if gain.data == "test" and run.quality != PERPLEXITY else []
        return {
            "base_model": run.model_name,
            "on_hub": not Path(run.configuration.model).is_absolute(),
            "task": run.task.get("name"),
            "metric": run.metric.replace("_", " "),
            "gain": str(gain),
            "gain_details": gain.details(),
            "warning": "" if run.above_chance(found) else f"No better than chance ({run.chance_score:.3f}): do not use it.",
            "validation": run.score(found),
            "test": run.score(test),
            "unpruned_validation": run.score(run.unpruned),
            "unpruned_test": run.score(unpruned),
            **{f"chance_{split}": run.score(told) for split, told in (run.chance or {}).items()},
            "chance": ABOUT[run.task["kind"]],
            **{name: numbers[name] for prefix in ("", "unpruned_") for name in (prefix + n for n in names)},
            "measured_on": run.measured_on + (", predicted from networks measured there" if gain.predicted else ""),
            "polished": polished,
        }


def qualities(values: Mapping[str, float]) -> dict[str, float]:
    """Of a network's values those that say how good it is."""
    return {name: values[name] for name in QUALITIES if name in values}


def summary(member: PruneMember) -> str:
    """The network in a few words: layers × (heads, units), or totals where layers differ."""
    layers = member.plan.layers
    heads, units = {p.heads.count for p in layers}, {p.units.count for p in layers}
    if not layers:
        return "no layers"
    if len(heads) == len(units) == 1:
        return f"{len(layers)} × ({heads.pop()}, {units.pop()})"
    return f"{len(layers)} layers, {sum(p.heads.count for p in layers)} heads, {sum(p.units.count for p in layers)} units"
