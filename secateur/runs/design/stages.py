"""The stages of a design run, in order: fit (the latency model), search, measure (front and baselines), report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from secateur.architecture import Architecture
from secateur.catalogue import find
from secateur.checkpoints.quiet import quiet
from secateur.decoders import Builder
from secateur.devices.device import describe_device, resolve_device
from secateur.devices.runtime import check_setup
from secateur.devices.setup import Setup
from secateur.devices.steadiness import LIMIT, check_steady
from secateur.errors import BoundError, MissingExtraError, StudyError
from secateur.estimators.base import Estimator
from secateur.estimators.decoder_cost import DecoderCost
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.latency_model import LatencyModel, PredictedLatency
from secateur.estimators.latency_sample import Fitting
from secateur.estimators.memory import MemoryEstimator
from secateur.estimators.memory_model import PredictedMemory
from secateur.estimators.turns import Found, measure_in_turns
from secateur.objectives import Objective
from secateur.rng import generator
from secateur.runs.design.proxies import proxy_estimators
from secateur.runs.design.run import MEASURED, DesignMember, DesignRun
from secateur.runs.progress import Progress
from secateur.runs.stages import Staged, with_unit
from secateur.spaces.layer_scaling import base_of
from secateur.study import Study

#: The layers of the baselines that the front is compared with.
BASELINE_LAYERS = range(1, 17)
#: How often each network that is compared has its turn, at least: more seconds are more turns, of one second each.
TURNS = 5
#: A baseline's name, family, layers and architecture.
Baseline = tuple[str, str, int, Architecture]


class DesignStages(Staged):
    """One run on its way. `go` does what is left to do."""

    def __init__(self, run: DesignRun, progress: Progress) -> None:
        super().__init__(run, progress)
        self.run = run
        self.device = resolve_device(self.c.device)
        self.sizes: dict[str, Any] = {"batch": self.c.batch, "length": self.c.length}
        self.setup = Setup(
            **self.sizes,
            device=str(self.device),
            threads=self.c.threads,
            runtime=self.c.runtime,
            seconds=self.c.seconds,
            kind="language_modelling",
        )
        self.network: dict[str, Any] = self.c.network()
        # What is measured is the first segment of a text: nothing is remembered yet.
        self.cost = DecoderCost(**{**self.network, "memory": 0}, **self.sizes)
        self.build = Builder(**self.network, device=str(self.device))
        #: All that is optimised or bounded, and as the user wrote it.
        self.asked = list(zip((*run.objectives, *run.bounds), (*self.c.objectives, *(self.c.bounds or [])), strict=True))
        self.wanted = [o.name for o, _ in self.asked]

    def go(self) -> None:
        """Every stage that is not done yet."""
        self._check_bounds()
        self._check_space()
        check_setup(self.setup)
        self.searcher = self._searcher()
        wanted = ["fit"] * self._modelled + ["search"]
        wanted += ["measure"] * (self._to_be_measured or bool(self.c.baselines)) + ["report"]
        left = [stage for stage in wanted if not self.journal.done(stage)]
        if set(left) - {"report"} and self._timed:
            self._check_steady()
        for stage in left:
            self.log.write("stage", stage=stage)
            with self.journal.stage(stage), quiet():
                getattr(self, stage)()
        self.log.write("finished")

    @property
    def _timed(self) -> bool:
        return "latency" in self.wanted

    @property
    def _modelled(self) -> bool:
        return self._timed and self.c.measure == "front"

    @property
    def _to_be_measured(self) -> bool:
        """Whether the search leaves predictions behind: of latency, or of memory on a GPU."""
        return self._modelled or (self.c.measure == "front" and self.device.type == "cuda" and "memory" in self.wanted)

    # The stages

    def fit(self) -> None:
        """Measure some networks of the space, and fit what a layer costs."""
        with self.progress.bar("fitting the latency model") as advance:
            fitting = Fitting(seconds=self.c.fit_seconds, seed=self.c.seed)
            model = LatencyModel.fit(self.build, self.run.space, self.setup, fitting, advance)
        self.store.set_meta("latency_model", model.to_dict())
        self.progress.say(str(model.report))

    def search(self) -> None:
        """Search the space: free bounds first, then proxies and costs, cheapest first."""
        with self.progress.bar(f"searching ({self.c.searcher})") as advance:
            ended = sum(t.id is not None and t.status != "running" for t in self.store.trials())

            def on_trial(_: Any) -> None:
                nonlocal ended
                ended += 1
                advance(ended, self.c.trials)

            study = Study(
                self.store,
                self.searcher,
                self._estimators(),
                self.run.objectives,
                {},
                bounds=self.run.bounds,
                log=self.log,
                on_trial=on_trial,
            )
            study.run(self.c.trials)
        if study.exhausted:
            self._note(f"The searcher found nothing new after {ended} of {self.c.trials} trials and stopped.")
        if not self.run.searched.members:
            raise BoundError(self._nothing_found())

    def measure(self) -> None:
        """Measure the front, whose latencies were predicted so far, and the baselines beside it, in turns."""
        members = self._to_measure() if self._to_be_measured else []
        baselines = self._layer_scaled() if self.c.baselines else []
        timed: Found = {}
        if self._timed:
            both = {a.key: a for a in [*(m.architecture for m in members), *(a for *_, a in baselines)]}
            with self.progress.bar("measuring on this device") as advance:
                timed = measure_in_turns(
                    self._latency(self._turns),
                    list(both.values()),
                    turns=self._turns,
                    seconds=self.c.seconds,
                    found=dict(self.store.get_meta("timed", {})),
                    save=lambda found: self.store.set_meta("timed", found),
                    advance=advance,
                )
        done = {t.architecture.key for t in self.run.trials if t.origin == MEASURED}
        for member in members:
            if member.key not in done:
                self._keep(member, timed.get(member.key, {}))
        self._keep_baselines(baselines, timed)
        if members and not any(t.origin == MEASURED and t.status == "complete" for t in self.run.trials):
            reasons = {str(t.reason) for t in self.run.trials if t.origin == MEASURED}
            raise BoundError(f"nothing of the front keeps its bounds when it is measured: {'; '.join(sorted(reasons)[:3])}.")

    def _keep(self, member: DesignMember, timed: Mapping[str, Any]) -> None:
        """Store a member with its measured latency, and on a GPU its measured memory."""
        values, details = dict(member.values), dict(member.details)
        status, reason = "complete", None
        if "latency" in values:
            details["predicted_latency"] = values["latency"]
        if "failure" in timed:
            status, reason = "failed", timed["failure"]
        else:
            values |= timed.get("values", {})
            details |= timed.get("details", {})
        for estimator in self._measuring({"memory"} & set(self.wanted)) if status == "complete" else ():
            found = estimator.evaluate([member.architecture])[0]
            values |= found.values
            status, reason = ("failed", found.failure) if found.failure is not None else (status, reason)
        if status == "complete":
            broken = (o.violated(values, {}) for o in (*self.run.objectives, *self.run.bounds))
            reason = next((b for b in broken if b is not None), None)
            status = "complete" if reason is None else "infeasible"
        self.store.add(member.architecture, status, values, MEASURED, details, reason=reason)

    def _keep_baselines(self, baselines: Sequence[Baseline], timed: Found) -> None:
        """Count, score and store a published decoder with 1 to 16 of its layers: what one would take without a search."""
        scored = proxy_estimators(self.wanted, self.network, self.sizes, self.c.seed)
        estimators = [self.cost, *scored, *self._measuring({"memory"})]
        rows = []
        for name, family, layers, architecture in baselines:
            values: dict[str, float] = dict(timed.get(architecture.key, {}).get("values", {}))
            for estimator in estimators:
                values |= estimator.evaluate([architecture])[0].values
            row = {"name": name, "family": family, "layers": layers, "values": values}
            rows.append({**row, **architecture.as_dict(), "architecture": str(architecture)})
        self.store.set_meta("baselines", rows)

    def report(self) -> None:
        """The page that shows it all."""
        self.store.set_meta("device", describe_device(self.device))
        busy = sum(bool(t.details.get("latency_loaded")) for t in self.run.trials)
        if busy:
            self._note(f"The machine was busy with other work while {busy} architectures' latencies were measured.")
        from secateur.runs.design.report import write

        try:
            write(self.run)
        except MissingExtraError as error:
            self._note(f"No report was written: {error} Then: secateur report {self.run.folder}")

    # Helpers

    def _searcher(self) -> Any:
        options: dict[str, Any] = {"seed": self.c.seed}
        if self.c.searcher == "evolution":
            options |= {"hull": bool(self.c.hull), "feasible": self._feasible, "bounds": self.run.bounds}
        return find("searcher", self.c.searcher)(self.run.space, self.run.objectives, **options)

    @property
    def _identity(self) -> str:
        """What the builder builds from, for the fingerprints of what is measured."""
        return f"decoder {sorted(self.network.items())}"

    def _estimators(self) -> list[Estimator]:
        """What scores candidates during the search."""
        found: list[Estimator] = [self.cost, *proxy_estimators(self.wanted, self.network, self.sizes, self.c.seed)]
        if self.c.measure == "all":
            return [*found, *self._measuring()]
        if self._modelled:
            stored = self.run.latency_model
            assert stored is not None  # the stage before this one
            model = LatencyModel.from_dict(stored)
            model.check(self.setup)
            found.append(PredictedLatency(model, identity=self._identity))
        if "memory" in self.wanted:
            found.append(self._predicted_memory)
        return found

    @cached_property
    def _predicted_memory(self) -> PredictedMemory:
        return PredictedMemory(self.build.meta, self.setup, identity=self._identity)

    def _measuring(self, wanted: Iterable[str] | None = None) -> list[Estimator]:
        """What measures latency and memory for real, of those wanted."""
        names = set(self.wanted if wanted is None else wanted)
        found: list[Estimator] = []
        if "memory" in names:
            build: Callable[[Architecture], Any] = self.build if self.device.type == "cuda" else self.build.meta
            found.append(MemoryEstimator(build, self.setup, identity=self._identity))
        if "latency" in names:
            found.append(self._latency())
        return found

    def _latency(self, parts: int = 1) -> LatencyEstimator:
        """Measures latency for at most `seconds`, or such a part of them."""
        setup = replace(self.setup, seconds=self.c.seconds / parts)
        return LatencyEstimator(self.build, setup, identity=self._identity)

    @property
    def _turns(self) -> int:
        """How often each network is measured; once where an export comes first, which takes longer than the measurement."""
        return 1 if self.setup.exported else max(TURNS, round(self.c.seconds))

    def _feasible(self, architecture: Architecture) -> bool:
        """Whether the counted costs keep their bounds: asked before anything is built."""
        counted = self.cost.count(architecture)
        return all(o.violated(counted, {}) is None for o in (*self.run.objectives, *self.run.bounds))

    def _layer_scaled(self) -> list[Baseline]:
        """A published decoder with 1 to 16 layers: with the smallest embedding of the space, so that the decoder alone is
        compared, and as published."""
        allowed = self.run.space.allowed
        published = base_of(self.c.backbone)
        embedding, factor = min(allowed.embedding, key=lambda e: e or published.width), allowed.factor[-1]
        alike = base_of(self.c.backbone, embedding=embedding, factor=factor)
        alike = replace(alike, name=f"{published.name} with embedding {embedding or 'plain'}")
        bases = [published] if alike.with_layers(1) == published.with_layers(1) else [alike, published]
        return [(base.title(n), base.name, n, base.with_layers(n)) for base in bases for n in BASELINE_LAYERS]

    def _to_measure(self) -> list[DesignMember]:
        """At most `most_measured` of the front, at most three quarters of them those that are to be compared with a baseline:
        the cheapest, in each cost, that is at least as good. Where there are too many of a cost they are thinned out evenly,
        and so are the others."""
        front = list(self.run.searched)
        most = int(self.c.most_measured)
        if len(front) <= most:
            return front
        proxy, *costs = self.run.objectives
        counted = self.c.baselines and proxy.name in self.cost.yields
        levels = {self.cost.count(a)[proxy.name] for *_, a in self._layer_scaled()} if counted else set()
        chosen: dict[str, DesignMember] = {}
        for cost in costs:
            good = ([m for m in front if m.values[proxy.name] >= level] for level in sorted(levels))
            best = (min(some, key=lambda m: cost.sign * m.values[cost.name]) for some in good if some)
            chosen |= {m.key: m for m in _evenly(list({m.key: m for m in best}.values()), 3 * most // 4 // len(costs))}
        left = sorted((m for m in front if m.key not in chosen), key=lambda m: m.values[proxy.name])
        return [*chosen.values(), *_evenly(left, most - len(chosen))]

    def _check_space(self) -> None:
        """Refuse a space in which nothing is to be chosen."""
        if self.run.space.size() < 2:
            raise StudyError("the space has one architecture only: there is nothing to search. Widen a range.")

    def _check_bounds(self) -> None:
        """Refuse, before anything is measured, bounds on counts and memory that no architecture of the space can meet."""
        space = self.run.space
        least, most = self.cost.count(space.smallest()), self.cost.count(space.largest())
        if any(o.name == "memory" and o.upper is not None for o, _ in self.asked):
            smallest = self._predicted_memory.evaluate(space.smallest_of_each())
            least["memory"] = min(found.values["memory"] for found in smallest)
        for o, text in self.asked:
            for extreme, bound, beyond, which in ((least, o.upper, 1, "smallest"), (most, o.lower, -1, "largest")):
                if bound is None or o.name not in extreme or beyond * (extreme[o.name] - bound.value) <= 0:
                    continue
                raise BoundError(
                    f"nothing in this space meets `{text}`: its {which} network has {with_unit(o.name, extreme[o.name])}. "
                    "Loosen the bound, or widen the ranges."
                )

    def _check_steady(self) -> None:
        steady = check_steady(self.setup, allow=bool(self.c.unsteady))
        self.log.write("steadiness", spread=steady.spread)
        if steady.spread > LIMIT:
            self._note(f"This device was not steady: {steady}.")

    def _nothing_found(self) -> str:
        """Which bound nothing met, and how near the search came."""
        for o, text in self.asked:
            broken = [t.values[o.name] for t in self.run.trials if o.name in t.values and o.violated(t.values, {})]
            if broken:
                near = min(broken) if _beyond(o, broken) else max(broken)
                return (
                    f"none of {self.c.trials} trials met `{text}`. The nearest had {with_unit(o.name, near)}. "
                    "Loosen the bound in a new run, allow more trials, or change the ranges."
                )
        last = next((t.reason for t in reversed(self.run.trials) if t.reason), None)
        if last is not None:
            return f"none of {self.c.trials} trials could be evaluated: {last}."
        bounds = [o for o, _ in self.asked if o.name in self.cost.yields]
        counts = [self.cost.count(a) for a in self.run.space.sample_many(2000, generator(self.c.seed, "nearest"))]
        nearest = min(counts, key=lambda counted: sum(o.excess(counted[o.name]) for o in bounds))
        there = ", ".join(with_unit(name, nearest[name]) for name in dict.fromkeys(o.name for o in bounds))
        return f"nothing was found that keeps all bounds at once. The nearest of 2,000 random architectures has {there}."


def _evenly(members: Sequence[DesignMember], count: int) -> list[DesignMember]:
    """`count` of them from the first to the last, evenly spaced; all where there are no more."""
    if len(members) <= count:
        return list(members)
    return [members[round(i * (len(members) - 1) / max(count - 1, 1))] for i in range(count)]


def _beyond(objective: Objective, values: Sequence[float]) -> bool:
    """Whether the values lie above the upper bound."""
    upper = objective.upper.value if objective.upper is not None else math.inf
    return min(values) > upper
