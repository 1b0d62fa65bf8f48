"""The stages of a pruning run: those of its method, then search, polish, measure and report. All lies in its folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from secateur.architecture import Architecture, digest
from secateur.catalogue import find
from secateur.checkpoints.tokenizers import tokenizer_of
from secateur.devices.device import check_precision, describe_device, resolve_device
from secateur.devices.setup import Setup
from secateur.errors import BoundError, ConfigurationError, EvaluationFailure, StudyError
from secateur.estimators.base import Estimator
from secateur.estimators.building import BuildOnce
from secateur.estimators.cost import Cost
from secateur.estimators.generation import GenerationEstimator
from secateur.estimators.latency_model import LatencyModel, PredictedLatency
from secateur.estimators.latency_sample import Fitting
from secateur.estimators.measuring import measuring
from secateur.estimators.pruned_latency import PrunedParts
from secateur.estimators.shared_weights import SharedWeightsError, score
from secateur.estimators.together import Together
from secateur.estimators.turns import measure_in_turns
from secateur.export.checkpoint import save_checkpoint
from secateur.export.verify import longest_text
from secateur.methods.base import Method
from secateur.runs.bounds import check_bounds
from secateur.runs.progress import Progress
from secateur.runs.prune.efforts import prune_efforts
from secateur.runs.prune.run import MEMBERS, SUPERNET, PruneRun
from secateur.runs.stages import Stage, Work
from secateur.runs.timing import Effort
from secateur.spaces.pruning import Layer, plan_of
from secateur.study import Front
from secateur.tasks import TaskData
from secateur.tasks.chance import chance
from secateur.training.polish import polish
from secateur.trial import POLISH, Status, Trial

#: Seconds in which one latency is measured, at most; in how many turns after the search, and in how many seconds all then.
SECONDS, TURNS, ALL_SECONDS = 2.0, 3, 60.0
#: Tokens that a language model writes when its generation is timed.
TOKENS = 16
#: The stage that fits the latency model; how many networks that is fitted to, and tested on.
FIT, FITTED, HELD_OUT = "latency model", 24, 8


class PruneWork(Work):
    """One run on its way, with everything its stages need at hand once `prepare` was called."""

    def __init__(self, run: PruneRun, progress: Progress) -> None:
        super().__init__(run, progress)
        self.run = run
        where = resolve_device(self.c.device)
        check_precision(self.c.mixed_precision, where)
        self.device = str(where)
        self.networks = run.folder / SUPERNET
        self.done: Callable[[str], bool] = self.journal.done

    def prepare(self) -> None:
        self.data = self._data()
        resolved = self.c.with_usual_learning_rate(len(self.data.train))
        if resolved != self.c:
            self.run.configure(resolved)
            self.c = resolved
        self.method: Method = find("method", self.c.method)(self)
        self.supernet = self.method.network()
        shape = self.supernet.shape
        self._keep("shape", {"layers": shape.layers, "heads": shape.heads, "units": shape.units})
        self.space = self.run.space
        #: A space without bounds: its largest member is the unpruned network, whatever the run's own space allows.
        self.layers = Layer(self.supernet.shape)
        longest = longest_text(self.supernet.model.config)
        self.length = min(self.c.latency_length, longest)
        tokens = max(max(self.data.split(name).lengths) for name in ("train", "validation", "test"))
        if tokens > longest:
            raise ConfigurationError(f"`max_length` must be at most {longest} for this model, got {self.c.max_length}.")
        cost = Cost(self.supernet, self.space, length=self.length)
        least, most = (e.values for e in cost.evaluate([self.space.smallest(), self.space.largest()]))
        check_bounds(self.c.space, self.asked(), least, most, self._counted())

    def stages(self) -> list[Stage]:
        steps = [Stage(*step) for step in self.method.stages()]
        if self.method.keeps not in [stage.name for stage in steps]:
            steps.append(Stage(self.method.keeps, lambda: self.method.save(self.networks)))
        steps += [Stage(FIT, self.fit)] if self._timed else []
        polish = [Stage("polish", self.polish)] if self.c.polish else []
        measure = [Stage("measure", self.measure)] if self.c.measure else []
        return [*steps, self.search_stage(), *polish, *measure, Stage("report", self.report)]

    def searcher(self) -> Any:
        kind = find("searcher", self.c.searcher)
        sizes = self.c.searcher_sizes(self.c.searcher, self.c.trials)
        return kind(self.space, self.run.objectives, seed=self.c.seed, take_extra=bool(self.c.depths), **sizes)

    def estimators(self) -> list[Estimator]:
        names = [o.name for o in self.run.objectives]
        if not self.run.unpruned:
            self.store.set_meta("unpruned", self._unpruned(names))
            if (doubt := self.run.doubt) is not None:
                self.note(doubt)
        return [Cost(self.supernet, self.space, length=self.length), *self.method.estimators(), *self._costs(names)]

    def efforts(self) -> Mapping[str, Effort]:
        sizes = {name: len(self.data.split(name)) for name in ("train", "validation", "test")}
        return prune_efforts(self.c, sizes, self.method.passes(), SECONDS)

    def before_stages(self, left: list[str]) -> None:
        self.networks.mkdir(exist_ok=True)

    def tidy(self) -> None:
        self.method.tidy()

    # What the stages work on.

    def _data(self) -> TaskData:
        c = self.c
        with self.progress.bar("reading data"):
            kept = self.done(find("method", c.method).keeps)
            source = str(self.networks) if kept else c.model
            data: TaskData = c.task_data(tokenizer_of(source))
        if self.store.get_meta("data", data.fingerprint) != data.fingerprint:
            raise StudyError(f"`{c.data}` has changed since `{self.folder}` began. Start a new run on the new data.")
        self._keep("data", data.fingerprint)
        sizes = {name: len(data.split(name)) for name in ("train", "validation", "test")}
        task = data.task
        facts = {"name": task.name, "kind": task.kind, "main": task.main, "metrics": list(task.metrics), "sizes": sizes}
        self._keep("task", facts)
        self._keep("chance", {split: chance(data, split) for split in ("validation", "test")})
        return data

    def _keep(self, name: str, value: Any) -> None:
        """Keep a fact about the study, unless it is known already."""
        if self.store.get_meta(name) != value:
            self.store.set_meta(name, value)

    def keep_curve(self, name: str, rows: Sequence[dict[str, float]]) -> None:
        for row in rows:
            self.store.log_curve(name, int(row["step"]), {"loss": row["loss"], "learning_rate": row.get("learning_rate", 0.0)})

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

    @property
    def _timed(self) -> bool:
        """Whether the search goes by latency."""
        return "latency" in [o.name for o in self.run.objectives]

    def fit(self) -> None:
        """Measure some sub-networks, and fit what their parts cost."""
        fitting = Fitting(networks=FITTED, held_out=HELD_OUT, seconds=self.c.fit_seconds, seed=self.c.seed)
        with self.progress.bar("fitting the latency model") as advance:
            setup = self._setup(self.length, SECONDS)
            model = LatencyModel.fit(self._build, PrunedParts(self.supernet.shape), setup, fitting, advance)
        self.store.set_meta("latency_model", model.to_dict())
        self.log.write(FIT, **model.to_dict()["report"])
        self.note(f"Latencies in the search are predicted by a {model.report}.")

    def _costs(self, names: Sequence[str]) -> list[Estimator]:
        """Estimators for those of latency and memory that are named: as the latency model predicts it, and measured."""
        found = self._measuring([name for name in names if name != "latency"])
        if self._timed:
            model = LatencyModel.from_dict(self.store.get_meta("latency_model"), PrunedParts(self.supernet.shape))
            model.check(self._setup(self.length, SECONDS))
            found.append(PredictedLatency(model))
        return found

    def _counted(self) -> dict[str, float]:
        """The unpruned network's counts."""
        return dict(Cost(self.supernet, self.layers, length=self.length).evaluate([self.layers.largest()])[0].values)

    def _unpruned(self, names: Sequence[str]) -> dict[str, float]:
        """The unpruned network's values. The space's bounds do not matter to it."""
        error = SharedWeightsError(self.supernet, self.layers, self.data, batch_size=self.c.evaluation_batch, depths=False)
        cost = Cost(self.supernet, self.layers, length=self.length)
        (found,) = Together([cost, error, *self._costs(names)]).evaluate([self.layers.largest()])
        if not found.complete:
            raise StudyError(f"the unpruned network cannot be evaluated: {found.reason}.")
        return dict(found.values)

    # The stages after the search.

    def polish(self) -> None:
        """Fine-tune the best sub-network below each share of the body's parameters."""
        chosen = self._chosen()
        (self.folder / MEMBERS).mkdir(exist_ok=True)
        for i, trial in enumerate(chosen):
            if trial.key not in self.run.polished:
                self._polish_one(trial, f"polishing {i + 1} of {len(chosen)}", (i / len(chosen), (i + 1) / len(chosen)))

    def _chosen(self) -> list[Trial]:
        found: dict[str, Trial] = {}
        pool = Front.of(self.run.trials, self.run.objectives, self.run.unpruned)
        for bound in self.c.levels():
            try:
                best = pool.best(under={"body_parameters": bound})
            except BoundError as error:
                self.log.write("not polished", bound=str(bound), reason=str(error))
                continue
            if not self.run.above_chance(best.values["error"]):
                self.note(f"Nothing with at most {bound} of the layers' parameters is better than chance: none was polished.")
                continue
            found.setdefault(best.key, best)
        return list(found.values())

    def _polish_one(self, trial: Trial, title: str, part: tuple[float, float]) -> None:
        key, plan = trial.key, self.space.plan(trial.architecture)
        student = self.supernet.extract(plan)
        scratch = self.networks / "training" / f"polish-{key}"
        try:
            with self.progress.bar(title, part) as advance:
                options: dict[str, Any] = {"device": self.device, "progress": advance, "logs": self.logs.of(scratch.name)}
                rows = polish(student, self.supernet.model, self.data, self.c.polishing(), scratch, **options)
        except EvaluationFailure as failure:
            self.log.write("polish failed", key=key, reason=str(failure))
            self.store.add(Trial(None, trial.architecture, Status.FAILED, reason=str(failure), origin=POLISH))
            return
        self.keep_curve(f"polish {key[:8]}", rows)
        validation, test = (
            score(student, self.data.task, self.data.batches(split, self.c.evaluation_batch))
            for split in ("validation", "test")
        )
        target = self.folder / MEMBERS / key
        shutil.rmtree(target, ignore_errors=True)  # an unfinished earlier try: its result was never stored
        save_checkpoint(self.supernet, plan, target, tokenizer=self.data.tokenizer, model=student)
        counted = {n: v for n, v in trial.values.items() if n != "error"}
        self.store.add(
            Trial(
                None,
                trial.architecture,
                values={"error": validation["error"], **counted},
                origin=POLISH,
                details={f"test_{n}": v for n, v in test.items()},
            )
        )
        shutil.rmtree(scratch, ignore_errors=True)

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
        if not (errors := self.run.prediction_errors):
            return
        self.log.write("latencies predicted and measured", networks=len(errors), median=median(errors), highest=max(errors))
        off = f"off by {100 * median(errors):.1f} % in the median, {100 * max(errors):.1f} % at most"
        self.note(f"The predicted latencies of {len(errors)} networks that were then measured were {off}.")
        if not self.run.within_bounds:
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

    def report(self) -> None:
        """Test scores and the page. The test set is touched here and for polished ones only."""
        front, polished = self.run.front, self.run.polished
        keys = {m.key for m in (*front, *self.run.searched)} | set(polished)
        members = [m for m in front.pool if m.key in keys]
        tests = self.run.tests
        with self.progress.bar("scoring on test data") as advance:
            batches = list(self.data.batches("test", self.c.evaluation_batch))
            if self.run.unpruned_test is None:
                self.store.set_meta("unpruned_test", score(self.supernet.model, self.data.task, batches))
            for done, member in enumerate(members):
                if member.key not in tests:
                    tests[member.key] = score(self._build(member.architecture), self.data.task, batches)
                advance(done + 1, len(members))
        self.store.set_meta("tests", tests)
        self.write_report()
