"""What is optimised and what is bounded: named quantities with directions and bounds.

A bound is absolute (`latency<=0.02`) or relative to the unpruned network (`parameters<=50%`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from secateur.errors import ConfigurationError, UnknownNameError


class Quantity(NamedTuple):
    """Something an estimator yields: its unit, what it is, and whether less (`min`) or more (`max`) of it is better.

    `serves` names the jobs that search by it, `measured` the estimator ("module:class") that measures it on a device.
    """

    unit: str
    about: str
    direction: str = "min"
    serves: tuple[str, ...] = ("prune", "design")
    measured: str | None = None


#: What says how good a pruned network is: a run's first objective is one of these.
ERROR, PERPLEXITY = "error", "perplexity"
QUALITIES = (ERROR, PERPLEXITY)

#: Every quantity an estimator can yield.
QUANTITIES: dict[str, Quantity] = {
    "error": Quantity("", "1 − the task's main metric, on the validation set", serves=("prune",)),
    "perplexity": Quantity("", "exp of the mean negative log-likelihood per token, on the validation text", serves=("prune",)),
    "parameters": Quantity("", "all trainable parameters"),
    "body_parameters": Quantity("", "parameters of the Transformer layers, without embeddings and head", serves=("prune",)),
    "macs": Quantity("", "multiply-accumulate operations of one forward pass"),
    "latency": Quantity(
        "s", "seconds of one forward pass on this machine (median)", measured="secateur.estimators.latency:LatencyEstimator"
    ),
    "memory": Quantity(
        "B",
        "bytes at the peak of one forward pass: weights and live activations",
        measured="secateur.estimators.memory:MemoryEstimator",
    ),
    "later_latency": Quantity("s", "the latency of a Transformer-XL whose memory of earlier text is full", serves=()),
    "later_memory": Quantity("B", "the memory of a Transformer-XL whose memory of earlier text is full", serves=()),
    "prompt_latency": Quantity("s", "seconds to read a prompt and predict its next token", serves=()),
    "token_latency": Quantity("s", "seconds per generated token", serves=()),
    "decoder_parameters": Quantity("", "parameters of the decoder layers, as a proxy for quality", "max", ("design",)),
    "grad_norm": Quantity("", "norm of the loss's gradient at initialisation", "max", ("design",)),
    "snip": Quantity("", "sum of |weight × gradient| at initialisation", "max", ("design",)),
    "grasp": Quantity("", "how pruning a weight would change the gradient's flow, summed", "max", ("design",)),
    "fisher": Quantity("", "squared activation × gradient, summed over channels", "max", ("design",)),
    "synflow": Quantity("", "synaptic flow: the product of absolute weights along every path, summed", "max", ("design",)),
    "jacob_cov": Quantity("", "how little the outputs' Jacobians of different texts resemble each other", "max", ("design",)),
    "relu_log_det": Quantity("", "log-determinant of the activation codes' kernel", "max", ("design",)),
    "naswot": Quantity("", "NASWOT: the same with one context, not one text, as an example", "max", ("design",)),
    "l2_norm": Quantity("", "sum of the weight matrices' norms at initialisation", "max", ("design",)),
    "block_zoo": Quantity(
        "", "accuracy of the network assembled from remapped and distilled blocks", "max", serves=("images",)
    ),
    "decoder_macs": Quantity("", "multiply-accumulates of the decoder layers, as a proxy for quality", "max", ()),
}


def scored(quality: str, value: float) -> float:
    """A quality as users read it: 1 − the error is the metric; a perplexity is one."""
    return 1 - value if quality == ERROR else value


def kept_share(quality: str, chance: Mapping[str, float], before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """The share that is left of what a network had learned above chance; infinite where it had learned nothing.

    Errors are compared as they are, perplexities by their logarithms: nats per token. A chance that is not known is 1.
    """
    scale = math.log if quality == PERPLEXITY else float
    floor = scale(chance.get(quality, 1.0))
    gained = floor - scale(before.get(quality, 1.0))
    return (floor - scale(after[quality])) / gained if gained > 0 else math.inf


def serving(job: str, direction: str | None = None) -> tuple[str, ...]:
    """The quantities that a job searches by, those of one direction where it is given."""
    return tuple(n for n, q in QUANTITIES.items() if job in q.serves and direction in (None, q.direction))


@dataclass(frozen=True)
class Bound:
    """A number, absolute or as a share of the unpruned network's value."""

    value: float
    relative: bool = False

    @classmethod
    def parse(cls, text: str | float | int | Bound) -> Bound:
        """`"50%"` is relative, `0.5`, `"2e6"`, `"3M"` and `"20ms"` are absolute."""
        if isinstance(text, Bound):
            return text
        text = str(text)
        match = re.fullmatch(r"\s*([-+0-9._eE]+)\s*(%|ms|us|µs|s|[kKMGT]i?B?|B)?\s*", text)
        try:
            if match is None:
                raise ValueError(text)
            number = float(match[1])
            if not abs(number) < 1e24:  # also nan; more than any suffix could be meant to give
                raise ValueError(text)
        except ValueError:
            raise ConfigurationError(
                f"`{text}` is not a bound: give a number (2000000, 2M, 20ms) or a percentage of the unpruned network (50%)."
            ) from None
        suffix = match[2] or ""
        if suffix == "%":
            return cls(number / 100, relative=True)
        scale = {"": 1.0, "s": 1.0, "B": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}.get(suffix)
        if scale is None:
            base = 1024.0 if "i" in suffix else 1000.0
            scale = base ** (1 + "KMGT".index(suffix[0].upper()))
        return cls(number * scale)

    def resolve(self, unpruned: float | None) -> float:
        """The bound as a number. `unpruned` is the whole network's value, needed where the bound is relative."""
        if not self.relative:
            return self.value
        if unpruned is None:
            raise ConfigurationError(f"a bound of {self} is relative to an unpruned network, but there is none: give a number.")
        return self.value * unpruned

    def __str__(self) -> str:
        """Spelt so that `parse` reads the same bound: 15 digits."""
        return f"{self.value * 100:.15g}%" if self.relative else f"{self.value:.15g}"


