"""The configuration of `secateur design`: everything resolved and checked at once, before anything heavy loads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from secateur.catalogue import SEARCHERS
from secateur.devices.setup import RUNTIMES
from secateur.errors import ConfigurationError, UnknownNameError
from secateur.objectives import DESIGN, PROXIES, Bound, Objective
from secateur.runs.design.presets import preset
from secateur.runs.settings import Faults, Settings
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_counts import checked_cutoffs
from secateur.spaces.domains import options

MEASURE = ("front", "all")
_RANGES = ("layers", "width", "inner", "heads", "embedding", "factor")


class DesignConfiguration(Settings):
    """The settings of `secateur design`, presets filled in."""

    verb = "design"

    @classmethod
    def of_verb(cls) -> Any:
        from secateur.verbs.design import design

        return design

    def space(self) -> Decoder:
        return Decoder(self.backbone, homogeneous=self.homogeneous, **{name: getattr(self, name) for name in _RANGES})

    def bounds_parsed(self) -> list[Objective]:
        return [Objective.parse(b, DESIGN) for b in self.bounds or []]

    def cutoffs_parsed(self) -> tuple[int, ...]:
        """Where the clusters of the adaptive embedding end."""
        given = None if self.cutoffs is None else options(self.cutoffs, "cutoffs", 1)
        return checked_cutoffs(given, self.vocabulary)

    def network(self) -> dict[str, Any]:
        """What every network has beside its architecture."""
        return {
            "vocabulary": self.vocabulary,
            "cutoffs": self.cutoffs_parsed(),
            "positions": self.positions,
            "memory": self.memory,
        }

    @property
    def memory(self) -> int:
        """Tokens that a Transformer-XL remembers of earlier segments."""
        return int(self.recurrence) if self.backbone == "transformer_xl" else 0


def resolve(given: Mapping[str, Any]) -> DesignConfiguration:
    """The configuration of what the user gave. Raises ConfigurationError that lists every fault."""
    values = {**preset(given["preset"]), **{k: v for k, v in given.items() if v is not None}}
    configuration = DesignConfiguration(**{**dict.fromkeys(given), **values})
    for name in ("objectives", "bounds"):
        value = getattr(configuration, name)
        texts = [value] if isinstance(value, str | Objective) else list(value or [])
        setattr(configuration, name, [str(v) for v in texts])
    if configuration.cutoffs is not None and not isinstance(configuration.cutoffs, str):
        several = configuration.cutoffs if isinstance(configuration.cutoffs, list | tuple) else [configuration.cutoffs]
        configuration.cutoffs = ",".join(map(str, several))
    for name in _RANGES:  # plain YAML: a range that is an object, or a tuple, as text or a list
        value = getattr(configuration, name)
        setattr(configuration, name, list(value) if isinstance(value, list | tuple) else str(value))
    faults = _faults(configuration)
    if given.get("hull") and configuration.searcher != "evolution":
        faults.append(f"`hull` is for the searcher `evolution`, got `{configuration.searcher}`.")
    if faults:
        raise ConfigurationError(faults)
    return configuration


def _faults(c: DesignConfiguration) -> list[str]:
    faults = Faults()
    tried = faults.tried
    tried(c.space)
    if c.searcher not in SEARCHERS:
        faults += UnknownNameError("searcher", c.searcher, SEARCHERS).faults
    for name, known in (("measure", MEASURE), ("runtime", RUNTIMES)):
        if getattr(c, name) not in known:
            faults += UnknownNameError(name, getattr(c, name), known).faults
    parsed = [o for o in (tried(Objective.parse, text, DESIGN) for text in c.objectives) if o is not None]
    bounded = [o for o in (tried(Objective.parse, text, DESIGN) for text in c.bounds) if o is not None]
    names = [o.name for o in parsed]
    if len(set(names)) < len(names):
        faults.append(f"an objective is named twice: {', '.join(c.objectives)}.")
    if len(parsed) == len(c.objectives) and (not names or names[0] not in PROXIES):
        faults.append(
            f"the first objective must stand for quality, got `{names[0] if names else ''}`. Such are {', '.join(PROXIES)}."
        )
    if parsed and not any(o.direction == "min" for o in parsed):
        faults.append("at least one objective must be a cost: latency, memory, parameters or macs.")
    faults += [
        f"the bound `{b}` bounds nothing: write parameters<=30M." for b in bounded if b.upper is None and b.lower is None
    ]
    lower: dict[str, Objective] = {}
    upper: dict[str, Objective] = {}
    for o in (*parsed, *bounded):
        if any(bound is not None and bound.relative for bound in (o.lower, o.upper)):
            faults.append(f"`{o}` is relative, and there is no unpruned network here: give a number.")
            continue
        if o.lower is not None and (o.name not in lower or o.lower.value > _value(lower[o.name].lower)):
            lower[o.name] = o
        if o.upper is not None and (o.name not in upper or o.upper.value < _value(upper[o.name].upper)):
            upper[o.name] = o
    for name in lower.keys() & upper.keys():
        if _value(lower[name].lower) > _value(upper[name].upper):
            said = " and ".join(dict.fromkeys(f"`{o}`" for o in (lower[name], upper[name])))
            faults.append(f"{said} contradict each other: the least of `{name}` is above its most.")
    at_least_one = ("trials", "vocabulary", "positions", "batch", "length", "threads", "most_measured")
    faults += [f"`{n}` must be at least 1, got {getattr(c, n)}." for n in at_least_one if getattr(c, n) < 1]
    faults += [f"`{n}` must be above 0, got {getattr(c, n)}." for n in ("seconds", "fit_seconds") if getattr(c, n) <= 0]
    if c.vocabulary >= 1:
        tried(c.cutoffs_parsed)
    if c.seed < 0:
        faults.append(f"`seed` must not be negative, got {c.seed}.")
    if c.recurrence < 0:
        faults.append(f"`recurrence` must not be negative, got {c.recurrence}.")
    if c.backbone == "gpt2" and c.length > c.positions:
        faults.append(f"`length` must be at most `positions` ({c.positions}), got {c.length}.")
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", c.device):
        faults.append(f"`device` must be cpu, cuda, cuda:N or auto, got `{c.device}`.")
    if c.runtime != "torch" and c.device not in ("cpu", "auto"):
        faults.append(f"`runtime` {c.runtime} is measured on the CPU, got `device` {c.device}.")
    return faults


def _value(bound: Bound | None) -> float:
    assert bound is not None
    return bound.value
