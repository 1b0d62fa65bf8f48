"""The settings of `secateur encode pretrain`: its own, and those of every method, of which the chosen one's count."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from secateur.catalogue import explained, find, names
from secateur.encodings.learned.settings import LearnerSettings
from secateur.paths import no_folder
from secateur.runs.encode.material import DRAWN, MOST, ROWS
from secateur.settings import Option, Settings, default_said, option

METHODS: dict[str, type[LearnerSettings]] = {name: find("learning", name) for name in names("learning")}
#: Setting → the methods that have it.
HAVING = {
    name: [method for method, kind in METHODS.items() if name in kind.options()]
    for name in dict.fromkeys(name for kind in METHODS.values() for name in kind.options())
}


def _united(name: str) -> tuple[str, Any, Any]:
    """A field for a setting of some methods: None stands for the method's own default. Bounds are left to the methods."""
    kinds = {method: METHODS[method] for method in HAVING[name]}
    options = [kind.options()[name] for kind in kinds.values()]
    panel = "Training" if name in LearnerSettings.options() else "Methods"
    known = {value: None for one in options for value in one.known or ()}
    united = Option(_about(name, kinds), panel=panel, flag=options[0].flag, known=tuple(known) or None)
    hint = reduce(or_, [kind.hints()[name] for kind in kinds.values()], None)
    return name, hint, field(default=None, metadata={"option": united})


def _about(name: str, kinds: dict[str, type[LearnerSettings]]) -> str:
    """What a setting is for and its default, once where the methods agree."""
    abouts = {method: kind.options()[name].about for method, kind in kinds.items()}
    values = {method: kind.usual(name) for method, kind in kinds.items()}
    usual = {method: default_said(None if value is False else value) for method, value in values.items()}
    said, stands = set(abouts.values()), set(usual.values())
    if len(said) > 1:
        texts = _alike({method: about + _default(usual[method]) for method, about in abouts.items()})
        return " ".join(f"{methods}: {text}" for text, methods in texts.items())
    each = "; ".join(f"{methods} {value}" for value, methods in _alike(usual).items() if value)
    whose = "" if len(kinds) == len(METHODS) else f"{', '.join(kinds)}: "
    return whose + said.pop() + _default(stands.pop() if len(stands) == 1 else each)


def _alike(said: dict[str, str]) -> dict[str, str]:
    """What is said of methods → those that it is said of."""
    return {text: ", ".join(method for method in said if said[method] == text) for text in dict.fromkeys(said.values())}


def _default(said: str) -> str:
    return f"  [default: {said}]" if said else ""


OfMethods: Any = make_dataclass("OfMethods", map(_united, HAVING), bases=(Settings,), frozen=True, kw_only=True)


@dataclass(frozen=True, kw_only=True)
class PretrainSettings(OfMethods):  # type: ignore[misc]
    """The settings of `secateur encode pretrain`; those of a method have a topic of their own."""

    method: str = option("arch2vec", f"{explained('learner')}.", known=names("learner"))
    to: Path = option(about="Folder for the weights and their card; what was begun there goes on.")
    space_option: list[str] | None = option(
        None, "An option of the space, such as nodes=2..6 or shared=true; repeat it for several."
    )
    cells: int | None = option(
        None,
        f"How many cells are drawn; by default all, or {DRAWN:,} of a space of more than {MOST:,} ({ROWS:,} rows of choices).",
        least=2,
        most=10**7,
    )
    seed: int = option(0, "Of the split, the weights, the batches and the noise.", least=0, most=2**32 - 1)
    device: str = option("auto", "cpu, cuda, cuda:N, or auto: a GPU if there is one.")

    @property
    def given(self) -> dict[str, Any]:
        """The settings of methods that were not left to the method."""
        return {name: getattr(self, name) for name in HAVING if getattr(self, name) is not None}

    @property
    def own(self) -> LearnerSettings:
        """The settings of the chosen method."""
        return METHODS[self.method](**{name: value for name, value in self.given.items() if self.method in HAVING[name]})

    def contradictions(self) -> list[str]:
        found: list[str] = no_folder(self.to)
        if not self.sound("method"):
            return found
        others = [name for name in self.given if self.method not in HAVING[name] and self.sound(name)]
        found += [f"`{name}` is a setting of {', '.join(HAVING[name])}, and `method` is {self.method}." for name in others]
        return found + self.own.faults()
