"""A verb as Python shows it: `help` and editors see plain types, and what each parameter is for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_args

from secateur.settings import Settings


def plainly(function: Callable[..., Any]) -> Callable[..., Any]:
    """For `help` and editors: a function whose types are shown without what the command line says of them."""
    own: Any = function
    own.written = written(function)
    plain = [p.replace(annotation=get_args(p.annotation)[0]) for p in own.written]
    own.__signature__ = inspect.Signature(plain, return_annotation=inspect.signature(function).return_annotation)
    return function


def written(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function as they are written. What it returns may be known to type checkers only."""
    if hasattr(function, "written"):
        return list(function.written)
    found = inspect.signature(function).parameters.values()
    names = getattr(function, "__globals__", {})
    return [p.replace(annotation=eval(p.annotation, names)) for p in found]


def parameters_of(settings: type[Settings], parameters: list[inspect.Parameter], own: list[inspect.Parameter]) -> str:
    """What each parameter is for, as a part of a docstring."""
    about = {name: option.about for name, option in settings.options().items()}
    about |= {p.name: str(getattr(get_args(p.annotation)[1], "help", "") or "") for p in own}
    lines = []
    for parameter in parameters:
        usual = settings.usual(parameter.name) if parameter.default is None and parameter.name in settings.options() else None
        stands = f" By default {usual!r}." if usual is not None else ""  # where the signature says None: a preset may set it
        lines.append(f"    {parameter.name}: {about[parameter.name]}{stands}")
    return "\n".join(["Parameters:", *lines])
