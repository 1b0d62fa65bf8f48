"""A run of `secateur prune`, opened: its front, its sub-networks, its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.catalogue import find
from secateur.errors import StudyError
from secateur.runs.folder import RunFolder
from secateur.runs.prune.settings import PruneSettings
from secateur.study import Front, Journal, Member
from secateur.trial import POLISH, Trial

if TYPE_CHECKING:
    from secateur.export import Exported
    from secateur.spaces.pruning import Plan, PruningSpace
    from secateur.supernet import Supernet

#: What lies where in the folder of a run of `secateur prune`, beside what every run has.
SUPERNET, MEMBERS = "supernet", "front"


@dataclass(frozen=True)
class PruneMember(Member):
    """A sub-network of a run. `test` and `polished` are there once the run has got so far."""

    run: PruneRun = field(compare=False, repr=False)
    #: Metrics on the test set, with shared weights; None where they were not computed.
    test: dict[str, float] | None = None
    #: The result of fine-tuning this sub-network, or None. Its `values` are on validation, its `details` on test data.
    polished: Trial | None = None

    @property
    def plan(self) -> Plan:
        """The heads and units kept, layer by layer."""
        return self.run.space.plan(self.architecture)

    @property
    def polished_test(self) -> dict[str, float] | None:
        """Metrics on the test set after polishing, or None."""
        details = self.polished.details if self.polished is not None else {}
        return {n.removeprefix("test_"): float(v) for n, v in details.items() if n.startswith("test_")} or None

    def save(self, folder: str | Path, *, polished: bool | None = None, onnx: bool = False, int8: bool = False) -> Exported:
        """Export the sub-network to a new folder: its polished weights where they validate no worse, unless `polished` says."""
        from secateur.checkpoints import load
        from secateur.export import export

        run, weights = self.run, self.run.folder / MEMBERS / self.key
        there = self.polished is not None and weights.is_dir()
        if polished and not there:
            raise StudyError(
                f"the sub-network {self.key} was not polished. Polished ones: {', '.join(run.polished) or 'none'}."
            )
        better = there and self.polished is not None and self.polished.values["error"] <= self.values["error"]
        use = better if polished is None else polished
        network = None
        if use:
            network = run.supernet.extract(self.plan).eval()
            network.load_state_dict(load(weights).state_dict())
        return export(
            run.supernet,
            self.plan,
            folder,
            tokenizer=run.tokenizer,
            model=network,
            onnx=onnx,
            int8=int8,
            kind=run.task["kind"],
            facts=self._facts(use),
        )

    def _facts(self, polished: bool) -> dict[str, Any]:
        """What the model card says of the sub-network with its shared or its polished weights."""
        run = self.run
        values: Mapping[str, float] = self.polished.values if polished and self.polished else self.values
        test = self.polished_test if polished and self.polished else self.test
        unpruned = run.unpruned_test
        return {
            "base_model": run.model_name,
            "task": run.task.get("name"),
            "metric": run.task.get("main"),
            "validation": 1 - values["error"],
            "test": 1 - test["error"] if test else None,
            "unpruned_validation": 1 - run.unpruned["error"],
            "unpruned_test": 1 - unpruned["error"] if unpruned else None,
            "polished": polished,
        }


class PruneRun(RunFolder):
    """A run of `secateur prune`."""

    settings = PruneSettings
    noun = "sub-network"
    advice = "Start a new run with a lower --learning-rate."

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
        """Key → latency and memory of networks measured for the report."""
        return dict(self.store.get_meta("measured", {}))

    @property
    def polished(self) -> dict[str, Trial]:
        """Key → the polished result."""
        return {t.key: t for t in self.trials if t.origin == POLISH}

    @property
    def front(self) -> Front[PruneMember]:
        """The Pareto set, as far as the search has got."""
        trials, tests = self.trials, self.tests
        polished = {t.key: t for t in trials if t.origin == POLISH}
        found = Front.of(trials, self.objectives, self.unpruned)
        return found.map(lambda t: PruneMember(t, self, tests.get(t.key), polished.get(t.key)))

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
        """The network that holds all sub-networks, as the run's method left it."""
        from secateur.checkpoints import load
        from secateur.supernet import Supernet

        if not Journal(self.store).done(find("method", self.configuration.method).keeps):
            raise StudyError(f"the network of `{self.folder}` is not ready yet. Go on with: secateur resume {self.folder}")
        return Supernet(load(self.folder / SUPERNET))

    @cached_property
    def tokenizer(self) -> Any:
        from secateur.checkpoints.tokenizers import tokenizer_of

        return tokenizer_of(str(self.folder / SUPERNET))

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
