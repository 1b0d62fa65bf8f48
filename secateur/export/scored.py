"""The written forms of a network side by side: how good, how quick and how large each is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

#: Form → its file. A large graph's weights lie in a file of its name with `.data` behind it.
FILES = {"torch": "model.safetensors", "onnx": "model.onnx", "int8": "model.int8.onnx", "int4": "model.int4.onnx"}
#: What a form may lose against torch before the user is warned: of a score, and as a share of the perplexity.
POINTS, PERPLEXITY = 0.02, 0.05


@dataclass(frozen=True)
class Form:
    """One form of a network, one of `FILES`. `score`, `latency` (seconds) and `memory` (bytes at the peak of a pass, in its own
    runtime) are None where they are not known."""

    name: str
    bytes: int
    score: float | None = None
    latency: float | None = None
    memory: float | None = None

    def __str__(self) -> str:
        return " ".join(part for part in (self.name, self.time, self.quality, self.size) if part)

    @property
    def time(self) -> str:
        return "" if self.latency is None else f"{self.latency * 1e3:.3g} ms"

    @property
    def quality(self) -> str:
        if self.score is None:
            return ""
        return f"{self.score:.2f}" if self.score >= 2 else f"{self.score:.3f}"

    @property
    def size(self) -> str:
        return _bytes(self.bytes)

    @property
    def room(self) -> str:
        return "" if self.memory is None else _bytes(self.memory)


def _bytes(count: float) -> str:
    return f"{count / 1e6:.{0 if count >= 1e7 else 1}f} MB" if count >= 1e5 else f"{count / 1e3:.0f} kB"


@dataclass(frozen=True)
class Forms:
    """The forms of one network, torch first. `metric` is what they were scored by on the validation data, `unscored` why
    they were not, `timed` how their latency was measured, `notes` what else there is to say. `unpruned` is the latency of the
    unpruned network in torch (seconds), timed in turns with these; None where it is not known."""

    forms: tuple[Form, ...]
    metric: str = ""
    unscored: str = ""
    timed: str = ""
    notes: tuple[str, ...] = ()
    unpruned: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "forms": [asdict(form) for form in self.forms], "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Forms:
        return cls(**{**data, "forms": tuple(Form(**form) for form in data["forms"]), "notes": tuple(data["notes"])})

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each form that is clearly worse than torch."""
        first, *others = self.forms
        return tuple(said for form in others if (said := self._lost(form, first)))

    def _lost(self, form: Form, first: Form) -> str | None:
        if form.score is None or first.score is None or not math.isfinite(first.score):
            return None
        pair = f"{FILES[form.name]} against torch: {form.quality} for {first.quality}"
        if self.metric == "perplexity":
            more = form.score / first.score - 1
            return f"the perplexity is {more:.0%} higher in {pair}." if not more <= PERPLEXITY else None
        lost = first.score - form.score
        return f"{100 * lost:.1f} points of {self.metric} are lost in {pair}." if lost > POINTS else None

    @property
    def described(self) -> str:
        """What the numbers are."""
        scored = f"{self.metric.replace('_', ' ')} on the validation data" if self.metric else ""
        return "; ".join(part for part in (scored, self.timed) if part)

    def __str__(self) -> str:
        """The forms in a line, then what the numbers are, notes and warnings in a line each."""
        lines = [" · ".join(map(str, self.forms)), f"({self.described})"]
        lines += [f"Not scored on the validation data: {self.unscored}."] if self.unscored else []
        lines += self.notes
        return "\n".join([*lines, *(f"warning: {said}" for said in self.warnings)])

    def table(self) -> str:
        """The section of a model card."""
        score = f"{self.metric.replace('_', ' ') or 'score'}, validation"
        speed = "speed" if self.unpruned is None else "speed, unpruned PyTorch = 1"
        rows = [f"| form | size | memory | {score} | latency | {speed} |", "|---|---:|---:|---:|---:|---:|"]
        whole = self.unpruned or self.forms[0].latency
        for form in self.forms:
            speed = f"{whole / form.latency:.2g} ×" if whole and form.latency else "–"
            figures = (form.size, form.room or "–", form.quality or "–", form.time or "–", speed)
            rows.append(f"| `{FILES[form.name]}` | {' | '.join(figures)} |")
        # Without the reason, which may name a place on somebody's disk.
        said = ["Not scored: the validation data were not available."] if self.unscored else []
        said += [*self.notes, *(f"**Warning:** {warning}" for warning in self.warnings)]
        return "\n\n".join(["## Forms", "\n".join(rows), *([f"Latency: {self.timed}."] if self.timed else []), *said])


#: Judges the forms that lie in a folder; is given the network as it was reloaded from there.
Judge = Callable[[Any, Path], Forms]


def sizes(folder: Path) -> dict[str, int]:
    """Form → bytes, of the forms in a folder."""
    found = {"torch": sum(path.stat().st_size for path in folder.glob("*.safetensors"))}
    for name, file in list(FILES.items())[1:]:
        parts = [folder / file, folder / f"{file}.data"]
        if parts[0].exists():
            found[name] = sum(path.stat().st_size for path in parts if path.exists())
    return found
