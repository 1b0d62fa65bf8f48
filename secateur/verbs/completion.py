"""What the shell offers when a word is to be completed: names that are known, and folders of runs. Imports nothing heavy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from glob import escape, glob

from secateur.catalogue import CATALOGUE, names
from secateur.objectives import serving
from secateur.runs.settings import FILE
from secateur.settings import Settings

Completer = Callable[[str], list[tuple[str, str]]]
DEVICES = ("auto", "cpu", "cuda")


def among(known: Iterable[str], about: Mapping[str, str] | None = None) -> Completer:
    """Completes to one of `known`; `about` says what they are."""
    told = about or {}
    return lambda incomplete: [(name, told.get(name, "")) for name in known if name.startswith(incomplete)]


def of_setting(settings: type[Settings], name: str) -> Completer | None:
    """Completes the values of a setting; None where they are not known beforehand."""
    option, job = settings.options()[name], getattr(settings, "verb", None)
    if option.known is not None:
        return among(option.known)
    if name in CATALOGUE:
        return among(names(name, job), {known: entry.about for known, entry in CATALOGUE[name].items()})
    if name == "preset":
        return among(getattr(settings, "presets", ()))
    if name == "device":
        return among((*DEVICES, *(["mps"] if "mps" in getattr(settings, "devices", "") else [])))
    if name in ("objectives", "bounds") and job is not None:
        return among(serving(job))
    return None


def run_folders(incomplete: str) -> list[str]:
    """The runs' folders that begin so, here or one folder further down."""
    found = (path for depth in ("*", "*/*") for path in glob(f"{escape(incomplete)}{depth}/{FILE}"))
    return sorted({os.path.dirname(path) for path in found})
