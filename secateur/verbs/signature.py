"""The signature of a verb, out of its settings: API and command line have the same names, texts and defaults."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from secateur.runs.settings import RunSettings, SearchRunSettings
from secateur.settings import Settings
from secateur.verbs.completion import run_folders
from secateur.verbs.documented import parameters_of, written

#: What several verbs take beside their settings.
Shown = Annotated[bool, typer.Option("--progress/--quiet", help="Show progress.")]
Folder = Annotated[Path, typer.Argument(help="The run's folder.", autocompletion=run_folders)]
RunOrTrained = Annotated[
    Path, typer.Argument(help="The run's folder, or one that `secateur train` made.", autocompletion=run_folders)
]
Model = Annotated[str, typer.Argument(help="A checkpoint folder, or a name on the hub.")]
Under = Annotated[
    list[str] | None,
    typer.Option(help="The best within a bound: speedup=3x, latency=20ms, body_parameters=50% (the layers). Repeatable."),
]
Key = Annotated[str | None, typer.Option(help="The one with this key; its first characters are enough (see the report).")]


def tells(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a verb whose result has `rows()` or `as_dict()`: its command also takes --json and --csv."""
    verb.tells = True  # type: ignore[attr-defined]
    return verb


def takes(settings: type[Settings], without: tuple[str, ...] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make `verb(settings, run, *, to, …)` a function of the settings' fields, by name, and of what else it takes.

    A field that a preset may set defaults to None, which stands for the preset's value. Fields `without` are left out.
    """
    options, hints = settings.options(), settings.hints()
    presets: Mapping[str, Any] = getattr(settings, "presets", {})
    preset = {name for values in presets.values() for name in values}
    general = {f.name for f in fields(SearchRunSettings)} - {"preset"}  # comes after what is the job's own

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = written(function)[1:]
        parameters = []
        for field in sorted(fields(settings), key=lambda f: f.name in general and bool(presets)):
            if field.name in without:
                continue
            default: Any = settings.usual(field.name)
            if field.default is MISSING and field.default_factory is MISSING:
                default = inspect.Parameter.empty
            hint = hints[field.name]
            if field.name in preset:
                default, hint = None, hint | None
            kind: Any = inspect.Parameter.KEYWORD_ONLY
            if options[field.name].positional:
                kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            parameters.append(inspect.Parameter(field.name, kind, default=default, annotation=hint))
        parameters += [p.replace(annotation=get_args(p.annotation)[0]) for p in own]
        parameters.sort(key=lambda p: p.kind)
        signature = inspect.Signature(parameters, return_annotation=inspect.signature(function).return_annotation)

        @functools.wraps(function)
        def verb(*args: Any, **given: Any) -> Any:
            bound = signature.bind(*args, **given).arguments
            mine = {p.name: bound.pop(p.name) for p in own if p.name in bound}
            return function(_made(settings, bound), **mine)

        verb.__signature__ = signature  # type: ignore[attr-defined]
        verb.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{parameters_of(settings, parameters, own)}"
        verb.__annotations__ = {p.name: p.annotation for p in parameters}
        verb.settings, verb.own = settings, {p.name: p.annotation for p in own}  # type: ignore[attr-defined]
        return verb

    return decorate


def _made(settings: type[Settings], given: Mapping[str, Any]) -> Settings:
    """The settings of what the user gave. Raises ConfigurationError with every fault."""
    if issubclass(settings, RunSettings):
        return settings.resolve(given)
    hints = settings.hints()
    paths = {name for name, hint in hints.items() if hint is Path or (get_origin(hint) is not list and Path in get_args(hint))}
    return settings(**{n: Path(v) if n in paths and isinstance(v, str) else v for n, v in given.items()}).check()
