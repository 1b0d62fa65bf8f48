"""The command line: reads arguments, calls a verb, prints. Signatures, names and defaults are the verbs' own."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from secateur import __version__
from secateur.catalogue import about, find, names
from secateur.errors import ConfigurationError
from secateur.help import Command, Group, HelpAll
from secateur.paths import checked
from secateur.report.plain import as_csv, as_json
from secateur.report.terminal import echo, hand_on, spell_what_is_missing
from secateur.settings import default_said
from secateur.trouble import tell
from secateur.verbs.completion import of_setting
from secateur.verbs.documented import written

_LOOK: dict[str, Any] = {
    "cls": Group,
    "no_args_is_help": True,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["--help", "-h"], "max_content_width": 100},
}
app = typer.Typer(
    name="secateur",
    help="Find smaller, faster Transformers with the best trade-offs between quality and cost, and export them as checkpoints.",
    **_LOOK,
)
#: Commands in groups, as their names say: `secateur bench proxies`, `secateur bench surrogate fit`.
GROUPS: dict[tuple[str, ...], typer.Typer] = {(): app}
for _words in (verb.split()[:-1] for verb in names("verb")):
    for _depth in range(1, len(_words) + 1):
        _path = tuple(_words[:_depth])
        if _path not in GROUPS:
            GROUPS[_path] = typer.Typer(help=import_module(f"secateur.runs.{'.'.join(_path)}").__doc__, **_LOOK)
            _said = (GROUPS[_path].info.help or "").rstrip(".")
            GROUPS[_path[:-1]].add_typer(GROUPS[_path], name=_path[-1], short_help=_said)

#: How results are told to other programs, by the names of the options' parameters.
_FORMS: dict[str, Callable[[Any], str]] = {"as_json": as_json, "as_csv": as_csv}
_TELLING = [
    inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, typer.Option(flag, help=told)]
    )
    for name, flag, told in (("as_json", "--json", "Print it as JSON."), ("as_csv", "--csv", "Print it as CSV."))
]


def _command(name: str, hidden: bool = False) -> None:
    """Make a command of a verb. An error that the user can mend is shown without a traceback, and the exit code is 2.

    One that is `hidden` stands outside its group: a name from before there were groups.
    """
    verb = find("verb", name)
    *group, word = name.split()

    @functools.wraps(verb)
    def command(**arguments: Any) -> None:
        arguments.pop("help_all", None)
        forms = [form for name, form in _FORMS.items() if arguments.pop(name, False)]
        try:
            if len(forms) > 1:
                raise ConfigurationError("give --json or --csv, not both.")
            for name, value in arguments.items():
                if isinstance(value, Path):
                    arguments[name] = checked(value, ConfigurationError)
            found = verb(**arguments)
            hand_on(forms[0](found)) if forms else _show(found)
            sys.stdout.flush()
        except (typer.Exit, BrokenPipeError):  # the second: whoever read the output has seen enough
            raise
        except (Exception, KeyboardInterrupt) as error:
            folders = [arguments[name] for name in ("run", "to") if isinstance(arguments.get(name), Path)]
            raise typer.Exit(tell(error, flags, folders)) from None

    # what it raises and takes is for readers of the code
    command.__doc__ = re.split(r"\n\n(?:Raises|Parameters:)", inspect.cleandoc(verb.__doc__ or ""))[0]
    parameters = _described(verb) if hasattr(verb, "settings") else written(verb)
    parameters += _TELLING if hasattr(verb, "tells") else []
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    flags = {p.name: _flag(p) for p in parameters if p.kind == p.KEYWORD_ONLY}
    where = app if hidden else GROUPS[tuple(group)]
    where.command(word, cls=Command, short_help=about("verb", name), hidden=hidden)(command)


def _described(verb: Any) -> list[inspect.Parameter]:
    """The options of a verb: those that its settings describe, and its own."""
    options = verb.settings.options()
    parameters = []
    for name, parameter in inspect.signature(verb).parameters.items():
        hint = verb.own.get(name)
        if hint is None:
            hint, option = parameter.annotation, options[name]
            stands = parameter.default is not parameter.empty and parameter.default is not False
            shown = default_said(verb.settings.usual(name)) if stands else ""
            described = typer.Option(
                *(option.flag or "").split(),
                help=option.about + (f"  [default: {shown}]" if shown else ""),
                rich_help_panel=option.panel,
                show_default=False,
                autocompletion=of_setting(verb.settings, name),
            )
            text = str in get_args(hint) and list[int] in get_args(hint)  # on the command line, numbers are a text
            hint = Annotated[str | None if text else hint, described]
        parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
    if any(option.panel for option in options.values()):
        parameters.append(inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll))
    return parameters


def _flag(parameter: inspect.Parameter) -> str:
    """An option as it is typed."""
    described = [part for part in getattr(parameter.annotation, "__metadata__", ()) if hasattr(part, "param_decls")]
    # typer takes the first name for a default
    given = [str(flag) for part in described for flag in (part.default, *(part.param_decls or ())) if str(flag)[:2] == "--"]
    return given[0].partition("/")[0] if given else "--" + parameter.name.replace("_", "-")


def _show(found: Any) -> None:
    """Print what a verb returned: a run, what shows itself, or what says itself."""
    if hasattr(found, "configuration"):
        find("report", found.configuration.verb)(found).show_finished()
    elif hasattr(found, "show"):
        found.show()
    else:
        echo(str(found))


for _verb in names("verb"):
    _command(_verb)
_command("bench proxies", hidden=True)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True)) -> None:
    if version:
        echo(__version__)
        raise typer.Exit


def main() -> None:
    """Entry point. What libraries have to say is not for the user: their errors come here."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    for name in ("TRANSFORMERS_VERBOSITY", "DATASETS_VERBOSITY", "HF_HUB_VERBOSITY"):
        os.environ.setdefault(name, "error")
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())
    spell_what_is_missing()
    app()
