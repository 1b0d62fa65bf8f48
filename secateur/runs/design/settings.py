"""The settings of `secateur design`: written once, for the verb, the config file and the checks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from secateur import catalogue
from secateur.catalogue import explained, listed
from secateur.devices.setup import Setup
from secateur.objectives import Bound, Objective, serving
from secateur.runs.design.searching import not_adding_up
from secateur.runs.settings import Faults, SearchRunSettings
from secateur.settings import DAY, MOST_TOKENS, MOST_TRIALS, option, shared, shown
from secateur.spaces.decoder import LARGE, PAPER, Decoder
from secateur.spaces.decoder_sizes import MOST_VOCABULARY, Sizes
from secateur.spaces.domains import Range, options

_SPACE, _NETWORK, _SEARCH, _MEASURE = "The space", "The networks", "The search", "Measuring"
_RANGES = ("layers", "width", "inner", "heads", "embedding", "factor")
Values = str | list[int]


@dataclass(frozen=True, kw_only=True)
class DesignSettings(SearchRunSettings):
    """By default the paper's ranges; the search runs on a latency model and measures the front at its end."""

    verb: ClassVar[str] = "design"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        # Javaheripi et al. (2022): every candidate is measured, parents come from the convex hull of what was measured.
        "javaheripi2022": {"factor": [4], "searcher": "evolution", "hull": True, "measure": "all"},
        "large": {**LARGE, "bounds": ["parameters>=300M<=500M"]},
    }

    preset: str = option(
        "default",
        "Where the values you do not give come from: default, javaheripi2022 (the paper's setup) or large (300–500 M).",
    )
    backbone: str = option("gpt2", f"{listed('backbone', 'design')}.")
    layers: Values = option(PAPER["layers"], "Range of layers.", panel=_SPACE)
    width: Values = option(PAPER["width"], "Range of the model's width.", panel=_SPACE)
    inner: Values = option(PAPER["inner"], "Range of the inner width, at least twice the model's.", panel=_SPACE)
    heads: Values = option(list(PAPER["heads"]), "Numbers of heads.", panel=_SPACE)
    embedding: Values = option(list(PAPER["embedding"]), "Widths of the adaptive embedding; 0 is a plain table.", panel=_SPACE)
    factor: Values = option(
        [1, 2, 4], "Factors k by which the vectors of rarer words get narrower; 4 in the paper's preset.", panel=_SPACE
    )
    homogeneous: bool = option(False, "Only networks whose layers are all equal.", panel=_SPACE, flag="--homogeneous")
    vocabulary: int = shared(Sizes, "vocabulary", 50257, panel=_NETWORK)
    positions: int = shared(Sizes, "positions", panel=_NETWORK)
    cutoffs: str | None = option(
        None, "Where the vocabulary's clusters end: 20000,40000. By default these two and 200000.", panel=_NETWORK
    )
    recurrence: int = shared(Sizes, "recurrence", 192, panel=_NETWORK)
    objectives: list[str] = option(
        ["decoder_parameters", "latency", "memory"],
        "decoder_parameters (or another proxy for quality) first, then costs: latency, memory, parameters, macs; optionally "
        "with a bound: 'latency<=200ms'. Repeat it for several.",
        flag="--objective",
    )
    bounds: list[str] = option(
        [],
        "A bound on a quantity that is not optimised: 'parameters<=30M', 'decoder_parameters>=5M'. Repeat it for several.",
        flag="--bound",
    )
    searcher: str | None = option(
        None,
        f"{explained('searcher', 'design')}; by default exact if everything you ask for adds up over layers, otherwise "
        "evolution from an exact start.",
        panel=_SEARCH,
    )
    start: str = option(
        "random",
        "What evolution starts from: random draws, or exact: first the exact front of the costs that add up over layers.",
        panel=_SEARCH,
        known=("random", "exact"),
    )
    # 100 at random, then 30 iterations of 80 children
    trials: int = option(2500, "How many architectures the searcher may try.", least=1, most=MOST_TRIALS)
    hull: bool = option(False, "Take evolution's parents from the front's convex hull.", panel=_SEARCH)
    measure: str = option(
        "front",
        "front: a latency model scores candidates and only the front is measured; all: every candidate is measured.",
        panel=_MEASURE,
        known=("front", "all"),
    )
    most_measured: int = option(
        48, "Measure at most this many members of the front at the end.", panel=_MEASURE, least=1, most=10_000
    )
    seconds: float = option(
        5.0, "Seconds to measure each network for, at most, in turns of a second.", panel=_MEASURE, above=0, most=DAY
    )
    fit_seconds: float = option(240.0, "Seconds to measure for the latency model, roughly.", panel=_MEASURE, above=0, most=DAY)
    runtime: str = shared(Setup, "runtime")
    batch: int = shared(Setup, "batch", about="Sequences per measured pass.", panel=_MEASURE)
    length: int = shared(Setup, "length", 192, about="Tokens per measured sequence.", panel=_MEASURE)
    threads: int = shared(Setup, "threads", about="CPU threads of a measured pass.", panel=_MEASURE)
    unsteady: bool = option(
        False, "Continue even if the device cannot be measured steadily.", panel=_MEASURE, flag="--unsteady"
    )
    baselines: bool = option(True, "Measure layer-scaled baselines for comparison.", panel=_MEASURE)
    device: str = shared(SearchRunSettings, "device", "cpu")

    @classmethod
    def _plain(cls, values: dict[str, Any]) -> dict[str, Any]:
        out = dict(values)
        for name in ("objectives", "bounds"):
            if name in out:
                several = out[name] if isinstance(out[name], list | tuple) else [out[name]]
                out[name] = [str(v) for v in several]
        if out.get("searcher") is None:
            asked = [*out.get("objectives", cls.usual("objectives")), *out.get("bounds", [])]
            unfit = not_adding_up([re.split("[<>]", text)[0].strip() for text in asked], out.get("measure", cls.measure))
            out["searcher"] = "evolution" if unfit or out.get("hull") else "exact"
            out.setdefault("start", "exact" if unfit else cls.start)
        cutoffs = out.get("cutoffs")
        if cutoffs is not None and not isinstance(cutoffs, str):
            out["cutoffs"] = ",".join(map(shown, cutoffs if isinstance(cutoffs, list | tuple) else [cutoffs]))
        for name in _RANGES:  # plain YAML: a range that is an object as text, a tuple or a number as a list
            if name in out:
                value = str(out[name]) if isinstance(out[name], Range) else out[name]
                out[name] = value if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else [value]
        return out

    def contradictions(self) -> list[str]:
        found = Faults(super().contradictions())
        found.tried(self.space)
        found.tried(catalogue.check_searcher, self.searcher, self.verb)
        found.tried(self.check_sizes, str(self.searcher))
        if self.vocabulary >= 1:
            found.tried(self.sizes)
        if self.hull and self.searcher != "evolution" and self.preset != "javaheripi2022":
            found.append(f"`hull` is for the searcher `evolution`, got `{self.searcher}`.")
        if self.start == "exact" and self.searcher != "evolution":
            found.append(f"`start` is for the searcher `evolution`, got `{self.searcher}`.")
        if self.backbone == "gpt2" and 0 < self.positions < self.length <= MOST_TOKENS:
            found.append(f"`length` must be at most `positions` ({self.positions}), got {self.length}.")
        if self.runtime != "torch" and self.device not in ("cpu", "auto"):
            found.append(f"`runtime` {self.runtime} is measured on the CPU, got `device` {self.device}.")
        return self._objective_faults(found)

    def _objective_faults(self, found: Faults) -> list[str]:
        parsed, bounded = (
            [o for o in (found.tried(Objective.parse, text, serving(self.verb)) for text in texts) if o is not None]
            for texts in (self.objectives, self.bounds)
        )
        names, proxies = [o.name for o in parsed], serving(self.verb, "max")
        unfit = not_adding_up([o.name for o in (*parsed, *bounded)], self.measure)
        if unfit and self.searcher == "exact":
            found.append(f"`exact` needs quantities that add up over layers, and `{unfit[0]}` does not. Take `evolution`.")
        if len(set(names)) < len(names):
            found.append(f"an objective is named twice: {', '.join(self.objectives)}.")
        if len(parsed) == len(self.objectives) and (not names or names[0] not in proxies):
            first = names[0] if names else ""
            found.append(f"the first objective must stand for quality, got `{first}`. Use one of: {', '.join(proxies)}.")
        if parsed and not any(o.direction == "min" for o in parsed):
            found.append("at least one objective must be a cost: latency, memory, parameters or macs.")
        empty = [b for b in bounded if b.upper is None and b.lower is None]
        found += [f"the bound `{b}` has no limit: write parameters<=30M." for b in empty]
        both = [*parsed, *bounded]
        sides = [f"{o.name}{sign}" for o in both for sign, bound in (("<=", o.upper), (">=", o.lower)) if bound is not None]
        found += [f"`{side}` is given twice: give one bound." for side in dict.fromkeys(sides) if sides.count(side) > 1]
        relative = [o for o in both if any(b is not None and b.relative for b in (o.lower, o.upper))]
        found += [f"`{o}` is relative, but there is no unpruned network here: give a number." for o in relative]
        return [*found, *_contradictions([o for o in both if o not in relative])]

    def space(self) -> Decoder:
        return Decoder(self.backbone, homogeneous=self.homogeneous, **{name: getattr(self, name) for name in _RANGES})

    def parsed_bounds(self) -> list[Objective]:
        return [Objective.parse(b, serving(self.verb)) for b in self.bounds]

    def sizes(self) -> Sizes:
        """What every network has beside its architecture."""
        given = None if self.cutoffs is None else options(self.cutoffs, "cutoffs", 1, MOST_VOCABULARY)
        recurrence = self.recurrence if self.backbone == "transformer_xl" else 0
        return Sizes(vocabulary=self.vocabulary, cutoffs=given, positions=self.positions, recurrence=recurrence)

    def setup(self, **changes: Any) -> Setup:
        """How networks are measured."""
        found: Setup = self.part(Setup, kind="language_modelling", **changes)
        return found


def _contradictions(objectives: Sequence[Objective]) -> list[str]:
    """Bounds of which nothing can keep both: the least of a quantity above its most."""
    lower: dict[str, tuple[Bound, Objective]] = {}
    upper: dict[str, tuple[Bound, Objective]] = {}
    for o in objectives:
        if o.lower is not None and (o.name not in lower or o.lower.value > lower[o.name][0].value):
            lower[o.name] = o.lower, o
        if o.upper is not None and (o.name not in upper or o.upper.value < upper[o.name][0].value):
            upper[o.name] = o.upper, o
    faults = []
    for name in lower.keys() & upper.keys():
        (least, one), (most, other) = lower[name], upper[name]
        if least.value > most.value:
            said = " and ".join(dict.fromkeys(f"`{o}`" for o in (one, other)))
            faults.append(f"{said} contradict each other: the minimum of `{name}` is above its maximum.")
    return faults