def bound_on(name: str, given: str | float | Bound, said: str = "", *, upper: bool = True) -> Bound:
    """The bound on a quantity; `said` is what the user wrote.

    Raises ConfigurationError for one in another's unit, and for one of a cost that nothing can meet or all things do.
    """
    bound, said = Bound.parse(given), said or str(given)
    quantity = QUANTITIES.get(name, Quantity("", ""))
    suffix = re.sub(r"^[-+0-9._eE\s]+", "", str(given)).strip()
    kind = "s" if suffix.endswith("s") else "B" if suffix.endswith("B") else ""
    wrong = (kind and kind != quantity.unit) or (suffix[:1] in tuple("kKMGT") and quantity.unit == "s")
    if wrong and name in QUANTITIES:  # an unknown name is reported as such, where names are looked up
        raise ConfigurationError(f"`{said}`: `{suffix}` is not a unit of `{name}`.")
    if quantity.unit == "s" and not suffix and isinstance(given, str) and bound.value >= 1:
        raise ConfigurationError(f"`{said}` means {bound.value:g} seconds: write {bound.value:g}ms or {bound.value:g}s.")
    if name == PERPLEXITY and not bound.relative and bound.value < 1:
        raise ConfigurationError(f"`{said}`: no perplexity is below 1, that of certainty. Relative to the unpruned: 110%.")
    # A proxy of quality may be negative. Errors and counts of 0 are rare, but there are such; nothing takes no time.
    if quantity.direction == "min" and (bound.value < 0 or (bound.value == 0 and upper and quantity.unit)):
        raise ConfigurationError(f"`{said}`: a bound on `{name}` must {'be above 0' if quantity.unit else 'not be negative'}.")
    return bound


