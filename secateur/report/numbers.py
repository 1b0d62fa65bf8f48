"""Quantities and numbers as people read them: body parameters, 1.23 M, 45.3 %, 12.3 ms. A missing number is a dash."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from secateur.objectives import PERPLEXITY, QUALITIES, QUANTITIES

#: Between a number and its unit: a space at which no line breaks.
SPACE = "\N{NO-BREAK SPACE}"
MISSING = "–"
#: Powers of 1,000, for bytes too.
_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def title(quantity: str) -> str:
    """A quantity's name for people."""
    named = {"macs": "MACs", "prompt_latency": "latency per prompt", "token_latency": "latency per token"}
    return named.get(quantity, quantity.replace("_", " "))


def shown_as(quantity: str) -> str:
    """How a quantity's numbers are shown: what `show` takes."""
    if quantity in QUALITIES:
        return score_shown(quantity)
    return {"s": "seconds", "B": "bytes"}.get(QUANTITIES[quantity].unit if quantity in QUANTITIES else "", "count")


def score_shown(metric: str) -> str:
    """How a score in this metric is shown: a perplexity is a number of any size, others lie between 0 and 1."""
    return "number" if metric == PERPLEXITY else "score"


def finite(value: Any) -> float | None:
    """The number; None where it is none, or none that can be drawn."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def significant(value: float, digits: int = 3) -> str:
    """A number in plain notation with that many significant digits: 1.20, 45.3, 123."""
    if value == 0:
        return "0"
    value = float(f"{value:.{digits - 1}e}")  # 9.996 is 10.0, not 10.00
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def spread(mean: float | None, error: float | None) -> str | None:
    """A mean and its standard error, with two digits of the error: 90.951 ± 0.030; the mean alone where no error is known."""
    if mean is None or error is None:
        return None if mean is None else f"{mean:.3f}"
    digits = min(6, max(0, 1 - math.floor(math.log10(error)))) if error > 0 else 3
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def _scaled(value: float, unit: str = "", steps: Sequence[tuple[float, str]] = _STEPS) -> str:
    for factor, prefix in steps:
        # 999.6 in a smaller step would be shown as 1000: it belongs to the larger one.
        if abs(value) >= factor * 0.9995:
            return f"{significant(value / factor)}{SPACE}{prefix}{unit}"
    return f"{value:g}{SPACE}{unit}".rstrip(SPACE)


def seconds(value: float) -> str:
    """0.0123 → 12.3 ms; 83 → 1 min 23 s; 3725 → 1 h 2 min."""
    if value >= 3599.5:
        minutes = round(value / 60)
        return f"{minutes // 60}{SPACE}h {minutes % 60}{SPACE}min"
    if value >= 59.95:
        whole = round(value)
        return f"{whole // 60}{SPACE}min {whole % 60}{SPACE}s"
    if value == 0:
        return f"0{SPACE}s"
    return _scaled(value, "s", ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")))


def ratio(times: float) -> str:
    """`2.9`, `12`, `1.09`: a tenth where that says enough."""
    return f"{times:.2f}" if times < 1.2 else f"{times:.1f}" if times < 10 else f"{times:.0f}"


def signed(points: float) -> str:
    """`−3.1`, `+0.4`; zero has no sign."""
    text = f"{points:+.1f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


def show(value: Any, how: str) -> str:
    """`value` as text, integer, score, count (1234567: 1.23 M), bytes, seconds, share (1 = 100 %), number (three digits),
    times (2.9 ×) or points (hundredths, signed).

    What is text already stays as it is.
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return MISSING
    if how == "text" or isinstance(value, str):
        return str(value)
    if how == "integer":
        return f"{int(value):,}"
    if how == "score":
        return f"{value:.4f}"
    if how == "number":
        return significant(value)
    if how == "times":
        return f"{ratio(value)}{SPACE}×"
    if how == "points":
        return signed(value)
    if how == "share":
        return f"{value * 100:.1f}{SPACE}%".replace("-", "−")
    return seconds(value) if how == "seconds" else _scaled(value, {"count": "", "bytes": "B"}[how])


#: How figures that come with a measurement are shown, by the end of their names.
_DETAILS = dict.fromkeys(("low", "high", "wall", "cpu", "predicted_latency"), "seconds")
_DETAILS |= {"spread": "share", "repeats": "integer", "weights": "bytes", "activations": "bytes"}
_DETAILS |= {"steady": "flag", "loaded": "flag"}


def detail(name: str, value: Any) -> str:
    """A further figure of a network, with its unit: `latency_low` 0.0123 is 12.3 ms. What is not known is shortened."""
    how = _DETAILS.get(name, _DETAILS.get(name.rpartition("_")[2], ""))
    if finite(value) is None:
        return show(value, "text")
    if how == "flag":
        return "yes" if value else "no"
    return show(value, how) if how else f"{value:.4g}"


def with_unit(quantity: str, value: float) -> str:
    """A value of a quantity as messages show it: latency 12.3 ms, parameters 1,234,567, snip 0.0123."""
    if shown_as(quantity) in ("seconds", "bytes"):
        return f"{quantity} {show(value, shown_as(quantity)).replace(SPACE, ' ')}"
    return f"{quantity} {value:,.0f}" if float(value).is_integer() else f"{quantity} {value:g}"
