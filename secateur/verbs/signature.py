"""The signature of a verb, out of its settings: API and command line have the same names, texts and defaults."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

from secateur.runs.settings import RunSettings


def takes(settings: type[RunSettings]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make `verb(settings, *, to, …)` a function of the settings' fields, by name, and of what else it takes.

    A field that a preset may set defaults to None, which stands for the preset's value.
    """
    hints, options = settings.hints(), settings.options()
    shared = {f.name for f in fields(RunSettings)} - {"preset"}  # after what is the job's own
    preset = {name for values in settings.presets.values() for name in values}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = list(inspect.signature(function).parameters.values())[1:]
        types = get_type_hints(function)
        parameters = []
        for field in sorted(fields(settings), key=lambda f: f.name in shared):
            default: Any = field.default if field.default_factory is MISSING else field.default_factory()
            kind: Any = inspect.Parameter.KEYWORD_ONLY
            if options[field.name].positional:
                kind, default = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
            hint = hints[field.name]
            if field.name in preset:
                default, hint = None, hint | None
            parameters.append(inspect.Parameter(field.name, kind, default=default, annotation=hint))
        parameters += [p.replace(annotation=types[p.name]) for p in own]
        parameters.sort(key=lambda p: p.kind)
        signature = inspect.Signature(parameters, return_annotation=types.get("return", Any))

        @functools.wraps(function)
        def verb(*args: Any, **given: Any) -> Any:
            bound = signature.bind(*args, **given).arguments
            mine = {p.name: bound.pop(p.name) for p in own if p.name in bound}
            return function(settings.resolve(bound), **mine)

        verb.__signature__ = signature  # type: ignore[attr-defined]
        verb.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": signature.return_annotation}
        verb.settings = settings  # type: ignore[attr-defined]
        return verb

    return decorate
