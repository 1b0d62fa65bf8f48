"""The stages of a pruning run: those of its method, then search, polish, measure and report. All lies in its folder."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from secateur.anatomy.inputs import longest_text, read_length
from secateur.architecture import Architecture
from secateur.catalogue import find, find_searcher, with_budgets
from secateur.checkpoints.carried import carry
from secateur.checkpoints.processors import processor_of
from secateur.devices.device import check_precision, own_device
from secateur.errors import ConfigurationError, EvaluationFailure, StudyError
from secateur.estimators.base import Estimator
from secateur.estimators.cost import Cost
from secateur.estimators.fine_tuned import TRAINING, FineTuned
from secateur.estimators.shared_weights import SharedWeightsError, score
from secateur.estimators.together import Together
from secateur.export.checkpoint import save_checkpoint
from secateur.methods.base import Method
from secateur.methods.block_zoo import zoo_of
from secateur.methods.fine_tuned_first import SCRATCH
from secateur.methods.fisher.error import TunedMasksError
from secateur.methods.fisher.sizes import MOST_UNITS, masks_by_information
from secateur.methods.ordering import scored_batches
from secateur.objectives import QUALITIES
from secateur.runs.bounds import check_bounds
from secateur.runs.progress import Progress
from secateur.runs.prune.efforts import prune_efforts
from secateur.runs.prune.measuring import FIT, SECONDS, Measuring
from secateur.runs.prune.method_checks import masks_may_join
from secateur.runs.prune.polishing import Tournament, contenders
from secateur.runs.prune.run import MEMBERS, SUPERNET, PruneRun
from secateur.runs.stages import Stage
from secateur.runs.timing import Effort
from secateur.search import Aim, Listed
from secateur.search.stopping import Stopping
from secateur.spaces.pruning import Large, Layer, plan_of
from secateur.spaces.pruning.sizes import aimed
from secateur.tasks import TaskData
from secateur.tasks.chance import chance
from secateur.training.teacher import can_vary, taught_by
from secateur.trial import MASKS, POLISH, Trial
from secateur.writing import discard


class PruneWork(Measuring):
    """One run on its way, with everything its stages need at hand once `prepare` was called."""

    def __init__(self, run: PruneRun, progress: Progress) -> None:
        super().__init__(run, progress)
        self.run = run
        where = own_device(self.c.device)
        check_precision(self.c.mixed_precision, where)
        self.device = str(where)
        self.networks = run.folder / SUPERNET
        self.done: Callable[[str], bool] = self.journal.done

    def prepare(self) -> None:
        self.data = self._data()
        resolved = self.c.with_usual_learning_rates(len(self.data.train))
        if resolved != self.c:
            self.run.configure(resolved)
            self.c = resolved
        self.method: Method = find("method", self.c.method)(self)
        self._keep("own", self.method.own)
        self.supernet = self.method.network()
        shape = self.supernet.shape
        self._keep("shape", {"layers": shape.layers, "heads": shape.heads, "units": shape.units})
        self.space = self.run.space
        self.layers = Layer(self.supernet.shape)
        longest = longest_text(self.supernet.model.config)
        self.length = read_length(self.supernet.model.config, min(self.c.latency_length, longest))
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
        steps += [Stage(*step) for step in self.method.last_stages()]
        polish = [Stage("polish", self.polish)] if self.c.polish else []
        measure = [Stage("measure", self.measure)] if self.c.measure else []
        measure += [Stage("formats", self.formats)] if self.c.measure and self.c.formats else []
        masks = [Stage(MASKS, self.masks)] if self._masks_join() else []
        return [*steps, self.search_stage(), *masks, *polish, *measure, Stage("report", self.report)]

    def _masks_join(self) -> bool:
        """Whether networks by masks join what the search found. Where it is polished already, as in older runs, none does."""
        wanted = self.c.masks and "masks" in self.method.uses and masks_may_join(self.c)
        return wanted and (self.done(MASKS) or not self.done("polish"))

    def searcher(self) -> Any:
        c, given = self.c, (self.space, self.run.objectives, self.c.seed, bool(self.c.depths))
        if self.method.lists:
            return Listed(*given, choose=self.method.candidates)
        sizes = c.searcher_sizes(c.searcher)
        if with_budgets(c.searcher):
            sizes |= {"least": c.r_min, "most": c.trial_epochs, "eta": c.eta, "order": c.rung_order}
        searcher = find_searcher(c.searcher)(*given, aim=self._aim(), **sizes)
        if c.stop_early is None:
            return searcher
        return Stopping.parse(c.stop_early).wrapped(searcher, [*c.trial_points(), c.trial_epochs])

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

    def joint(self) -> Collection[str]:
        return self.method.trainings()

    def efforts(self) -> Mapping[str, Effort]:
        sizes = {name: len(self.data.split(name)) for name in ("train", "validation", "test")}
        return prune_efforts(self.c, sizes, self.method.passes(), SECONDS)

    def weights(self) -> Mapping[str, np.ndarray]:
        return carry(self.method.reads()) if self.c.executor == "ray" else {}

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
            data: TaskData = c.task_data(processor_of(source, c.kind))
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

    def masks(self) -> None:
        """For each share of the body's parameters, what keeps the most Fisher information, its weights tuned."""
        if self.supernet.shape.units > MOST_UNITS:
            self.note(f"No networks were chosen by masks: tuning takes long with more than {MOST_UNITS:,} units in a layer.")
            return
        try:
            with scored_batches(self, "choosing masks", self.c.importance_examples) as batches:
                several = {a.key: a for a in masks_by_information(self.supernet, batches, self.c.levels())}
        except EvaluationFailure as failure:
            self.note(f"No networks were chosen by masks: {failure}")
            return
        names, space = [o.name for o in self.run.objectives], Large(self.supernet.shape)
        cost, error = Cost(self.supernet, space, length=self.length), TunedMasksError.of(self, space)
        together = Together([cost, error, *self._costs(names)], self.run.objectives, unpruned=self.run.unpruned)
        known = {t.key for t in self.run.trials if t.origin == MASKS}
        for architecture in (a for key, a in several.items() if key not in known):
            (trial,) = together.evaluate([architecture])
            self.store.add(replace(trial, origin=MASKS))

    def polish(self) -> None:
        """For each share of the body's parameters, the smallest first, fine-tune the best of several sub-networks below it.

        Where variants of texts are asked for, the smallest share tries both with them and without, and the better goes on.
        """
        (self.folder / MEMBERS).mkdir(exist_ok=True)
        several = self._contenders()
        known: dict[str, float] = dict(self.store.get_meta("polishing", {}))
        ways = [
            Tournament(estimator, self.space, known, lambda found: self.store.set_meta("polishing", found), self.run.quality)
            for estimator in self._polishing()
        ]
        for i, (bound, trials) in enumerate(several.items()):
            title, part = f"polishing for {bound} ({i + 1} of {len(several)})", (i / len(several), (i + 1) / len(several))
            with self.progress.bar(title, part) as advance:
                ends = [way.best(trials, advance) for way in ways]
            errors = [best.values[self.run.quality] if best is not None else math.inf for best, _ in ends]
            place = errors.index(min(errors))
            best, reason = ends[place]
            if best is None:
                self.log.write("polish failed", bound=bound, reason=reason)
                self.note(f"No network with at most {bound} of the layers' parameters could be polished: {reason}")
                continue
            if best.key not in self.run.polished:
                (trial,) = [t for t in trials if t.key == best.key]
                self._keep_polished(trial, ways[place].estimator)
            ways = [ways[place]]
            for leftover in (self.networks / SCRATCH).glob(f"{POLISH}*/*/{TRAINING}"):  # of those that did not go on
                discard(leftover.parent)

    def _contenders(self) -> dict[str, list[Trial]]:
        """Level → who meets there."""
        pool = [m.trial for m in self.run.front.pool]
        floor = self.run.chance["validation"][self.run.quality] if self.run.chance else None
        whole, found = self.run.unpruned["body_parameters"], {}
        for bound in sorted(self.c.levels(), key=lambda bound: bound.resolve(whole)):
            limit = bound.resolve(whole)
            found[str(bound)] = contenders(pool, self.supernet.shape, limit, floor, self.c.candidates, self.run.quality)
            if not found[str(bound)]:
                self.note(f"Nothing was found with at most {bound} of the layers' parameters: none was polished there.")
                del found[str(bound)]
        return found

    def _polishing(self) -> list[FineTuned]:
        """Fine-tuning from the weights that the search scored (where that is asked for, from slices whose layers are distilled
        one by one), taught by the best of the method's teachers; and where variants of texts are asked for, the same with these
        and as much again to read."""
        c, trials = self.c, {m.key: m.trial for m in self.run.front.pool}
        zoo = zoo_of(self, c.polish_zoo) if c.polish_zoo else None

        def start(architecture: Architecture) -> Any:
            trial = trials[architecture.key]
            if zoo is None or self.run.has_own(trial):
                return self.run.network(self.supernet, trial)
            return zoo.network(self.run.plan(architecture))

        batches = list(self.data.batches("validation", c.evaluation_batch))
        several = self.method.teachers()
        errors = [score(teacher, self.data.task, batches)[self.run.quality] for teacher in several]
        teacher = several[errors.index(min(errors))]
        ways = [(0, c.polishing())]
        if c.variants and can_vary(self.data):
            ways.append((c.variants, replace(c.polishing(), epochs=2 * c.polish_epochs / (1 + c.variants))))
        return [
            FineTuned(
                start,
                self.data,
                settings,
                self.networks / SCRATCH / f"{POLISH}-{variants}",
                identity=f"polishing, {variants} variants",
                device=self.device,
                batch_size=c.evaluation_batch,
                logs=lambda architecture: self.logs.of(f"{POLISH}-{architecture.key}"),
                **taught_by(teacher, self.data, c.evaluation_batch, variants, c.seed),
            )
            for variants, settings in ways
        ]

    def _keep_polished(self, trial: Trial, estimator: FineTuned) -> None:
        """Test a polished network and keep it with the run."""
        key, plan = trial.key, plan_of(trial.architecture, self.supernet.shape)
        network = estimator.network(trial.architecture)
        validation, test = (
            score(network, self.data.task, self.data.batches(split, self.c.evaluation_batch))
            for split in ("validation", "test")
        )
        self.keep_curve(f"polish {key[:8]}", estimator.rows.get(key, []))
        target = self.folder / MEMBERS / key
        shutil.rmtree(target, ignore_errors=True)  # an unfinished earlier try: its result was never stored
        save_checkpoint(self.supernet, plan, target, tokenizer=self.data.tokenizer, model=network)
        counted = {n: v for n, v in trial.values.items() if n not in QUALITIES}
        self.store.add(
            Trial(
                None,
                trial.architecture,
                values={**{n: validation[n] for n in self.data.task.qualities}, **counted},
                origin=POLISH,
                details={f"test_{n}": v for n, v in test.items()},
            )
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
                    self.store.set_meta("tests", tests)  # of large networks each takes minutes: a stopped run keeps them
                advance(done + 1, len(members))
        self.write_report()