@dataclass(frozen=True)
class Objective:
    """A quantity to optimise, with its direction and optional bounds on it."""

    name: str
    direction: str = "min"
    lower: Bound | None = None
    upper: Bound | None = None

    def __post_init__(self) -> None:
        if self.direction not in ("min", "max"):
            raise ConfigurationError(f"`direction` of `{self.name}` must be min or max, got `{self.direction}`.")

    @classmethod
    def parse(cls, text: str | Objective, known: Iterable[str] = tuple(QUANTITIES)) -> Objective:
        """`error`, `latency<=20ms`, `parameters<=50%`, `parameters>=10%`, `parameters<=50%>=10%`."""
        if isinstance(text, Objective):
            return text
        match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*((?:(?:<=|>=|<|>)\s*[^\s<>=]+\s*){0,2})", text)
        if match is None:
            raise ConfigurationError(f"`{text}` is not an objective: write a name, or a name and a bound (latency<=20ms).")
        name, bounds = match.groups()
        known = tuple(known)
        if name not in known:
            raise UnknownNameError("objective", name, known)
        sides: dict[str, Bound] = {}
        for sign, bound in re.findall(r"(<=|>=|<|>)\s*([^\s<>=]+)", bounds):
            side = "upper" if sign[0] == "<" else "lower"
            if side in sides:
                raise ConfigurationError(f"`{text}` bounds `{name}` twice on the same side.")
            sides[side] = bound_on(name, bound, text, upper=side == "upper")
        direction = QUANTITIES[name].direction if name in QUANTITIES else "min"
        return cls(name, direction, upper=sides.get("upper"), lower=sides.get("lower"))

    @property
    def sign(self) -> float:
        """+1 where smaller is better, −1 where larger is: sign × value is always minimised."""
        return 1.0 if self.direction == "min" else -1.0

    def violated(self, values: Mapping[str, float], unpruned: Mapping[str, float]) -> str | None:
        """Why `values` break this objective's bounds, or None."""
        if self.name not in values:
            return None
        value, whole = values[self.name], unpruned.get(self.name)
        if self.upper is not None and value > self.upper.resolve(whole):
            return f"{self.name} {value:g} > {self.upper.resolve(whole):g}"
        if self.lower is not None and value < self.lower.resolve(whole):
            return f"{self.name} {value:g} < {self.lower.resolve(whole):g}"
        return None

    def excess(self, value: Any) -> Any:
        """By how much a value (or each of an array) breaks the absolute bounds, as a share of the bound; 0 if it does not."""
        total: Any = 0.0
        for bound, sign in ((self.upper, 1), (self.lower, -1)):
            if bound is not None and not bound.relative:
                total = total + np.maximum(0.0, sign * (value - bound.value) / (abs(bound.value) or 1.0))
        return total

    def __str__(self) -> str:
        unit = "s" if QUANTITIES.get(self.name, Quantity("", "")).unit == "s" else ""
        sides = [(sign, bound) for sign, bound in (("<=", self.upper), (">=", self.lower)) if bound is not None]
        return self.name + "".join(f"{sign}{bound}{'' if bound.relative else unit}" for sign, bound in sides)


def excess(values: Mapping[str, Any], objectives: Iterable[Objective]) -> Any:
    """By how much the values (or arrays of them) break the absolute bounds, of those that are there."""
    return sum((o.excess(values[o.name]) for o in objectives if o.name in values), 0.0)


def parse_bounds(under: Mapping[str, str | float | Bound]) -> list[tuple[str, Bound]]:
    """Upper bounds by name. `speedup` (`"3x"`, 3) bounds the latency: at most a third of the unpruned network's."""
    return [
        ("latency", _speedup(bound)) if name == "speedup" else (name, bound_on(name, bound, f"{name}={bound}"))
        for name, bound in under.items()
    ]


def _speedup(factor: str | float | Bound) -> Bound:
    text = str(factor).strip()
    try:
        times = float(text.rstrip("x×").strip())
    except ValueError:
        times = 0.0
    if not 0 < times < math.inf:
        raise ConfigurationError(
            f"`{text}` is not a speed-up: write speedup=3x for three times as fast as the unpruned network."
        )
    return Bound(1 / times, relative=True)


def matrix(values: Sequence[Mapping[str, float]], objectives: Sequence[Objective]) -> np.ndarray:
    """The (n, m) array of `values` in the order of `objectives`, signed so that every column is minimised."""
    rows = [[o.sign * v[o.name] for o in objectives] for v in values]
    return np.asarray(rows, dtype=np.float64).reshape(len(values), len(objectives))
