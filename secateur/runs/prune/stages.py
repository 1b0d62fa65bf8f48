"""The stages of a run, in order: warm-up, order, train, search, polish, report. Each leaves its result in the run's folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from secateur.catalogue import find
from secateur.checkpoints.quiet import quiet
from secateur.devices.device import describe_device, resolve_device
from secateur.errors import BoundError, EvaluationFailure, MissingExtraError
from secateur.estimators.base import Estimator
from secateur.estimators.cost import Cost
from secateur.estimators.shared_weights import SharedWeightsError, score
from secateur.export.checkpoint import save_checkpoint
from secateur.rng import generator
from secateur.runs.prune.run import MEMBERS, ORDER
from secateur.runs.prune.workbench import SCRATCH, WARMED, Workbench
from secateur.runs.stages import with_unit
from secateur.study import POLISH, Front, Member, Study
from secateur.supernet import Importance, importance, reorder
from secateur.tasks import Examples
from secateur.training.polish import polish
from secateur.training.trainer import train_supernet

SCORED = 1024  # training examples that importance is computed on


class Stages(Workbench):
    """One run on its way. `go` does what is left to do."""

    def go(self) -> None:
        """Every stage that is not done yet."""
        self.prepare()
        wanted = ["warm-up", "order"] * bool(self.c.order) + ["train", "search"] + ["polish"] * bool(self.c.polish) + ["report"]
        for stage in wanted:
            if self.journal.done(stage):
                continue
            self.log.write("stage", stage=stage)
            with self.journal.stage(stage):
                getattr(self, stage.replace("-", "_"))()
        for leftover in (SCRATCH, WARMED):  # only now: a run killed between two stages needs them to go on
            shutil.rmtree(self.folder / leftover, ignore_errors=True)
        self.log.write("finished")

    # The stages

    def warm_up(self) -> None:
        """An ordinary fine-tuning run: importance means little before the head is trained."""
        self._train("warm-up", find("strategy", "standard")(self.space), self.c.warming_up())
        self._save(self.folder / WARMED)

    def order(self) -> None:
        """Sort every layer's heads and units by importance. The permutation and the scores are kept."""
        # a random part: the data may be sorted by label
        some = generator(self.c.seed, "order").permutation(len(self.data.train))[:SCORED]
        columns = self.data.train.columns
        examples = Examples({name: [values[i] for i in some] for name, values in columns.items()})
        with self.progress.bar("scoring heads and units") as advance:
            total = -(-len(examples) // 32)

            def batches() -> Any:
                for done, batch in enumerate(self.data.batches(examples, 32)):
                    advance(done + 1, total)
                    yield {name: value.to(self.device) for name, value in batch.items()}

            scores: Importance = importance(self.supernet, batches())
        order = scores.order()
        save_file({**scores.as_arrays(), **order.as_arrays()}, self.folder / ORDER)
        reorder(self.supernet, order)

    def train(self) -> None:
        """Train the super-network with the strategy."""
        strategy = find("strategy", self.c.strategy)(self.space, k=self.c.k)
        self._train("train", strategy, self.c.training())
        self._save(self.folder)

    def search(self) -> None:
        """Search the space on shared weights."""
        error = SharedWeightsError(
            self.supernet, self.space, self.data, batch_size=self.c.evaluation_batch, depths=self._sweeping()
        )
        estimators: list[Estimator] = [Cost(self.supernet, self.space, length=self.length), error]
        estimators += self._measuring([o.name for o in self.run.objectives])
        if not self.store.get_meta("unpruned"):
            self.store.set_meta("unpruned", self._whole([o.name for o in self.run.objectives]))
        with self.progress.bar(f"searching ({self.c.searcher})") as advance:
            ended = [sum(t.id is not None and t.status != "running" for t in self.store.trials())]

            def on_trial(trial: Any) -> None:
                ended[0] += 1
                advance(ended[0], self.c.trials)

            study = Study(
                self.store, self.searcher, estimators, self.run.objectives, self.run.unpruned, log=self.log, on_trial=on_trial
            )
            study.run(self.c.trials)
        if study.exhausted:
            self._note(f"The searcher found nothing new after {ended[0]} of {self.c.trials} trials and stopped.")
        if not self.run.front.members:
            raise BoundError(self._nothing_found())

    def _sweeping(self) -> bool:
        """Whether shallower depths are worth scoring: they are no results where other objectives have to be measured."""
        return bool(self.c.depths) and all(o.name in ("error", *Cost.yields) for o in self.run.objectives)

    def _nothing_found(self) -> str:
        """Which bounds nothing met, and how near the search came."""
        unpruned = self.run.unpruned
        for objective, text in zip(self.run.objectives, self.c.objectives, strict=True):
            broken = [t.values[objective.name] for t in self.run.trials if objective.violated(t.values, unpruned)]
            if broken:
                near = min(broken) if objective.upper is not None else max(broken)
                whole = unpruned.get(objective.name)
                share = f" ({100 * near / whole:.3g}%)" if whole else ""
                return (
                    f"none of {self.c.trials} trials met `{text}`. The nearest had {with_unit(objective.name, near)}{share}. "
                    "Loosen the bound in a new run, or allow more trials."
                )
        return f"none of {self.c.trials} trials could be evaluated: {self.store.trials()[-1].reason}."

    def polish(self) -> None:
        """Fine-tune the best sub-network below each share of the body's parameters."""
        chosen = self._chosen()
        (self.run.folder / MEMBERS).mkdir(exist_ok=True)
        for i, member in enumerate(chosen):
            if member.architecture.key in self.run.polished:
                continue
            self._polish_one(member, f"polishing {i + 1} of {len(chosen)}")

    def _chosen(self) -> list[Member]:
        found: dict[str, Member] = {}
        pool = Front.of(self.run.trials, self.run.objectives, self.run.unpruned)
        for bound in self.c.bounds():
            try:
                best = pool.best(under={"body_parameters": bound})
            except BoundError as error:
                self.log.write("not polished", bound=str(bound), reason=str(error))
                continue
            found.setdefault(best.architecture.key, best)
        return list(found.values())

    def _polish_one(self, member: Member, title: str) -> None:
        key = member.architecture.key
        plan = self.space.plan(member.architecture)
        student = self.supernet.extract(plan)
        scratch = self.folder / SCRATCH / f"polish-{key}"
        name = f"polish {key[:8]}"
        try:
            with self.progress.bar(title) as advance, quiet():
                rows = polish(
                    student, self.supernet.model, self.data, self.c.polishing(), scratch, device=self.device, progress=advance
                )
        except EvaluationFailure as failure:
            self.log.write("polish failed", key=key, reason=str(failure))
            self.store.add(member.architecture, "failed", {}, POLISH, reason=str(failure))
            return
        self._keep_curve(name, rows)
        validation = score(student, self.data.task, self.data.batches("validation", self.c.evaluation_batch))
        test = score(student, self.data.task, self.data.batches("test", self.c.evaluation_batch))
        target = self.run.folder / MEMBERS / key
        shutil.rmtree(target, ignore_errors=True)  # an unfinished earlier try: its result was never stored
        with quiet():
            save_checkpoint(self.supernet, plan, target, tokenizer=self.data.tokenizer, model=student)
        counted = {n: v for n, v in member.values.items() if n != "error"}
        self.store.add(
            member.architecture,
            "complete",
            {"error": validation["error"], **counted},
            POLISH,
            {f"test_{n}": v for n, v in test.items()},
        )
        shutil.rmtree(scratch, ignore_errors=True)

    def report(self) -> None:
        """Test scores, measurements of the chosen, and the page. The test set is touched here and for polished ones only."""
        front = self.run.front
        wanted = set(self.run.polished) or {m.architecture.key for m in self._chosen()}
        chosen = [m for m in front.pool if m.key in wanted]  # those that the report compares with the whole network
        keys = {m.key for m in front} | {m.key for m in chosen} | set(self.run.polished)
        members = [m for m in front.pool if m.key in keys]
        tests = self.run.tests
        with self.progress.bar("scoring on test data") as advance:
            batches = list(self.data.batches("test", self.c.evaluation_batch))
            if self.run.unpruned_test is None:
                self.store.set_meta("unpruned_test", score(self.supernet.model, self.data.task, batches))
            for done, member in enumerate(members):
                if member.key not in tests:
                    tests[member.key] = self._test(member.architecture, batches)
                advance(done + 1, len(members))
        self.store.set_meta("tests", tests)
        with self.progress.bar("measuring on this machine") as advance:
            self._measure([m.architecture for m in chosen], advance)
        self.store.set_meta("device", describe_device(resolve_device(self.c.device)))
        from secateur.verbs.report import write

        try:
            write(self.run)
        except MissingExtraError as error:
            self._note(f"No report was written: {error} Then: secateur report {self.run.folder}")

    # Helpers

    def _train(self, name: str, strategy: Any, settings: Any) -> None:
        with self.progress.bar(f"training ({strategy.name})") as advance, quiet():
            rows = train_supernet(
                self.supernet,
                strategy,
                self.data,
                settings,
                self.folder / SCRATCH / name,
                device=self.device,
                progress=advance,
            )
        self._keep_curve(name, rows)

    def _keep_curve(self, name: str, rows: list[dict[str, float]]) -> None:
        for row in rows:
            self.store.log_curve(name, int(row["step"]), {"loss": row["loss"], "learning_rate": row.get("learning_rate", 0.0)})

    def _save(self, folder: Path) -> None:
        with quiet():
            self.supernet.model.save_pretrained(folder)
            self.data.tokenizer.save_pretrained(folder)

    def _test(self, architecture: Any, batches: Any) -> dict[str, float]:
        return score(self._build(architecture), self.data.task, batches)

    def _measure(self, architectures: list[Any], advance: Any) -> None:
        """Latency and memory of the whole network and of the chosen ones, for the report's before and after."""
        measured = self.run.measured
        estimators = self._measuring(["latency", "memory"])
        jobs: list[tuple[str, Any]] = [("unpruned", self.layers.largest()), *((a.key, a) for a in architectures)]
        for done, (key, architecture) in enumerate(jobs):
            if key not in measured:
                values: dict[str, float] = {}
                for estimator in estimators:
                    found = estimator.evaluate([architecture])[0]
                    values.update(found.values)
                    if found.details.get("latency_loaded"):
                        self._note("The machine was busy with other work while latencies were measured: they are too high.")
                measured[key] = values
            advance(done + 1, len(jobs))
        self.store.set_meta("measured", measured)
