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
from secateur.errors import ConfigurationError, StudyError
from secateur.estimators.base import Estimator
from secateur.estimators.building import BuildOnce
from secateur.estimators.cost import Cost
from secateur.estimators.fine_tuned import FineTuned
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
from secateur.runs.prune.polishing import Tournament, contenders
from secateur.runs.prune.run import MEMBERS, SUPERNET, PruneRun
from secateur.runs.stages import Stage, Work
from secateur.runs.timing import Effort
from secateur.search import Aim, Listed
from secateur.spaces.pruning import Layer, plan_of
from secateur.spaces.pruning.sizes import aimed
from secateur.tasks import TaskData
from secateur.tasks.chance import chance
from secateur.training.teacher import taught_by
from secateur.trial import POLISH, Trial

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
        self._keep("own", self.method.own)
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
        check_bounds(self.space.name, self.asked(), least, most, self._counted())

    def stages(self) -> list[Stage]:
        steps = [Stage(*step) for step in self.method.stages()]
        if self.method.keeps not in [stage.name for stage in steps]:
            steps.append(Stage(self.method.keeps, lambda: self.method.save(self.networks)))
        steps += [Stage(FIT, self.fit)] if self._timed else []
        polish = [Stage("polish", self.polish)] if self.c.polish else []
        measure = [Stage("measure", self.measure)] if self.c.measure else []
        return [*steps, self.search_stage(), *polish, *measure, Stage("report", self.report)]

    def searcher(self) -> Any:
        c, given = self.c, (self.space, self.run.objectives, self.c.seed, bool(self.c.depths))
        if self.method.lists:
            return Listed(*given, choose=self.method.candidates)
        sizes = c.searcher_sizes(c.searcher, c.trials)
        if c.searcher == "mo-asha":
            sizes |= {"least": c.r_min, "most": c.trial_epochs, "eta": c.eta, "order": c.rung_order}
        return find("searcher", c.searcher)(*given, aim=self._aim(), **sizes)

    def _aim(self) -> Aim | None:
        """Draws at the sizes that will be polished: no searcher alone visits the small ones often."""
        whole = self.supernet.body_parameters(self.supernet.whole)
        limits = [bound.resolve(whole) for bound in self.c.levels()]
        if not (self.c.aimed and limits):
            return None
        return Aim(aimed(self.space, self.supernet.body_parameters, limits), self.c.aimed)

    def time_limit(self) -> float | None:
        given: float | None = self.c.seconds
        return given

    def after_trial(self, study: Any, left: int) -> None:
        self.method.ended(study, left)

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
        if (model := self.latency_model) is not None:
            found.append(PredictedLatency(model))
        return found

    @property
    def latency_model(self) -> LatencyModel | None:
        if not self._timed:
            return None
        model = LatencyModel.from_dict(self.store.get_meta("latency_model"), PrunedParts(self.supernet.shape))
        model.check(self._setup(self.length, SECONDS))
        return model

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
        """For each share of the body's parameters, fine-tune the best of several sub-networks below it."""
        (self.folder / MEMBERS).mkdir(exist_ok=True)
        several = self._contenders()
        estimator = self._polishing()
        known: dict[str, float] = dict(self.store.get_meta("polishing", {}))
        tournament = Tournament(estimator, self.space, known, lambda found: self.store.set_meta("polishing", found))
        for i, (bound, trials) in enumerate(several.items()):
            title, part = f"polishing for {bound} ({i + 1} of {len(several)})", (i / len(several), (i + 1) / len(several))
            with self.progress.bar(title, part) as advance:
                best, reason = tournament.best(trials, advance)
            if best is None:
                self.log.write("polish failed", bound=bound, reason=reason)
                self.note(f"No network with at most {bound} of the layers' parameters could be polished: {reason}")
            elif best.key not in self.run.polished:
                (trial,) = [t for t in trials if t.key == best.key]
                self._keep_polished(trial, estimator)

    def _contenders(self) -> dict[str, list[Trial]]:
        """Level → who meets there."""
        pool = [m.trial for m in self.run.front.pool]
        floor = self.run.chance["validation"]["error"] if self.run.chance else None
        whole, found = self.run.unpruned["body_parameters"], {}
        for bound in self.c.levels():
            limit = bound.resolve(whole)
            found[str(bound)] = contenders(pool, self.space, limit, floor, self.c.candidates)
            if not found[str(bound)]:
                self.log.write("not polished", bound=str(bound), reason="nothing is as small")
                del found[str(bound)]
        return found

    def _polishing(self) -> FineTuned:
        """Fine-tuning from the weights that the search scored, taught by the best of the method's teachers."""
        trials = {m.key: m.trial for m in self.run.front.pool}
        batches = list(self.data.batches("validation", self.c.evaluation_batch))
        several = self.method.teachers()
        errors = [score(teacher, self.data.task, batches)["error"] for teacher in several]
        teacher = several[errors.index(min(errors))]
        return FineTuned(
            lambda architecture: self.run.network(self.supernet, trials[architecture.key]),
            self.data,
            self.c.polishing(),
            self.networks / "training" / POLISH,
            identity="polishing",
            device=self.device,
            batch_size=self.c.evaluation_batch,
            logs=self.logs.of(POLISH),
            **taught_by(teacher, self.data, self.c.evaluation_batch),
        )

    def _keep_polished(self, trial: Trial, estimator: FineTuned) -> None:
        """Test a polished network and keep it with the run."""
        key, plan = trial.key, self.space.plan(trial.architecture)
        network = estimator.network(trial.architecture)
        validation, test = (
            score(network, self.data.task, self.data.batches(split, self.c.evaluation_batch))
            for split in ("validation", "test")
        )
        self.keep_curve(f"polish {key[:8]}", estimator.rows)
        target = self.folder / MEMBERS / key
        shutil.rmtree(target, ignore_errors=True)  # an unfinished earlier try: its result was never stored
        save_checkpoint(self.supernet, plan, target, tokenizer=self.data.tokenizer, model=network)
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
                    tests[member.key] = score(self.run.network(self.supernet, member.trial), self.data.task, batches)
                advance(done + 1, len(members))
        self.store.set_meta("tests", tests)
        self.write_report()
