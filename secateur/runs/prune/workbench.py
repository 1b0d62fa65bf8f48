"""What the stages of a run work on: its data, its super-network, its space and its searcher, loaded and checked."""

from __future__ import annotations

from typing import Any

from safetensors.numpy import load_file

from secateur.architecture import digest
from secateur.catalogue import find
from secateur.checkpoints import load
from secateur.checkpoints.pretrained import load_model, load_tokenizer
from secateur.checkpoints.quiet import quiet
from secateur.devices.device import resolve_device
from secateur.devices.setup import Setup
from secateur.errors import BoundError, ConfigurationError, StudyError
from secateur.estimators.base import Estimator
from secateur.estimators.building import BuildOnce
from secateur.estimators.cost import Cost
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.memory import MemoryEstimator
from secateur.estimators.shared_weights import SharedWeightsError
from secateur.export.verify import longest_text
from secateur.runs.progress import Progress
from secateur.runs.prune.run import ORDER, SUPERNET, Run
from secateur.runs.stages import Staged
from secateur.spaces.pruning import Layer
from secateur.supernet import Order, Supernet, reorder
from secateur.tasks import TaskData, load_task

WARMED = "warmed-up"  # the super-network after the warm-up, kept until the run is done
SCRATCH = "training"  # the trainer's own checkpoints, kept until the run is done

#: Seconds that the latency of a network is measured for, at most.
SECONDS = 2.0


class Workbench(Staged):
    """A run with everything its stages need at hand, once `prepare` was called."""

    def __init__(self, run: Run, progress: Progress) -> None:
        super().__init__(run, progress)
        self.run = run
        self.device = str(resolve_device(self.c.device))
        self.folder = run.folder / SUPERNET
        self.folder.mkdir(exist_ok=True)

    def prepare(self) -> None:
        """Load what the stages work on, and refuse now what they would refuse later."""
        self.data = self._data()
        self.c = self.c.with_usual_learning_rate(len(self.data.train))
        self.c.write(self.run.folder)
        self.run.configuration = self.c
        self.supernet = self._supernet()
        self.space = self.run.space
        #: A space without bounds: its largest member is the unpruned network, whatever the run's own space allows.
        self.layers = Layer(self.supernet.shape)
        longest = longest_text(self.supernet.model.config)
        self.length = min(self.c.latency_length, longest)
        tokens = max(max(self.data.split(name).lengths) for name in ("train", "validation", "test"))
        if tokens > longest:
            raise ConfigurationError(f"`max_length` must be at most {longest} for this model, got {self.c.max_length}.")
        self._check_bounds()
        self.searcher = find("searcher", self.c.searcher)(
            self.space, self.run.objectives, seed=self.c.seed, take_extra=bool(self.c.depths)
        )

    def _data(self) -> TaskData:
        c = self.c
        with self.progress.bar("reading data"):
            source = c.model if not self.journal.done("train") else str(self.folder)
            data = load_task(
                c.data,
                load_tokenizer(source),
                text=c.text,
                label=c.label,
                kind=c.kind,
                seed=c.seed,
                max_length=c.max_length,
                validation_share=c.validation_share,
                test_share=c.test_share,
                max_train=c.max_train,
                max_validation=c.max_validation,
                max_test=c.max_test,
            )
        known = self.store.get_meta("data")
        if known is not None and known != data.fingerprint:
            raise StudyError(f"`{c.data}` has changed since `{self.run.folder}` began. Start a new run on the new data.")
        self.store.set_meta("data", data.fingerprint)
        sizes = {name: len(data.split(name)) for name in ("train", "validation", "test")}
        task = data.task
        facts = {"name": task.name, "kind": task.kind, "main": task.main, "metrics": list(task.metrics), "sizes": sizes}
        self.store.set_meta("task", facts)
        return data

    def _supernet(self) -> Supernet:
        """The super-network as the last finished stage left it."""
        with quiet():
            if self.journal.done("train"):
                supernet = Supernet(load(self.folder).to(self.device))
            elif self.journal.done("warm-up"):
                supernet = Supernet(load(self.folder / WARMED).to(self.device))
                if self.journal.done("order"):
                    reorder(supernet, Order.from_arrays(load_file(self.folder / ORDER)))
            else:
                supernet = Supernet(load_model(self.c.model, self.data, seed=self.c.seed, device=self.device))
        shape = supernet.shape
        self.store.set_meta("shape", {"layers": shape.layers, "heads": shape.heads, "units": shape.units})
        return supernet

    def _check_bounds(self) -> None:
        """Refuse, before anything is trained, bounds on counted costs that no architecture of the space can meet."""
        whole = Cost(self.supernet, self.layers, length=self.length).evaluate([self.layers.largest()])[0].values
        cost = Cost(self.supernet, self.space, length=self.length)
        least, most = (e.values for e in cost.evaluate([self.space.smallest(), self.space.largest()]))
        for objective in self.run.objectives:
            name = objective.name
            for extreme, bound, beyond in ((least, objective.upper, 1), (most, objective.lower, -1)):
                if bound is None or name not in extreme or beyond * (extreme[name] - bound.resolve(whole[name])) <= 0:
                    continue
                which = "smallest" if beyond > 0 else "largest"
                share = 100 * extreme[name] / whole[name]
                raise BoundError(
                    f"nothing in the space `{self.c.space}` meets `{objective}`: "
                    f"its {which} network has {name} {extreme[name]:g} ({share:.3g}%)."
                )

    def _build(self, architecture: Any) -> Any:
        """The sub-network as a user would load it. An architecture of another space can only be the whole network."""
        plan = self.space.plan(architecture) if self.space.contains(architecture) else self.supernet.whole
        return self.supernet.extract(plan)

    def _measuring(self, names: list[str]) -> list[Estimator]:
        """Estimators for those of latency and memory that are named."""
        build = BuildOnce(self._build)
        identity = digest(str(self.supernet.model.config.to_dict()))
        c, kind = self.c, self.data.task.kind
        setup = Setup(
            device=self.device, threads=c.threads, batch=c.latency_batch, length=self.length, kind=kind, seconds=SECONDS
        )
        found: list[Estimator] = []
        if "latency" in names:
            found.append(LatencyEstimator(build, setup, identity=identity))
        if "memory" in names:
            found.append(MemoryEstimator(build, setup, identity=identity))
        return found

    def _whole(self, names: list[str]) -> dict[str, float]:
        """The unpruned network's values. The space's bounds do not matter to it."""
        estimators = [
            Cost(self.supernet, self.layers, length=self.length),
            SharedWeightsError(self.supernet, self.layers, self.data, batch_size=self.c.evaluation_batch, depths=False),
            *self._measuring(names),
        ]
        values: dict[str, float] = {}
        for estimator in estimators:
            found = estimator.evaluate([self.layers.largest()])[0]
            if found.failure:
                raise StudyError(f"the unpruned network cannot be evaluated: {found.failure}.")
            values.update(found.values)
        return values
