"""A run: the folder that `secateur prune` makes, opened. Its front, its sub-networks, its report."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.catalogue import find
from secateur.errors import StudyError
from secateur.runs.folder import RunFolder
from secateur.runs.progress import Progress
from secateur.runs.prune.settings import Configuration
from secateur.study import POLISH, Front, Journal, Member, Trial

if TYPE_CHECKING:
    from secateur.export import Exported
    from secateur.runs.prune.stages import Stages
    from secateur.spaces.pruning import Plan, PruningSpace
    from secateur.supernet import Supernet

#: What lies where in the folder of a run of `secateur prune`, beside what every run has.
SUPERNET, MEMBERS, ORDER = "supernet", "front", "order.safetensors"


@dataclass(frozen=True)
class RunMember(Member):
    """A sub-network of a run. `test` and `polished` are there once the run has got so far."""

    run: Run | None = field(default=None, compare=False, repr=False)
    #: Metrics on the test set, with shared weights; None where they were not computed.
    test: dict[str, float] | None = None
    #: The result of fine-tuning this sub-network, or None. Its `values` are on validation, its `details` on test data.
    polished: Trial | None = None

    @property
    def key(self) -> str:
        return self.architecture.key

    @property
    def plan(self) -> Plan:
        """The heads and units kept, layer by layer."""
        return self._run.space.plan(self.architecture)

    def save(self, folder: str | Path, *, polished: bool | None = None, onnx: bool = False, int8: bool = False) -> Exported:
        """Export the sub-network to a new folder: its polished weights where they validate no worse, unless `polished` says."""
        return self._run.save(self, folder, polished=polished, onnx=onnx, int8=int8)

    @property
    def _run(self) -> Run:
        assert self.run is not None
        return self.run


class Run(RunFolder):
    """A run of `secateur prune`."""

    settings = Configuration
    noun = "sub-network"
    advice = "Start a new run with a lower --learning-rate."

    @property
    def about(self) -> str:
        return f"{self.configuration.model} on {self.configuration.data}"

    def stages(self, progress: Progress) -> Stages:
        from secateur.runs.prune.stages import Stages

        return Stages(self, progress)

    @property
    def unpruned(self) -> dict[str, float]:
        """The whole network's values: error on validation data, parameters, and what else was measured."""
        return dict(self.store.get_meta("unpruned", {}))

    @property
    def unpruned_test(self) -> dict[str, float] | None:
        found: dict[str, float] | None = self.store.get_meta("unpruned_test")
        return found

    @property
    def tests(self) -> dict[str, dict[str, float]]:
        """Key → metrics on the test set, with shared weights."""
        return dict(self.store.get_meta("tests", {}))

    @property
    def measured(self) -> dict[str, dict[str, float]]:
        """Key → latency and memory of networks measured for the report."""
        return dict(self.store.get_meta("measured", {}))

    @property
    def polished(self) -> dict[str, Trial]:
        """Key → the polished result."""
        return {t.architecture.key: t for t in self.trials if t.origin == POLISH}

    @property
    def front(self) -> Front[RunMember]:
        """The Pareto set, as far as the search has got."""
        trials, tests = self.trials, self.tests
        polished = {t.architecture.key: t for t in trials if t.origin == POLISH}
        found = Front.of(trials, self.objectives, self.unpruned)

        def whole(m: Member) -> RunMember:
            key = m.architecture.key
            return RunMember(m.architecture, m.values, m.details, m.trial, self, tests.get(key), polished.get(key))

        return found.map(whole)

    @cached_property
    def shape(self) -> dict[str, int]:
        found = self.store.get_meta("shape")
        if found is None:
            raise StudyError(f"`{self.folder}` has not got as far as its model yet. Go on with: secateur resume {self.folder}")
        return dict(found)

    @cached_property
    def space(self) -> PruningSpace:
        from secateur.spaces.pruning import Shape

        space: PruningSpace = find("space", self.configuration.space)(Shape(**self.shape), **self.configuration.limits())
        return space

    @cached_property
    def supernet(self) -> Supernet:
        """The trained super-network."""
        from secateur.checkpoints import load
        from secateur.supernet import Supernet

        if not Journal(self.store).done("train"):
            raise StudyError(
                f"the super-network of `{self.folder}` is not trained yet. Go on with: secateur resume {self.folder}"
            )
        return Supernet(load(self.folder / SUPERNET))

    @cached_property
    def tokenizer(self) -> Any:
        from secateur.checkpoints.tokenizers import tokenizer_of

        return tokenizer_of(str(self.folder / SUPERNET))

    def save(
        self, member: RunMember, folder: str | Path, *, polished: bool | None = None, onnx: bool = False, int8: bool = False
    ) -> Exported:
        from secateur.checkpoints import load
        from secateur.export import export

        weights = self.folder / MEMBERS / member.key
        there = member.polished is not None and weights.is_dir()
        if polished and not there:
            raise StudyError(
                f"the sub-network {member.key} was not polished. Polished ones: {', '.join(self.polished) or 'none'}."
            )
        better = there and member.polished is not None and member.polished.values["error"] <= member.values["error"]
        use = better if polished is None else polished
        network = None
        if use:
            network = self.supernet.extract(member.plan).eval()
            network.load_state_dict(load(weights).state_dict())
        return export(
            self.supernet,
            member.plan,
            folder,
            tokenizer=self.tokenizer,
            model=network,
            onnx=onnx,
            int8=int8,
            kind=self.task["kind"],
            facts=self._facts(member, use),
        )

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

    def _facts(self, member: RunMember, polished: bool) -> dict[str, Any]:
        values: Mapping[str, float] = member.polished.values if polished and member.polished else member.values
        test = scores_on_test(member.polished) if polished and member.polished else member.test
        whole = self.unpruned_test
        return {
            "base_model": self.model_name,
            "task": self.task.get("name"),
            "metric": self.task.get("main"),
            "validation": 1 - values["error"],
            "test": 1 - test["error"] if test else None,
            "unpruned_validation": 1 - self.unpruned["error"],
            "unpruned_test": 1 - whole["error"] if whole else None,
            "polished": polished,
        }


def scores_on_test(trial: Trial | None) -> dict[str, float] | None:
    """The test scores in a polished trial's details: those named `test_…`."""
    if trial is None:
        return None
    found = {n.removeprefix("test_"): float(v) for n, v in trial.details.items() if n.startswith("test_")}
    return found or None


def now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
