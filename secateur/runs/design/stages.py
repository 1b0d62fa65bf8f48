"""The stages of a design run, in order: fit (the latency model), search, measure (front and baselines), report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from secateur.architecture import Architecture
from secateur.catalogue import find_searcher
from secateur.decoders import Builder
from secateur.devices.device import describe_device, resolve_device
from secateur.devices.runtime import check_setup
from secateur.devices.setup import Setup
from secateur.devices.steadiness import check_steady
from secateur.errors import BoundError, StudyError
from secateur.estimators.base import Estimator
from secateur.estimators.cost import DecoderCost
from secateur.estimators.decoder_latency import DecoderLatency, DecoderParts
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.latency_model import LatencyModel
from secateur.estimators.latency_sample import Fitting
from secateur.estimators.measuring import measuring
from secateur.estimators.memory_model import PredictedMemory
from secateur.estimators.together import Together
from secateur.estimators.turns import Found, measure_in_turns
from secateur.objectives import Objective, excess
from secateur.report.numbers import with_unit
from secateur.runs.bounds import check_bounds
from secateur.runs.design.baselines import LAYERS, Baseline, layer_scaled
from secateur.runs.design.fitting import fit_model
from secateur.runs.design.proxies import proxy_estimators
from secateur.runs.design.run import DesignMember, DesignRun
from secateur.runs.design.searching import exact_start
from secateur.runs.progress import Progress
from secateur.runs.stages import SearchWork, Stage
from secateur.runs.timing import Effort
from secateur.search.exact import Solution
from secateur.search.layer_sums import LayerSums, told_by
from secateur.trial import MEASURED, Status, Trial

#: How often each network that is compared has its turn, at least: more seconds are more turns, of one second each.
TURNS = 5


class DesignWork(SearchWork):
    """One run on its way."""

    def __init__(self, run: DesignRun, progress: Progress) -> None:
        super().__init__(run, progress)
        self.run = run
        self.device = resolve_device(self.c.device)
        self.setup = self.c.setup(device=str(self.device))
        self.sizes = self.c.sizes()
        # What is measured is the first segment of a text: nothing is remembered yet.
        self.cost = DecoderCost(replace(self.sizes, recurrence=0), batch=self.c.batch, length=self.c.length)
        self.build = Builder(self.sizes, device=str(self.device))
        self.wanted = [o.name for o, _ in self.asked()]

    def prepare(self) -> None:
        """Refuse, before anything is measured, bounds and spaces in which nothing is to be found."""
        space = self.run.space
        least, most = self.cost.count(space.smallest()), self.cost.count(space.largest())
        if any(o.name == "memory" and o.upper is not None for o, _ in self.asked()):
            smallest = self._predicted_memory.evaluate(space.smallest_of_each())
            least["memory"] = min(found.values["memory"] for found in smallest)
        check_bounds(space.name, self.asked(), least, most, {})
        if space.size() < 2:
            raise StudyError("the space contains only one architecture, so there is nothing to search. Widen a range.")
        check_setup(self.setup)
        self.check_workers(self.wanted if self.c.measure == "all" else [])

    def stages(self) -> list[Stage]:
        fit = [Stage("fit", self.fit)] if self._modelled else []
        return [*fit, self.search_stage(), Stage("measure", self.measure), Stage("report", self.report)]

    def efforts(self) -> Mapping[str, Effort]:
        # A candidate that is not measured takes milliseconds.
        trial = self.c.seconds if self._timed and self.c.measure == "all" else 0.01
        compared = self.c.most_measured * self._to_be_measured + 3 * len(LAYERS) * self.c.baselines
        compared *= 2 if self._remembers else 1
        return {
            "fit": Effort(seconds=self.c.fit_seconds),
            "search": Effort(seconds=self.c.trials * trial),
            "measure": Effort(seconds=compared * self.c.seconds * self._timed),
            "report": Effort(seconds=2.0),
        }

    def before_stages(self, left: list[str]) -> None:
        """Refuse a device that cannot be measured steadily."""
        if not (set(left) - {"report"} and self._timed):
            return
        steady = check_steady(self.setup, allow=bool(self.c.unsteady))
        self.log.write("steadiness", spread=steady.spread)
        if steady.spread > 0.1:
            self.note(f"This device was not steady: {str(steady).rstrip('.')}.")

    @property
    def _timed(self) -> bool:
        return "latency" in self.wanted

    @property
    def _remembers(self) -> bool:
        """Whether networks have a memory of earlier text that can be full when they are measured."""
        return bool(self.sizes.recurrence) and self.setup.runtime == "torch"

    @property
    def _modelled(self) -> bool:
        return self._timed and self.c.measure == "front"

    @property
    def _to_be_measured(self) -> bool:
        """Whether the search leaves predictions behind: of latency, or of memory on a GPU."""
        return self._modelled or (self.c.measure == "front" and self.device.type == "cuda" and "memory" in self.wanted)

    # The search.

    def fit(self) -> None:
        """Measure some networks of the space, and fit what a layer costs."""
        fitting = Fitting(seconds=self.c.fit_seconds, seed=self.c.seed)
        with self.progress.bar("fitting the latency model") as advance:
            wanted = [*self.run.objectives, *self.run.bounds]
            model = fit_model(self.build, self.run.space, self.setup, fitting, self.cost, wanted, advance)
        self.store.set_meta("latency_model", model.to_dict())
        self.progress.say(str(model.report))

    def searcher(self) -> Any:
        run = self.run
        options: dict[str, Any] = {"seed": self.c.seed, **self.c.searcher_sizes(self.c.searcher)}
        if self.c.searcher == "exact":
            options |= {"sums": self._sums, "bounds": run.bounds}
        if self.c.searcher == "evolution":
            options |= {"excess": self._excess, "hull": bool(self.c.hull), "bounds": run.bounds}
            if self.c.start == "exact":
                options["start"] = lambda: exact_start(run.space, self._sums(), run.objectives, run.bounds, self.c.seed)
        return find_searcher(self.c.searcher)(self.run.space, self.run.objectives, **options)

    def _excess(self, architecture: Architecture) -> float:
        """By how much the counted costs break their bounds: asked before anything is built."""
        return float(excess(self.cost.count(architecture), (*self.run.objectives, *self.run.bounds)))

    def _sums(self) -> list[LayerSums]:
        """What adds up over layers."""
        found: list[LayerSums] = [e for e in self.estimators() if isinstance(e, LayerSums)]
        return found if self.c.measure == "front" else [*found, self._predicted_memory]

    def estimators(self) -> list[Estimator]:
        found: list[Estimator] = [self.cost, *self._proxies()]
        if self.c.measure == "all":
            return [*found, *self._measuring(self.wanted)]
        if self._modelled:
            stored = self.run.latency_model
            assert stored is not None  # the stage before this one
            model = LatencyModel.from_dict(stored, DecoderParts(self.run.space))
            model.check(self.setup)
            found.append(DecoderLatency(model, identity=self._identity))
        if "memory" in self.wanted:
            found.append(self._predicted_memory)
        return found

    def not_even_asked(self) -> str:
        sums = self._sums()
        known = told_by(sums)
        asked = [(o, text) for o, text in self.asked() if o.name in known and (o.upper or o.lower)]
        bounds = [o for o, _ in asked]
        solution = Solution.of(self.run.space, sums, [Objective("decoder_parameters", "max")], bounds)
        said = f"{', '.join(f'`{text}`' for _, text in asked)}{' at once' * (len(asked) > 1)}"
        if solution.nearest is None:
            return f"nothing was found that meets {said}, though {solution.architecture(0)} does. Allow more trials."
        there = ", ".join(with_unit(name, solution.nearest[name]) for name in dict.fromkeys(o.name for o in bounds))
        return f"no architecture meets {said}. The nearest has {there}."

    @property
    def _identity(self) -> str:
        """What the builder builds from, for the fingerprints of what is measured."""
        return f"decoder to log-probabilities {sorted(self.sizes.as_dict().items())}"

    def _proxies(self) -> list[Estimator]:
        return proxy_estimators(self.wanted, self.sizes, self.c.length, self.c.seed)

    @cached_property
    def _predicted_memory(self) -> PredictedMemory:
        return PredictedMemory(self.build.meta, self.setup, identity=self._identity)

    def _measuring(self, names: Iterable[str]) -> list[Estimator]:
        """What measures latency and memory for real, of those named."""
        return measuring(names, self.build, self.setup, identity=self._identity, memory=self._followed)

    @property
    def _followed(self) -> Any:
        """What builds the networks whose memory is measured."""
        return self.build if self.device.type == "cuda" else self.build.meta

    # The front and the baselines, measured.

    def measure(self) -> None:
        """Measure the front, whose latencies were predicted or not asked for so far, and the baselines beside it, in turns."""
        unknown = {"latency", "memory"} - set(self.wanted)
        members = self._to_measure() if self._to_be_measured or unknown else []
        baselines = layer_scaled(self.c.backbone, self.run.space) if self.c.baselines else []
        untimed = [m.architecture for m in members if self._modelled or not self._timed]
        timed = self._in_turns([*untimed, *(b.architecture for b in baselines)], self.setup)
        if self._to_be_measured:
            self._measure_again(members, timed)
        elif unknown:
            self._measure_besides(members, timed, unknown)
        later = self._measure_later([*(m.architecture for m in members), *(b.architecture for b in baselines)])
        self.store.set_meta("later", later)
        self._keep_baselines(baselines, timed, later)

    def _measure_again(self, members: Sequence[DesignMember], timed: Found) -> None:
        """Trials with measured values in place of the predicted ones that the search went by."""
        done = {t.key for t in self.run.trials if t.origin == MEASURED}
        together = Together(self._measuring({"memory"}), self.run.objectives, self.run.bounds)
        for member in members:
            if member.key not in done:
                self.store.add(self._measured(member, timed.get(member.key, {}), together))
        measured = [t for t in self.run.trials if t.origin == MEASURED]
        if members and not any(t.complete for t in measured):
            reasons = sorted({str(t.reason) for t in measured})[:3]
            raise BoundError(f"no member of the front meets its bounds when it is measured: {'; '.join(reasons)}.")

    def _measure_besides(self, members: Sequence[DesignMember], timed: Found, unknown: set[str]) -> None:
        """What the search did not go by, and users choose by all the same."""
        together = Together(self._measuring({"memory"} & unknown), patient=True)
        found = {}
        for member in members:
            (memory,) = together.evaluate([member.architecture])
            self._say_unmeasured(member.architecture, memory.reason)
            found[member.key] = {**timed.get(member.key, {}).get("values", {}), **memory.values}
        self.store.set_meta("measured", found)

    def _measure_later(self, architectures: Sequence[Architecture]) -> dict[str, dict[str, float]]:
        """Key → latency and memory of Transformer-XLs whose memory of earlier text is full, as it is when they are used."""
        if not self._remembers:
            return {}
        setup = replace(self.setup, remembered=self.sizes.recurrence)
        timed = self._in_turns(architectures, setup, "timed_later")
        own = measuring(["memory"], self.build, setup, identity=self._identity, memory=self._followed)
        memory = Together(own, patient=True)
        found = {}
        for architecture, one in zip(architectures, memory.evaluate(architectures), strict=True):
            self._say_unmeasured(architecture, one.reason)
            values = {**timed.get(architecture.key, {}).get("values", {}), **one.values}
            found[architecture.key] = {f"later_{name}": value for name, value in values.items()}
        return found

    def _in_turns(self, architectures: Sequence[Architecture], setup: Setup, kept: str = "timed") -> Found:
        """Key → the latency of each; `kept` is the fact that holds them."""
        if not architectures:
            return {}
        # Nobody searched by it where it is no objective: less will do.
        seconds = self.c.seconds if self._timed else min(self.c.seconds, 1.0)
        # Once where an export comes first, which takes longer than the measurement.
        turns = 1 if setup.exported else max(TURNS, round(seconds))
        setup = replace(setup, seconds=seconds / turns)
        with self.progress.bar("measuring on this device") as advance:
            timed = measure_in_turns(
                LatencyEstimator(self.build, setup, identity=self._identity),
                list({a.key: a for a in architectures}.values()),
                turns=turns,
                seconds=seconds,
                found=dict(self.store.get_meta(kept, {})),
                save=lambda found: self.store.set_meta(kept, found),
                advance=advance,
            )
        for architecture in architectures:
            self._say_unmeasured(architecture, timed[architecture.key].get("failure"))
        return timed

    def _say_unmeasured(self, architecture: Architecture, reason: str | None) -> None:
        if reason is not None:
            self.note(f"{architecture} could not be measured: {reason}.")

    def _measured(self, member: DesignMember, timed: Mapping[str, Any], together: Together) -> Trial:
        """A member with its measured latency, and its measured memory where that was predicted."""
        values, details = dict(member.values), dict(member.details)
        if self._modelled:
            details["predicted_latency"] = values["latency"]
        reason: str | None = timed.get("failure")
        if reason is None:
            values |= timed.get("values", {})
            details |= timed.get("details", {})
            (found,) = together.evaluate([member.architecture])
            values |= found.values
            reason = found.reason if found.status == Status.FAILED else None
        status = Status.COMPLETE if reason is None else Status.FAILED
        if reason is None and (reason := together.violated(values)) is not None:
            status = Status.INFEASIBLE
        return Trial(None, member.architecture, status, values, reason=reason, origin=MEASURED, details=details)

    def _keep_baselines(self, baselines: Sequence[Baseline], timed: Found, later: Mapping[str, Mapping[str, float]]) -> None:
        """Count, score and store the baselines: what one would take without a search."""
        together = Together([self.cost, *self._proxies(), *self._measuring({"memory"})], patient=True)
        rows = []
        for baseline, found in zip(baselines, together.evaluate([b.architecture for b in baselines]), strict=True):
            architecture = baseline.architecture
            if found.reason is not None:
                self.note(f"{baseline.name} could not be evaluated completely: {found.reason}.")
            values = {**timed.get(architecture.key, {}).get("values", {}), **found.values, **later.get(architecture.key, {})}
            row = {"name": baseline.name, "family": baseline.family, "layers": baseline.layers, "alike": baseline.alike}
            rows.append({**row, "values": values, **architecture.as_dict(), "architecture": str(architecture)})
        self.store.set_meta("baselines", rows)

    def _to_measure(self) -> list[DesignMember]:
        """At most `most_measured` of the front. Those to be compared with a baseline, the cheapest that are at least as good,
        take at most half of the places by the first cost and a quarter by the others; where there are too many they are thinned
        out evenly, and so are the members that fill up the rest."""
        front = list(self.run.searched)
        most = self.c.most_measured
        if len(front) <= most:
            return front
        proxy, *costs = self.run.objectives
        counted = self.c.baselines and proxy.name in self.cost.yields
        scaled = layer_scaled(self.c.backbone, self.run.space) if counted else []
        levels = sorted({self.cost.count(b.architecture)[proxy.name] for b in scaled})
        chosen: dict[str, DesignMember] = {}
        for place, cost in enumerate(costs):
            room = most // 2 if place == 0 else most // 4 // (len(costs) - 1)
            good = ([m for m in front if m.values[proxy.name] >= level] for level in levels)
            best = (min(some, key=lambda m: cost.sign * m.values[cost.name]) for some in good if some)
            chosen |= {m.key: m for m in evenly(list({m.key: m for m in best}.values()), room)}
        left = sorted((m for m in front if m.key not in chosen), key=lambda m: m.values[proxy.name])
        return [*chosen.values(), *evenly(left, most - len(chosen))]

    def report(self) -> None:
        """The page that shows it all."""
        self.store.set_meta("device", describe_device(self.device))
        busy = sum(bool(t.details.get("latency_loaded")) for t in self.run.trials)
        if busy:
            self.note(f"The machine was busy with other work while the latency of {busy} of the architectures was measured.")
        self.write_report()


def evenly(members: Sequence[DesignMember], count: int) -> list[DesignMember]:
    """`count` of them from the first to the last, evenly spaced; all where there are no more."""
    if len(members) <= count:
        return list(members)
    return [members[round(i * (len(members) - 1) / max(count - 1, 1))] for i in range(count)]
